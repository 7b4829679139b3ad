"""The language of docstrings: a noun or a verb comes first, not a question word."""
import re
from collections import Counter
from pathlib import Path

import bpetite

PACKAGE = Path(bpetite.__file__).parent

QUESTION = re.compile(r'"""(What|Which|Whether|Where|How)\b')

#: Rooms and files of the package whose docstrings still have to be rewritten.
TO_DO = {
    "adapters", "analysis", "cli", "cluster", "corpus", "formats", "gage.py", "patterns.py", "reference.py", "steps",
    "training",
}


def test_no_docstring_opens_with_a_question_word() -> None:
    files = [path for suffix in ("py", "pyx", "pxd") for path in PACKAGE.rglob(f"*.{suffix}")]
    assert len(files) > 100
    found = Counter[str]()
    for path in files:
        found[path.relative_to(PACKAGE).parts[0]] += len(QUESTION.findall(path.read_text(encoding="utf-8")))
    assert {room for room, count in found.items() if count} <= TO_DO
