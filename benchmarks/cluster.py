"""Encoding on one node by Ray or Spark beside `--jobs 2`, without start-up.

    python -m benchmarks.cluster [--engine ray|spark] [--megabytes 1000] [--rounds 7] [--folder F] [--format npy]

The engine is started with two slots, and both ways are run before anything is timed, Spark several times so that its
virtual machine is warm. Runs alternate, and what they write is compared. The processor time is that of the whole
machine, because the engine's processes are not children of this one: nothing else should run.
"""
from __future__ import annotations

import argparse
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bpetite.cluster import encode_corpus as encode_on
from bpetite.corpus import encode_corpus
from bpetite.corpus.run.assembly import Map

from .corpus import text_file, tokenizer
from .rounds import interleaved, processor, wall

#: Runs before anything is timed.
WARM = {"ray": 1, "spark": 3}


def processor_seconds() -> float:
    """Of all processes since the machine started, as Linux counts them."""
    return sum(map(int, Path("/proc/stat").read_text().split()[1:4])) / 100


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@contextmanager
def ray_run() -> Iterator[Map]:
    from bpetite.cluster.ray import ray_map

    with ray_map(num_cpus=2) as run:
        yield run


@contextmanager
def spark_run() -> Iterator[Map]:
    """Spark with its own settings, except for two that only print less."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    from pyspark.sql import SparkSession

    from bpetite.cluster.spark import spark_map

    builder = SparkSession.builder.master("local[2,4]")
    for name in ("spark.ui.enabled", "spark.ui.showConsoleProgress"):
        builder = builder.config(name, "false")
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    try:
        yield spark_map(session)
    finally:
        session.stop()


ENGINES = {"ray": ray_run, "spark": spark_run}


def main() -> None:
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--engine", choices=ENGINES, default="ray")
    ask.add_argument("--megabytes", type=int, default=1000)
    ask.add_argument("--rounds", type=int, default=7)
    ask.add_argument("--folder", help="where files go; a temporary folder by default")
    ask.add_argument("--format", default="npy")
    ask.add_argument("--shard-tokens", type=int)
    asked = ask.parse_args()
    options: dict[str, Any] = {"format": asked.format, "shard_tokens": asked.shard_tokens}
    with tempfile.TemporaryDirectory(dir=asked.folder) as name, ENGINES[asked.engine]() as run:
        folder = Path(name)
        source = text_file(folder, times=max(1, asked.megabytes // 32))

        def by_engine(out: Path, **more: Any) -> None:
            encode_on(run, source, out, tokenizer(), **options, **more)

        ways: dict[str, Callable[[Path], Any]] = {
            "--jobs 2": lambda out: encode_corpus(source, out, tokenizer(), jobs=2, **options),
            asked.engine: by_engine,
        }
        check(ways["--jobs 2"], by_engine, folder)
        calls = {way: timed_run(encode, folder) for way, encode in ways.items()}
        interleaved(calls, WARM[asked.engine] - 1)
        times = interleaved(calls, asked.rounds)
    for way, measured in times.items():
        ratios = [a / b for a, b in zip(wall(measured), wall(times["--jobs 2"]), strict=True)]
        print(
            f"{way:16s} wall {statistics.median(wall(measured)):6.3f} s  "
            f"processor {statistics.median(processor(measured)):6.2f} s  x{statistics.median(ratios):5.2f} "
            f"({min(ratios):.2f}-{max(ratios):.2f})"
        )


def check(ours: Callable[[Path], Any], theirs: Callable[[Path], Any], folder: Path) -> None:
    """Both write the same files."""
    for number, encode in enumerate((ours, theirs)):
        (folder / str(number)).mkdir()
        encode(folder / str(number) / "out")
    if files_of(folder / "0") != files_of(folder / "1"):
        raise AssertionError("the engine and --jobs 2 write different files")
    for number in (0, 1):
        shutil.rmtree(folder / str(number))


def timed_run(encode: Callable[[Path], Any], folder: Path) -> Callable[[], tuple[float, float]]:
    """A function that encodes into an empty folder and returns wall seconds and the machine's processor seconds."""

    def run() -> tuple[float, float]:
        out = folder / "out"
        out.mkdir()
        began, used = time.perf_counter(), processor_seconds()
        encode(out / "o")
        taken = time.perf_counter() - began, processor_seconds() - used
        shutil.rmtree(out)
        return taken

    return run


if __name__ == "__main__":
    main()
