"""The language of docstrings: a noun or a verb comes first, not a question word or a reference to another text."""
import re
from pathlib import Path

import bpetite

PACKAGE = Path(bpetite.__file__).parent

#: Question words, and openings that leave out their noun.
REFUSED = re.compile(r'"""(What|Which|Whether|Where|How|Of|That of|Those of|The same of|As there|Likewise|Always)\b')


def test_no_docstring_opens_without_its_noun_or_verb() -> None:
    files = [path for suffix in ("py", "pyx", "pxd") for path in PACKAGE.rglob(f"*.{suffix}")]
    assert len(files) > 100
    assert [path.name for path in files if REFUSED.search(path.read_text(encoding="utf-8"))] == []
