"""Counting more than memory holds: speed beside counting in memory, and the peak of a long run.

    python -m benchmarks.spilling                                            # 1 GB: in memory, and within less and less
    python -m benchmarks.spilling --megabytes 20000 --memory 1500MB --threads 2 --train 32000 --runs 1 --spill /data/tmp

The text is a stream that no file holds: English and code again and again, in which every 300th word or so is one that
has not come before. That is about what the web has of words that are new: names, numbers, misspellings. Each way to
count is a process of its own, so that its peak is its own. The ratio is of processor times, less that of making the
stream; with more runs it is the median of runs in turn.
"""
from __future__ import annotations

import argparse
import resource
import statistics
import sys
import time
from collections.abc import Iterator
from typing import Any

from bpetite import Tokenizer, count_pretokens

from . import texts
from .processes import run_python

LETTERS = "etaoinshrdlucmfwypvbgkjqxz"
CUT = 1200  # bytes of text before each new word
BLOCK = 80  # such pieces a document


def stream(size: int, every: int = CUT) -> Iterator[bytes]:
    """Documents of about 100 KB, `size` bytes together; always the same ones."""
    source = (texts.text("english", 8_000_000) + texts.text("code", 4_000_000)).encode()
    starts = range(0, len(source), every)
    pieces = [source[start : start + every].decode("utf-8", "ignore").encode() for start in starts]
    ends = [f"{a}{b}{c}{d}".encode() for a in LETTERS for b in LETTERS for c in LETTERS for d in LETTERS[:5]]
    made = number = 0
    while made < size:
        start = number * BLOCK
        document: list[bytes] = [b""] * (2 * BLOCK)
        begin = f" {LETTERS[number % 26]}{LETTERS[number // 26 % 26]}{LETTERS[number // 676 % 26]}".encode()
        at = start % (len(pieces) - BLOCK)
        document[::2] = pieces[at : at + BLOCK]
        at = (start + number // 17576 * 7919) % (len(ends) - BLOCK)
        document[1::2] = [begin + end for end in ends[at : at + BLOCK]]
        text = b"".join(document)
        made += len(text)
        number += 1
        yield text


def child(size: int, memory: str, threads: int, spill: str | None, vocab_size: int) -> None:
    """Count, and say on standard error: processor and wall seconds, the peak in MB; then lines for people."""
    began = time.process_time()
    for _ in stream(size):
        pass
    making = time.process_time() - began
    wall, began = time.perf_counter(), time.process_time()
    within = {} if memory == "none" else {"memory": memory, "spill_to": spill}
    counts: Any = count_pretokens(stream(size), num_threads=threads, **within)  # type: ignore[call-overload]
    used, wall = time.process_time() - began - making, time.perf_counter() - wall
    say(used, wall, peak(), "\n" + repr(counts))
    if vocab_size:
        began = time.perf_counter()
        tok = Tokenizer.train_from_counts(counts, vocab_size)
        say(f"{len(tok)} tokens in {time.perf_counter() - began:.1f} s, {tok.fingerprint()}, peak {peak()} MB")


def peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def say(*words: object) -> None:
    print(*words, file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--megabytes", type=int, default=1000)
    parser.add_argument("--memory", nargs="+", default=["none", "64MB", "16MB"], help="none: in memory")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--spill", help="folder of the temporary files")
    parser.add_argument("--train", type=int, default=0, metavar="N", help="learn N tokens from the counts")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    size = options.megabytes * 1_000_000
    if options.child:
        child(size, options.memory[0], options.threads, options.spill, options.train)
        return
    found: dict[str, list[list[float]]] = {memory: [] for memory in options.memory}
    for _ in range(options.runs):
        for memory in options.memory:
            arguments = [f"--megabytes={options.megabytes}", f"--threads={options.threads}", f"--train={options.train}"]
            arguments += [f"--spill={options.spill}"] if options.spill else []
            *_, said = run_python("-m", "benchmarks.spilling", "--child", "--memory", memory, *arguments)
            figures, _, lines = said.partition("\n")
            found[memory].append([*map(float, figures.split())])
            say(f"{memory}: {lines.rstrip()}")
    print("| memory | processor s | wall s | MB/s | speed beside the first | peak MB |\n|---|---|---|---|---|---|")
    first = found[options.memory[0]]
    for memory, rows in found.items():
        used, wall, most = (statistics.median(column) for column in zip(*rows, strict=True))
        ratio = statistics.median(one[0] / other[0] for one, other in zip(first, rows, strict=True))
        print(f"| {memory} | {used:.2f} | {wall:.1f} | {size / 1e6 / used:.0f} | {ratio:.2f} | {most:.0f} |")


if __name__ == "__main__":
    main()
