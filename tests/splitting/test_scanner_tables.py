"""The tables of the named patterns that ship with the package are those that this code makes."""
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from bpetite import patterns
from bpetite.splitting.compile import scanner_tables
from bpetite.splitting.compile.compile_pattern import compile_pattern
from bpetite.splitting.compile.scanner_tables import shipped, to_file

NAMED = {name: patterns.as_tuple(pattern) for name, pattern in patterns.NAMED.items()}


@pytest.mark.parametrize("name", NAMED)
def test_shipped_tables_are_those_of_the_installed_regex(name: str) -> None:
    """`python tools/scanner_tables.py` writes them; a new release of `regex` goes into RELEASES."""
    assert shipped(NAMED[name]) == compile_pattern(NAMED[name])


def test_other_patterns_do_not_ship() -> None:
    assert shipped(("a+",)) is None
    assert shipped(()) is None


def test_tables_come_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = {key: compile_pattern(key) for key in (("a+|b",), (patterns.O200K,), (patterns.GPT2, r"\p{L}"))}
    (tmp_path / "some.bin").write_bytes(to_file(made))
    assert (tmp_path / "some.bin").read_bytes() == to_file(made)
    monkeypatch.setattr(scanner_tables, "file_of", lambda unicode: str(tmp_path / "some.bin"))
    assert {key: shipped(key) for key in made} == made


@pytest.mark.parametrize(
    ("releases", "unicode"),
    [
        (["2024.9.11"], "16.0"), (["2025.10.21"], "16.0"), (["2025.10.22"], "17.0"), (["2026.11.19"], "18.0"),
        (["2024.9.10"], None), (["2999.1.1"], None), ([], None), (["2024.9.11", "2025.10.22"], None),
        (["2.5.1a"], None),
    ],
)  # fmt: skip
def test_a_release_that_is_not_known_is_asked_itself(
    releases: list[str], unicode: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"regex-{release}.dist-info" for release in releases]
    monkeypatch.setattr(os, "listdir", lambda folder: ["regex", "numpy-2.0.0.dist-info", *names])
    assert scanner_tables._unicode_of_regex() == unicode


def test_a_named_pattern_needs_no_regex() -> None:
    """With the version that is installed here, which has to be a known one for this."""
    assert scanner_tables._release_of_regex() == tuple(map(int, version("regex").split(".")))
    code = """
import sys
from bpetite import Tokenizer
assert Tokenizer({0: b"a", 1: b" "}, [], pattern="gpt2").encode("a a") == [0, 1, 0]
assert "regex" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)
