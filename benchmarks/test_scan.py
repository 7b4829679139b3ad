"""Splitting text: the compiled scanner beside `regex.findall`, on one core, in one process.

    pytest benchmarks/test_scan.py --benchmark-only

That both split alike is checked before anything is timed. The scanner's time is that of finding all ends in blocks, as
the encoder does; a sequence of splits is compared with `regex` doing the splits one after the other.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import regex

from bpetite import patterns
from bpetite.reference import split
from bpetite.splitting.pretokenizer import Pretokenizer, pretokenizer
from bpetite.splitting.scan._scan import Scanner

from . import texts

PATTERNS: dict[str, patterns.Pattern] = {
    **{name: patterns.NAMED[name] for name in ("gpt2", "o200k", "deepseek-v3")},
    # one that has no name: the pattern of Mistral Nemo (tekken)
    "custom": r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
    r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
}
SCANNERS = {"vector": 64, "one lane": 1}

pytestmark = pytest.mark.benchmark(max_time=0.2, min_rounds=3)


def text(name: str) -> str:
    return texts.text(name, 1_000_000)


def by_regex(pattern: patterns.Pattern, name: str) -> Callable[[], list[str]]:
    whole = text(name)
    if isinstance(pattern, str):
        findall = regex.compile(pattern).findall
        return lambda: findall(whole)
    return lambda: split(whole, pattern)


def by_scanner(pattern: patterns.Pattern, name: str, path: str) -> Callable[[], object]:
    """Finds the pre-tokens, after a comparison with `regex`."""
    tables = pretokenizer(pattern).tables
    cut = Pretokenizer(pattern, "vector", Scanner(tables, lanes=SCANNERS[path]), tables)
    if cut.split(text(name)) != split(text(name), pattern):
        raise AssertionError(f"{path} and regex split {name} differently")
    scanner, data = cut.scanner, text(name).encode()
    assert scanner is not None
    return lambda: scanner.ends(data)


@pytest.mark.parametrize("name", ["english", "multilingual"])
@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("way", [*SCANNERS, "regex"])
def test_split(benchmark: Any, way: str, pattern: str, name: str) -> None:
    benchmark.group = f"split {name} by {pattern}"
    benchmark.extra_info["bytes"] = len(text(name).encode())
    if way == "regex":
        benchmark.pedantic(by_regex(PATTERNS[pattern], name), rounds=1)
    else:
        benchmark(by_scanner(PATTERNS[pattern], name, way))

