"""The language of docstrings: a noun or a verb comes first, not a question word."""
import re
from pathlib import Path

import bpetite

PACKAGE = Path(bpetite.__file__).parent

QUESTION = re.compile(r'"""(What|Which|Whether|Where|How)\b')


def test_no_docstring_opens_with_a_question_word() -> None:
    files = [path for suffix in ("py", "pyx", "pxd") for path in PACKAGE.rglob(f"*.{suffix}")]
    assert len(files) > 100
    assert [path.name for path in files if QUESTION.search(path.read_text(encoding="utf-8"))] == []
