"""Fails where bpetite has become slower than the committed baseline.

    python -m benchmarks.guard           # exit status 1 where a row fell by more than 15 %
    python -m benchmarks.guard --save    # write the baseline of this kind of machine

baseline.json keeps no times but speeds relative to a yardstick that is measured in the same round: zlib at level 1 and
a dictionary that counts words. Both are C code outside bpetite, and both do what encoding does, hashing and looking up,
so a slow minute of the machine slows them alike.

Noise only adds time, so a process counts the lower quartile of its rounds. Addresses of memory differ from process to
process, so the median of several processes counts. Times are processor times of the thread, which leave out what the
machine does for others. Texts are small: what 10 MB of text cost depends on how much of the memory's bandwidth others
leave. A row that seems to have fallen is measured again before it fails.

Text and vocabulary are the same everywhere: made texts and the packaged tokenizer. Machines with wide vector
instructions and machines without differ in kind, so each kind has its own entry.
"""
from __future__ import annotations

import argparse
import gc
import json
import statistics
import subprocess
import sys
import time
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import made_texts

from bpetite import Tokenizer, __version__
from bpetite.splitting.pretokenizer import pretokenizer

from . import machine, texts

BASELINE = Path(__file__).with_name("baseline.json")
ROOT = Path(__file__).resolve().parents[1]

#: The part of its speed that a row may lose.
THRESHOLD = 0.15

#: Bytes of a text, and how often it is encoded, decoded or split in a round.
SIZE, TIMES = 100_000, 10

Speeds = dict[str, float]  # row -> yardstick's seconds over the row's


def rows() -> dict[str, Callable[[], Any]]:
    """The work that is guarded, on three texts."""
    tok = Tokenizer.load("bpetite-32k")
    found: dict[str, Callable[[], Any]] = {}
    for name in texts.NAMES:
        whole = made_texts.text(name, SIZE).replace(texts.END, "\n\n")
        texts.verify(tok, whole)
        found |= {f"{name}: {label}": call for label, call in work(tok, whole).items()}
    return found


def work(tok: Tokenizer, whole: str) -> dict[str, Callable[[], Any]]:
    documents = [whole[start : start + 4000] for start in range(0, len(whole), 4000)]
    normalizing = Tokenizer.from_vocab(replace(tok.to_vocab(), normalization="NFC"))
    accented = "e\u0301".join(whole[start : start + 10_000] for start in range(0, len(whole), 10_000))
    ids, data, short = tok.encode_ordinary(whole), whole.encode(), whole[5000:5020]
    scanner = pretokenizer(tok.pattern).scanner
    assert scanner is not None
    return {
        "array": repeated(TIMES, lambda: tok.encode_to_numpy(whole)),
        "array, no word known": lambda: tok.with_cache(64 << 20).encode_to_numpy(whole),
        "array, NFC": repeated(TIMES, lambda: normalizing.encode_to_numpy(accented)),
        "list": repeated(TIMES, lambda: tok.encode_ordinary(whole)),
        "batch": repeated(TIMES, lambda: tok.encode_batch_to_numpy(documents, num_threads=1)),
        "calls of 20 characters": repeated(5000, lambda: tok.encode(short)),
        "count": repeated(TIMES, lambda: tok.count(whole)),
        "decode": repeated(TIMES, lambda: tok.decode(ids)),
        "scan": repeated(TIMES, lambda: scanner.ends(data)),
        "train": lambda: Tokenizer.train(whole, 1000, num_threads=1),
    }


def repeated(times: int, call: Callable[[], Any]) -> Callable[[], Any]:
    def run() -> None:
        for _ in range(times):
            call()

    return run


def yardstick() -> Callable[[], Any]:
    data = made_texts.text("english", 200_000).encode()
    words = data.split()

    def run() -> None:
        zlib.compress(data, 1)
        counts: dict[bytes, int] = {}
        for word in words:
            counts[word] = counts.get(word, 0) + 1

    return run


def measure(rounds: int) -> Speeds:
    """The speeds of all rows in this process."""
    calls = {"yardstick": yardstick(), **rows()}
    times: dict[str, list[float]] = {name: [] for name in calls}
    gc.collect()
    gc.freeze()
    for number in range(rounds + 2):
        for name, call in calls.items():
            began = time.thread_time()
            call()
            if number >= 2:  # the first rounds fill caches
                times[name].append(time.thread_time() - began)
    quartiles = {name: statistics.quantiles(taken)[0] for name, taken in times.items()}
    yard = quartiles.pop("yardstick")
    return {name: yard / seconds for name, seconds in quartiles.items()}


def medians(processes: int, rounds: int) -> Speeds:
    """The speeds of all rows: the median of several processes."""
    command = [sys.executable, "-m", "benchmarks.guard", "--measure", "--rounds", str(rounds)]
    measured: list[Speeds] = []
    for _ in range(processes):
        done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
        measured.append(json.loads(done.stdout))
    return {row: statistics.median(speeds[row] for speeds in measured) for row in measured[0]}


def conditions() -> dict[str, str]:
    """What may shift all ratios: the yardstick is part of Python and of zlib."""
    return {
        "bpetite": __version__,
        "python": machine.python().rpartition(".")[0],
        "zlib": zlib.ZLIB_RUNTIME_VERSION,
        "processor": machine.processor(),
    }


def fallen(found: Speeds, baseline: Speeds, threshold: float) -> list[str]:
    return [row for row, speed in baseline.items() if found.get(row, 0.0) < speed * (1 - threshold)]


def main() -> None:
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--save", action="store_true", help="write what is measured into baseline.json")
    ask.add_argument("--threshold", type=float, default=THRESHOLD, help="default %(default)s")
    ask.add_argument("--processes", type=int, default=7, help="default %(default)s")
    ask.add_argument("--rounds", type=int, default=25, help="in each process; default %(default)s")
    ask.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    asked = ask.parse_args()
    if asked.measure:
        print(json.dumps(measure(asked.rounds)))
        return
    entries = json.loads(BASELINE.read_text()) if BASELINE.exists() else {}
    entry = entries.get(machine.vectors())
    if entry is None and not asked.save:
        sys.exit(f"baseline.json has no entry for {machine.vectors()}; measure the old state there with --save")
    found = medians(asked.processes, asked.rounds)
    if asked.save:
        speeds = {row: float(f"{speed:.4g}") for row, speed in found.items()}
        entries[machine.vectors()] = {"conditions": conditions(), "speeds": speeds}
        BASELINE.write_text(json.dumps(dict(sorted(entries.items())), indent=1) + "\n")
    else:
        report(found, entry, asked)


def report(found: Speeds, entry: dict[str, Any], asked: argparse.Namespace) -> None:
    baseline: Speeds = entry["speeds"]
    for name, value in conditions().items():
        if value != entry["conditions"][name] and name != "bpetite":
            print(f"note: the baseline was measured with {entry['conditions'][name]}, this is {value}")
    if fallen(found, baseline, asked.threshold):
        again = medians(asked.processes, asked.rounds)
        found = {row: max(speed, again[row]) for row, speed in found.items()}
    slow = fallen(found, baseline, asked.threshold)
    print(f"{'speed over the yardstick':40s} baseline      now")
    for row, speed in baseline.items():
        now = found.get(row, 0.0)
        mark = "  SLOWER" if row in slow else ""
        print(f"{row:40s} {speed:8.4g} {now:8.4g} {100 * (now / speed - 1):+6.1f} %{mark}")
    if slow:
        sys.exit(f"{len(slow)} of {len(baseline)} rows fell by more than {asked.threshold:.0%}")


if __name__ == "__main__":
    main()
