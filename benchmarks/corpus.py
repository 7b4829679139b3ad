"""Encoding a corpus: the command beside the engine alone.

    python -m benchmarks.corpus              # the ratios, round by round, and the memory of two file sizes

The text is the English one, repeated. What is written is compared with what the engine gives before it is timed.

The engine's time is that of `encode_batch_to_numpy` of all documents in memory, on one thread, the first call of a
process. A second call, which finds words in the cache and memory that the process has, is printed too. The command's
time is that of the whole process, from start to exit. Its processor time is less disturbed by other work.
"""
from __future__ import annotations

import argparse
import gzip
import json
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bpetite import Tokenizer

from . import texts
from .processes import run_python
from .rounds import interleaved, median_ratio, print_ratios, wall

#: Bytes of the text.
SIZE = 32_000_000


def documents(size: int = SIZE) -> list[str]:
    """Documents of 4,000 characters, about the length of pages from the web."""
    return texts.documents("english", size)


@cache
def tokenizer() -> Tokenizer:
    return Tokenizer.load("bpetite-32k")


def text_file(folder: Path, size: int = SIZE, times: int = 1) -> Path:
    path = folder / f"text{times}.txt"
    joined = "".join(document + texts.END for document in documents(size))
    with path.open("w", encoding="utf-8") as file:
        for _ in range(times):
            file.write(joined)
    return path


def json_file(folder: Path, size: int = SIZE, *, packed: bool = False) -> Path:
    path = folder / ("lines.jsonl.gz" if packed else "lines.jsonl")
    with gzip.open(path, "wt", compresslevel=6) if packed else path.open("w") as file:
        for number, document in enumerate(documents(size)):
            file.write(json.dumps({"id": number, "text": document, "source": "benchmark"}) + "\n")
    return path


#: The command. It prints its own peak of memory, since the peak that the system counts begins with the parent's.
COMMAND = """
import sys
from bpetite.cli import main
try:
    main()
finally:
    print("peak", *[line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")], file=sys.stderr)
"""


def command(source: Path, out: Path, jobs: int, *more: str) -> tuple[float, float, float]:
    """Wall seconds, processor seconds and the peak of memory in megabytes of one run of the command."""
    for old in out.parent.glob(out.name + "*"):  # not by --overwrite: no first run takes the time of deleting
        old.unlink()
    asked = ("encode", str(source), "-t", "bpetite-32k", "-o", str(out), "--jobs", str(jobs), *more)
    seconds, used, said = run_python("-c", COMMAND, *asked)
    return seconds, used, int(said.split()[-1]) / 1024


#: Text file -> wall and processor seconds of two calls of the engine.
ENGINE = """
import sys, time
import numpy
from bpetite import Tokenizer
data = open(sys.argv[1], "rb").read().split(b"<|endoftext|>")
tok = Tokenizer.load("bpetite-32k")
for _ in range(2):
    began, used = time.perf_counter(), time.process_time()
    tok.encode_batch_to_numpy(data, num_threads=1, allowed_special=())
    print(time.perf_counter() - began, time.process_time() - used, file=sys.stderr)
"""


def engine_alone(source: Path) -> list[tuple[float, float]]:
    """Wall and processor seconds of a first and a second call in a new process."""
    _, _, said = run_python("-c", ENGINE, str(source))
    return [(float(seconds), float(used)) for seconds, used in (line.split() for line in said.splitlines())]


def by_engine(data: list[Any]) -> Any:
    return tokenizer().encode_batch_to_numpy(data, num_threads=1, allowed_special=())[0]


def by_library(path: Path) -> int:
    """The number of tokens of JSON lines, read by orjson and the standard library's gzip."""
    orjson = pytest.importorskip("orjson")
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
        return len(by_engine([orjson.loads(line)["text"] for line in file]))


def check(folder: Path, size: int = SIZE) -> None:
    """What the command writes is what the engine gives."""
    command(text_file(folder, size), folder / "out", 2, "--eot", "none")
    if not np.array_equal(np.load(folder / "out.npy"), by_engine(documents(size))):
        raise AssertionError("the command and the engine give different tokens")


def beside_the_engine(folder: Path, source: Path, format: str, rounds: int) -> None:
    empty = folder / "empty.txt"
    empty.touch()
    again: list[tuple[float, float]] = []

    def first_call() -> tuple[float, float]:
        first, second = engine_alone(source)
        again.append(second)
        return first

    times = interleaved(
        {
            "engine in memory": first_call,
            "engine, called again": again.pop,
            "encode --jobs 1": lambda: command(source, folder / "out", 1, "-f", format)[:2],
            "encode --jobs 2": lambda: command(source, folder / "out", 2, "-f", format)[:2],
            "of that, start and end": lambda: command(empty, folder / "none", 1, "-f", format)[:2],
        },
        rounds,
    )
    print_ratios(times, "engine in memory")
    engine, _, one, two, start = map(wall, times.values())
    net_one, net_two = ([a - s for a, s in zip(jobs, start, strict=True)] for jobs in (one, two))
    print(f"--jobs 1 over --jobs 2: {median_ratio(one, two):.2f}")
    print(f"the same without start and end: {median_ratio(net_one, net_two):.2f}")
    print(f"--jobs 1 over engine, without start and end: {median_ratio(net_one, engine):.2f}")


def main() -> None:
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--times", type=int, default=10, help="how often the 32 MB are repeated; default %(default)s")
    ask.add_argument("--rounds", type=int, default=5)
    ask.add_argument("--folder", help="where files go; a temporary folder by default")
    ask.add_argument("--format", default="nanogpt", help="what the command writes")
    asked = ask.parse_args()
    with tempfile.TemporaryDirectory(dir=asked.folder) as name:
        folder = Path(name)
        check(folder)
        source = text_file(folder, times=asked.times)
        print(f"# text, {source.stat().st_size / 1e6:.0f} MB: the command (to {asked.format}) and the engine in memory")
        beside_the_engine(folder, source, asked.format, asked.rounds)
        print("# peak memory")
        for path in (text_file(folder, times=max(1, asked.times // 10)), source):
            for jobs in (1, 2):
                peak = command(path, folder / "out", jobs)[2]
                print(f"{path.stat().st_size / 1e6:6.0f} MB of text, --jobs {jobs}: {peak:.0f} MB")


if __name__ == "__main__":
    main()
