"""Splitting text: the compiled scanner beside `regex.findall`, on one core, in one process.

    pytest benchmarks/test_scan.py --benchmark-only
    python benchmarks/test_scan.py            # the ratios, run by run in turn, which hold on a noisy machine

Texts come from ../shared/data/text where it is present, else from the sources of Python's standard library. That both
split alike is checked before anything is timed. The scanner's time is that of finding all ends in blocks, as the
encoder does; a sequence of splits is compared with `regex` doing the splits one after the other.
"""
from __future__ import annotations

import statistics
import sysconfig
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
import regex

from bpetite import patterns
from bpetite.reference import split
from bpetite.splitting.pretokenizer import Pretokenizer, pretokenizer

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data" / "text"
TEXTS = ("english", "code", "multilingual")
SIZE = 2_000_000  # bytes
PATTERNS: dict[str, patterns.Pattern] = {
    **patterns.NAMED,
    # one that has no name: the pattern of Mistral Nemo (tekken)
    "custom": r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
    r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
}
KINDS = ("vector", "tables")


@cache
def text(name: str) -> str:
    path = SHARED / f"{name}.txt"
    if path.exists():
        with path.open("rb") as file:
            return file.read(SIZE).decode("utf-8", "ignore")
    sources = sorted(Path(sysconfig.get_paths()["stdlib"]).rglob("*.py"))
    joined = []
    for source in sources:
        joined.append(source.read_text(encoding="utf-8", errors="ignore"))
        if sum(map(len, joined)) > SIZE:
            break
    return "".join(joined)[:SIZE]


def by_regex(pattern: patterns.Pattern) -> Callable[[str], list[str]]:
    if isinstance(pattern, str):
        return regex.compile(pattern).findall
    return lambda whole: split(whole, pattern)


def checked(pattern: patterns.Pattern, kind: str, name: str) -> tuple[Pretokenizer, bytes]:
    cut = pretokenizer(pattern, scanner_kind=kind)
    if cut.split(text(name)) != split(text(name), pattern):
        raise AssertionError(f"{kind} and regex split {name} differently")
    return cut, text(name).encode()


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("kind", [*KINDS, "regex"])
def test_split(benchmark, kind: str, pattern: str, name: str) -> None:  # type: ignore[no-untyped-def]
    benchmark.group = f"split {name} by {pattern}"
    benchmark.extra_info["bytes"] = len(text(name).encode())
    if kind == "regex":
        run = by_regex(PATTERNS[pattern])
        benchmark.pedantic(lambda: run(text(name)), rounds=3)
        return
    cut, data = checked(PATTERNS[pattern], kind, name)
    assert cut.scanner is not None
    benchmark(cut.scanner.count, data)


def ratios(rounds: int = 7) -> None:
    """Print how many times as fast as `regex.findall` each kind is: medians of run-by-run ratios.

    Times are the thread's own: what the machine does for others while the slower one runs is left out.
    """
    print("MB/s, and times as fast as regex")
    print(f"{'text':13s} {'pattern':18s} {'regex':>6s}   " + "   ".join(f"{kind:13s}" for kind in KINDS))
    for name in TEXTS:
        for pattern in PATTERNS:
            cuts = {kind: checked(PATTERNS[pattern], kind, name) for kind in KINDS}
            findall = by_regex(PATTERNS[pattern])
            times: dict[str, list[float]] = {"regex": [], **{kind: [] for kind in KINDS}}
            for _ in range(rounds):
                start = time.thread_time()
                findall(text(name))
                times["regex"].append(time.thread_time() - start)
                for kind, (cut, data) in cuts.items():
                    assert cut.scanner is not None
                    start = time.thread_time()
                    cut.scanner.count(data)
                    times[kind].append(time.thread_time() - start)
            size = len(text(name).encode()) / 1e6
            line = f"{name:13s} {pattern:18s} {size / statistics.median(times['regex']):6.1f}"
            for kind in KINDS:
                ratio = statistics.median(a / b for a, b in zip(times["regex"], times[kind]))
                line += f"   {size / statistics.median(times[kind]):6.0f} x{ratio:5.1f}"
            print(line, flush=True)


if __name__ == "__main__":
    ratios()
