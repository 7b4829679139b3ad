"""Encoding a corpus: the command beside the engine alone, and the readers beside well-kept libraries.

    pytest benchmarks/test_corpus.py --benchmark-only
    python benchmarks/test_corpus.py                 # the ratios, run by run in turn, and the memory of two file sizes

Text comes from ../shared/data/text/english.txt where it is present, else from the sources of Python's standard
library, repeated to the size asked for. What is written is compared with what the engine gives before it is timed.
The engine's time is that of `encode_batch_to_numpy` of all documents in memory, on one thread, the first call in a
process of its own, as that of the command; that of a second call, which finds words in the cache and memory that the
process has, is told too. The command's time is that of the whole process, from start to exit, and its processor time is
told beside it, which other work on the machine disturbs less.
"""
from __future__ import annotations

import argparse
import gzip
import json
import os
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bpetite
from bpetite import Tokenizer
from bpetite.corpus import count_corpus, encode_corpus

ENGLISH = Path(__file__).resolve().parents[2] / "shared" / "data" / "text" / "english.txt"
EOT = "<|endoftext|>"
BATCH = 256


@cache
def documents() -> list[str]:
    """Some 32 MB."""
    if ENGLISH.exists():
        return ENGLISH.read_text(encoding="utf-8").split(EOT)
    sources = sorted(Path(sysconfig.get_paths()["stdlib"]).rglob("*.py"))
    return [source.read_text(encoding="utf-8", errors="ignore") for source in sources]


@cache
def tokenizer() -> Tokenizer:
    return Tokenizer.load("bpetite-32k")


def text_file(folder: Path, times: int) -> Path:
    path = folder / f"text{times}.txt"
    with path.open("w", encoding="utf-8") as file:
        for _ in range(times):
            file.write(EOT.join(documents()) + EOT)
    return path


def json_file(folder: Path, *, packed: bool = False, size: int = 4000) -> Path:
    """Records of some 4,000 characters, as corpora from the web have."""
    path = folder / ("lines.jsonl.gz" if packed else "lines.jsonl")
    with (gzip.open(path, "wt", compresslevel=6) if packed else path.open("w")) as file:
        for document in documents():
            for at in range(0, len(document), size):
                file.write(json.dumps({"id": at, "text": document[at : at + size], "source": "benchmark"}) + "\n")
    return path


def parquet_file(folder: Path, size: int = 4000) -> Path:
    """The same texts as a column."""
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = folder / "rows.parquet"
    texts = [document[at : at + size] for document in documents() for at in range(0, len(document), size)]
    parquet.write_table(pyarrow.table({"text": texts}), path, row_group_size=5000)
    return path


#: The command, telling its own peak of memory, because a child's as the system counts it begins with its parent's.
CALL = """
import sys
from bpetite.cli import main
try:
    main()
finally:
    print("peak", *[line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")], file=sys.stderr)
"""


def command(source: Path, out: Path, jobs: int, *more: str) -> tuple[float, float, float]:
    """(wall seconds, processor seconds, megabytes at most) of one run of the command."""
    for old in out.parent.glob(out.name + "*"):  # not by --overwrite: deleting takes time that no first run takes
        old.unlink()
    arguments = ["encode", str(source), "-o", str(out), "--jobs", str(jobs), *more]
    environment = {**os.environ, "PYTHONPATH": str(Path(bpetite.__file__).parents[1])}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    began = time.perf_counter()
    called = [sys.executable, "-c", CALL, *arguments]
    with subprocess.Popen(called, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment) as process:
        assert process.stderr is not None
        told = process.stderr.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    wall = time.perf_counter() - began
    if process.returncode:
        raise AssertionError(told.decode())
    return wall, used.ru_utime + used.ru_stime, int(told.split()[-1]) / 1024


def by_engine(data: list[bytes]) -> Any:
    return tokenizer().encode_batch_to_numpy(data, num_threads=1, allowed_special=())


#: Text file -> wall and processor seconds of two calls.
ENGINE = """
import sys, time
import numpy
from bpetite import Tokenizer
data = open(sys.argv[1], "rb").read().split(b"<|endoftext|>")
tok = Tokenizer.load("bpetite-32k")
for _ in range(2):
    began, used = time.perf_counter(), time.process_time()
    tok.encode_batch_to_numpy(data, num_threads=1, allowed_special=())
    print(time.perf_counter() - began, time.process_time() - used)
"""


def engine_alone(source: Path) -> list[tuple[float, float]]:
    """(wall seconds, processor seconds) of a first and a second call in a new process."""
    environment = {**os.environ, "PYTHONPATH": str(Path(bpetite.__file__).parents[1]), "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", ENGINE, str(source)], stdout=subprocess.PIPE, env=environment, text=True, check=True
    )
    return [(float(wall), float(used)) for wall, used in (line.split() for line in done.stdout.splitlines())]


def by_library(path: Path) -> int:
    """The tokens of JSON lines by orjson, and gzip of the standard library, and the engine."""
    orjson = pytest.importorskip("orjson")
    count = 0
    with (gzip.open(path) if path.suffix == ".gz" else path.open("rb")) as file:
        batch = []
        for line in file:
            batch.append(orjson.loads(line)["text"])
            if len(batch) == BATCH:
                count += len(tokenizer().encode_batch_to_numpy(batch, num_threads=1, allowed_special=())[0])
                batch = []
        return count + len(tokenizer().encode_batch_to_numpy(batch, num_threads=1, allowed_special=())[0])


def checked(folder: Path) -> None:
    """What the command writes is what the engine gives."""
    source = text_file(folder, 1)
    command(source, folder / "out", 2, "--eot", "none")
    ids, _ = by_engine([text.encode() for text in documents()])
    if not np.array_equal(np.load(folder / "out.npy"), ids):
        raise AssertionError("the command and the engine give different tokens")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus")
    checked(folder)
    return folder


@pytest.mark.parametrize("format", ["npy", "nanogpt", "llmc", "megatron", "datatrove", "dolma", "parquet"])
@pytest.mark.parametrize("jobs", [1, 2])
def test_formats(benchmark: Any, folder: Path, format: str, jobs: int) -> None:
    source = text_file(folder, 1)
    benchmark.group = f"english to {format}"
    benchmark.extra_info["bytes"] = source.stat().st_size
    benchmark.pedantic(
        lambda: encode_corpus(source, folder / format, tokenizer(), format=format, jobs=jobs, overwrite=True), rounds=3
    )


@pytest.mark.parametrize("packed", [False, True], ids=["jsonl", "jsonl.gz"])
@pytest.mark.parametrize("reader", ["corpus", "library"])
def test_readers(benchmark: Any, folder: Path, packed: bool, reader: str) -> None:
    source = json_file(folder, packed=packed)
    assert count_corpus(source, tokenizer())["tokens"] == by_library(source)
    benchmark.group = f"reading {source.name}"
    run: Callable[[], Any] = (lambda: by_library(source)) if reader == "library" else (
        lambda: count_corpus(source, tokenizer())
    )
    benchmark.pedantic(run, rounds=3)


Times = dict[str, list[tuple[float, float]]]  # name -> (wall seconds, processor seconds) of each round


def in_turn(functions: dict[str, Callable[[], tuple[float, float]]], rounds: int) -> Times:
    times: Times = {name: [] for name in functions}
    for _ in range(rounds):
        for name, function in functions.items():
            times[name].append(function())
    return times


def timed(function: Callable[[], Any]) -> Callable[[], tuple[float, float]]:
    def run() -> tuple[float, float]:
        began, used = time.perf_counter(), time.process_time()
        function()
        return time.perf_counter() - began, time.process_time() - used

    return run


def ratios(times: Times, over: str) -> None:
    """Medians of wall and processor seconds, and of the run-by-run ratios to one of the rows."""
    for name, measured in times.items():
        row = [f"{name:28s}"]
        for kind, place in (("wall", 0), ("processor", 1)):
            ratio = statistics.median(a[place] / b[place] for a, b in zip(measured, times[over], strict=True))
            row.append(f"{kind} {statistics.median(a[place] for a in measured):7.3f} s  x{ratio:5.2f}")
        print("   ".join(row), flush=True)


def main() -> None:
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--times", type=int, default=10, help="how often the 32 MB are repeated")
    ask.add_argument("--rounds", type=int, default=5)
    ask.add_argument("--folder", help="where files go; a temporary folder by default")
    ask.add_argument("--format", default="nanogpt", help="what the command writes")
    asked = ask.parse_args()
    with tempfile.TemporaryDirectory(dir=asked.folder) as name:
        folder = Path(name)
        checked(folder)
        source = text_file(folder, asked.times)
        size = source.stat().st_size / 1e6
        print(f"# text, {size:.0f} MB: the command (to {asked.format}) and the engine in memory")
        empty = folder / "empty.txt"
        empty.touch()
        again: list[tuple[float, float]] = []

        def first_call() -> tuple[float, float]:
            first, second = engine_alone(source)
            again.append(second)
            return first

        functions = {
            "engine in memory": first_call,
            "engine, called again": again.pop,
            "encode --jobs 1": lambda: command(source, folder / "out", 1, "-f", asked.format)[:2],
            "encode --jobs 2": lambda: command(source, folder / "out", 2, "-f", asked.format)[:2],
            "of that, start and end": lambda: command(empty, folder / "none", 1, "-f", asked.format)[:2],
        }
        times = in_turn(functions, asked.rounds)
        ratios(times, "engine in memory")
        one, two, start, engine = ([wall for wall, _ in times[name]] for name in (
            "encode --jobs 1", "encode --jobs 2", "of that, start and end", "engine in memory"))
        for what, found in {
            "--jobs 1 over --jobs 2": [a / b for a, b in zip(one, two, strict=True)],
            "the same, start and end apart": [(a - s) / (b - s) for a, b, s in zip(one, two, start, strict=True)],
            "--jobs 1 over engine, start and end apart": [
                (a - s) / b for a, b, s in zip(one, engine, start, strict=True)
            ],
        }.items():
            print(f"{what}: {statistics.median(found):.2f}")
        for packed in (False, True):
            lines = json_file(folder, packed=packed)
            if count_corpus(lines, tokenizer())["tokens"] != by_library(lines):
                raise AssertionError("the readers differ")
            print(f"# {lines.name}, {lines.stat().st_size / 1e6:.0f} MB: reading and encoding, in one process")
            both = {
                "library": timed(lambda lines=lines: by_library(lines)),  # type: ignore[misc]
                "corpus": timed(lambda lines=lines: count_corpus(lines, tokenizer())),  # type: ignore[misc]
            }
            ratios(in_turn(both, asked.rounds), "library")
        print("# --jobs 2 beside --jobs 1, in one process")
        for path in (source, json_file(folder), parquet_file(folder)):
            by_jobs = {
                f"--jobs {jobs}": timed(
                    lambda path=path, jobs=jobs: encode_corpus(  # type: ignore[misc]
                        path, folder / "jobs", tokenizer(), jobs=jobs, overwrite=True
                    )
                )
                for jobs in (2, 1)
            }
            print(path.name)
            ratios(in_turn(by_jobs, asked.rounds), "--jobs 2")
        print("# peak memory")
        small = text_file(folder, max(1, asked.times // 10))
        for path in (small, source):
            for jobs in (1, 2):
                peak = command(path, folder / "out", jobs)[2]
                print(f"{path.stat().st_size / 1e6:6.0f} MB of text, --jobs {jobs}: {peak:.0f} MB")


if __name__ == "__main__":
    main()
