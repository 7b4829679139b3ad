"""The tables of the named patterns that ship with the package are those that this code makes."""
import subprocess
import sys
from pathlib import Path

import pytest

from bpetite import patterns
from bpetite.splitting.compile import scanner_tables
from bpetite.splitting.compile.compile_pattern import compile_pattern
from bpetite.splitting.compile.scanner_tables import shipped, to_file

NAMED = {name: patterns.as_tuple(pattern) for name, pattern in patterns.NAMED.items()}


@pytest.mark.parametrize("name", NAMED)
def test_shipped_tables_are_those_that_are_made(name: str) -> None:
    """`python tools/scanner_tables.py` writes them."""
    assert shipped(NAMED[name]) == compile_pattern(NAMED[name])


def test_other_patterns_do_not_ship() -> None:
    assert shipped(("a+",)) is None
    assert shipped(()) is None


def test_tables_come_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = {key: compile_pattern(key) for key in (("a+|b",), (patterns.O200K,), (patterns.GPT2, r"\p{L}"))}
    (tmp_path / "some.bin").write_bytes(to_file(made))
    assert (tmp_path / "some.bin").read_bytes() == to_file(made)
    monkeypatch.setattr(scanner_tables, "FILE", str(tmp_path / "some.bin"))
    assert {key: shipped(key) for key in made} == made


def test_a_named_pattern_needs_no_regex() -> None:
    code = """
import sys
from bpetite import Tokenizer
assert Tokenizer({0: b"a", 1: b" "}, [], pattern="gpt2").encode("a a") == [0, 1, 0]
assert "regex" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)
