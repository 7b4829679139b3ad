"""Tests and cases of which some run every time: the others with ``-m slow``, or not on another build."""
import re
from collections.abc import Iterable
from typing import Any

import pytest
from paths import TESTS


def slow_but(values: Iterable[Any], *quick: Any) -> list[Any]:
    """The values, marked `slow` but for those that are quick. Raises ValueError where a quick one is no value."""
    values = list(values)
    if unknown := [value for value in quick if value not in values]:
        raise ValueError(f"{unknown} are none of {values}")
    return [value if value in quick else pytest.param(value, marks=pytest.mark.slow) for value in values]


def all_but(names: Iterable[str], tests: Iterable[str]) -> str:
    """What pytest's ``-k`` takes to leave out those tests of files and folders that have one of the names in theirs.

    Raises ValueError for a name that no test has: what it left out is renamed, and would run again.
    """
    paths = [TESTS / test for test in tests]
    files = [file for path in paths for file in (path.rglob("test_*.py") if path.is_dir() else [path])]
    sources = "".join(file.read_text(encoding="utf-8") for file in files)
    defined = " ".join(re.findall(r"^def (test_\w+)", sources, re.M))
    if unknown := [name for name in names if name not in defined]:
        raise ValueError(f"no test of {tests} has {unknown} in its name")
    return " and ".join(f"not {name}" for name in names)
