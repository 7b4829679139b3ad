"""Encoding on one node by Ray beside `--jobs 2`, start-up apart.

    python benchmarks/cluster.py [--megabytes 1000] [--rounds 7] [--folder F] [--format npy]

Ray is started and both are run once before the clock; runs alternate, and what they write is compared. The processor
time is that of the whole machine, because Ray's processes are not children of this one: nothing else should run.
"""
from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from test_corpus import EOT, documents, tokenizer

from bpetite.cluster import ray as bray
from bpetite.corpus import encode_corpus


def processor_seconds() -> float:
    """Of all processes since the machine started, by Linux."""
    return sum(map(int, Path("/proc/stat").read_text().split()[1:4])) / 100


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def main() -> None:
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--megabytes", type=int, default=1000)
    ask.add_argument("--rounds", type=int, default=7)
    ask.add_argument("--folder", help="where files go; a temporary folder by default")
    ask.add_argument("--format", default="npy")
    ask.add_argument("--shard-tokens", type=int)
    asked = ask.parse_args()
    options: dict[str, Any] = {"format": asked.format, "shard_tokens": asked.shard_tokens}
    with tempfile.TemporaryDirectory(dir=asked.folder) as name, bray.RayEngine(num_cpus=2) as engine:
        folder = Path(name)
        source = folder / "text.txt"
        text = (EOT.join(documents()) + EOT).encode()
        with source.open("wb") as file:
            for start in range(0, asked.megabytes * 1_000_000, len(text)):
                file.write(text[: asked.megabytes * 1_000_000 - start])

        def by_ray(out: Path, **more: Any) -> None:
            bray.encode_corpus(source, out, tokenizer(), engine=engine, **options, **more)

        ways: dict[str, Callable[[Path], Any]] = {
            "--jobs 2": lambda out: encode_corpus(source, out, tokenizer(), jobs=2, **options),
            "ray": by_ray,
            "ray, --no-join": lambda out: by_ray(out, join_tasks=False),
        }
        times: dict[str, list[tuple[float, float]]] = {way: [] for way in ways}
        for number in range(asked.rounds + 1):
            made = {}
            for way, run in ways.items():
                out = folder / "out"
                out.mkdir()
                began, used = time.perf_counter(), processor_seconds()
                run(out / "o")
                if number:
                    times[way].append((time.perf_counter() - began, processor_seconds() - used))
                elif "no-join" not in way:
                    made[way] = files_of(out)
                for path in out.iterdir():
                    path.unlink()
                out.rmdir()
            if not number and made["ray"] != made["--jobs 2"]:
                raise AssertionError("Ray and --jobs 2 write different files")
        for way, measured in times.items():
            ratios = [a[0] / b[0] for a, b in zip(measured, times["--jobs 2"], strict=True)]
            print(
                f"{way:16s} wall {statistics.median(a for a, _ in measured):6.3f} s  "
                f"processor {statistics.median(b for _, b in measured):6.2f} s  x{statistics.median(ratios):5.2f} "
                f"({min(ratios):.2f}-{max(ratios):.2f})"
            )


if __name__ == "__main__":
    main()
