"""Encoding on one node by Ray or Spark beside `--jobs 2`, start-up apart.

    python benchmarks/cluster.py [--engine ray|spark] [--megabytes 1000] [--rounds 7] [--folder F] [--format npy]

The engine is started, with two slots, and both ways are run before the clock, Spark's several times for the sake of its
virtual machine; runs alternate, and what they write is compared. The processor time is that of the whole machine,
because the engine's processes are not children of this one: nothing else should run.
"""
from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from test_corpus import EOT, documents, tokenizer

from bpetite.cluster.encoding import encode_corpus as encode_on
from bpetite.cluster.executor import Executor
from bpetite.corpus import encode_corpus

#: Runs before the clock.
WARM = {"ray": 1, "spark": 3}


def processor_seconds() -> float:
    """Of all processes since the machine started, by Linux."""
    return sum(map(int, Path("/proc/stat").read_text().split()[1:4])) / 100


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@contextmanager
def ray_executor() -> Iterator[Executor]:
    from bpetite.cluster.ray import RayExecutor

    with RayExecutor(num_cpus=2) as executor:
        yield executor


@contextmanager
def spark_executor() -> Iterator[Executor]:
    """All settings as Spark has them, but for those that cost nothing and print less."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    from pyspark.sql import SparkSession

    from bpetite.cluster.spark import SparkExecutor

    builder = SparkSession.builder.master("local[2,4]")
    for name in ("spark.ui.enabled", "spark.ui.showConsoleProgress"):
        builder = builder.config(name, "false")
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    try:
        yield SparkExecutor(session)
    finally:
        session.stop()


ENGINES = {"ray": ray_executor, "spark": spark_executor}


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
    with tempfile.TemporaryDirectory(dir=asked.folder) as name, ENGINES[asked.engine]() as executor:
        folder = Path(name)
        source = folder / "text.txt"
        text = (EOT.join(documents()) + EOT).encode()
        with source.open("wb") as file:
            for start in range(0, asked.megabytes * 1_000_000, len(text)):
                file.write(text[: asked.megabytes * 1_000_000 - start])

        def by_engine(out: Path, **more: Any) -> None:
            encode_on(executor, source, out, tokenizer(), **options, **more)

        ways: dict[str, Callable[[Path], Any]] = {
            "--jobs 2": lambda out: encode_corpus(source, out, tokenizer(), jobs=2, **options),
            asked.engine: by_engine,
            f"{asked.engine}, --no-join": lambda out: by_engine(out, join_tasks=False),
        }
        warm = WARM[asked.engine]
        times: dict[str, list[tuple[float, float]]] = {way: [] for way in ways}
        for number in range(warm + asked.rounds):
            made = {}
            for way, run in ways.items():
                out = folder / "out"
                out.mkdir()
                began, used = time.perf_counter(), processor_seconds()
                run(out / "o")
                if number >= warm:
                    times[way].append((time.perf_counter() - began, processor_seconds() - used))
                elif not number and "no-join" not in way:
                    made[way] = files_of(out)
                for path in out.iterdir():
                    path.unlink()
                out.rmdir()
            if not number and made[asked.engine] != made["--jobs 2"]:
                raise AssertionError(f"{asked.engine} and --jobs 2 write different files")
        for way, measured in times.items():
            ratios = [a[0] / b[0] for a, b in zip(measured, times["--jobs 2"], strict=True)]
            print(
                f"{way:16s} wall {statistics.median(a for a, _ in measured):6.3f} s  "
                f"processor {statistics.median(b for _, b in measured):6.2f} s  x{statistics.median(ratios):5.2f} "
                f"({min(ratios):.2f}-{max(ratios):.2f})"
            )


if __name__ == "__main__":
    main()
