"""Reading alone: JSON lines beside orjson, gzip and Zstandard beside their libraries; the peak of memory of encoding.

    python -m benchmarks.reading                    ratios; a minute
    python -m benchmarks.reading --peak 4           also the peak of 4 GB of text, and of 100,000 files of 1 KB
"""
from __future__ import annotations

import argparse
import bz2
import gzip
import lzma
import random
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import orjson
import zstandard

from bpetite.corpus import find_sources
from bpetite.corpus.reading.blocks import Reading
from bpetite.corpus.reading.readers import read_blocks
from bpetite.corpus.reading.records import documents_of
from bpetite.corpus.sources.streams import Stream

from . import corpus
from .rounds import interleaved, print_ratios, timed

#: Bytes of text in the files, and bytes that are read at a time.
SIZE = 64_000_000
BLOCK = 4 << 20


def chunks(file: Any) -> int:
    """The bytes that a file of a library gives, block by block."""
    return sum(map(len, iter(lambda: file.read(BLOCK), b"")))


def by_library(path: Path) -> int:
    """The decompressed bytes of a file, by the library for it."""
    if path.suffix == ".zst":
        with path.open("rb") as file, zstandard.ZstdDecompressor().stream_reader(file) as stream:
            return chunks(stream)
    with {".gz": gzip, ".bz2": bz2, ".xz": lzma}[path.suffix].open(path) as file:
        return chunks(file)


def by_stream(path: Path) -> int:
    """The same, by bpetite."""
    with Stream(find_sources([path]).pieces[0]) as stream:
        return chunks(stream)


def texts_of(lines: Iterable[bytes]) -> Iterator[bytes]:
    """The texts of JSON lines, by orjson."""
    return (orjson.loads(line)["text"].encode() for line in lines)


def documents(path: Path) -> Iterator[bytes]:
    """The documents of a file, as workers get them."""
    reading = Reading()
    for block in read_blocks(find_sources([path]).pieces, reading):
        yield from documents_of(block, reading, "fail").texts


def ratios(folder: Path, rounds: int) -> None:
    lines = corpus.json_file(folder, SIZE)
    print("# JSON lines to texts; the first two rows have the lines in memory, one by one")
    content = lines.read_bytes()
    data = content.splitlines()
    assert list(documents(lines)) == list(texts_of(data))

    def by_file() -> None:
        with lines.open("rb") as file:
            deque(texts_of(file), 0)

    compare({
        "orjson alone": lambda: deque(map(orjson.loads, data), 0),
        "orjson, text as UTF-8": lambda: deque(texts_of(data), 0),
        "the same, line by line": by_file,
        "bpetite": lambda: deque(documents(lines), 0),
    }, rounds)
    for name, pack in (("gz", gzip.compress), ("zst", zstandard.compress)):
        path = folder / f"lines.jsonl.{name}"
        path.write_bytes(pack(content))
        assert by_stream(path) == by_library(path) == len(content)
        print(f"# {path.name}: decompressing, {len(content) / 1e6:.0f} MB")
        compare({"library": lambda path=path: by_library(path), "bpetite": lambda path=path: by_stream(path)}, rounds)


def compare(calls: dict[str, Callable[[], Any]], rounds: int) -> None:
    print_ratios(interleaved({name: timed(call) for name, call in calls.items()}, rounds), next(iter(calls)))


def peaks(folder: Path, gigabytes: float) -> None:
    small = folder / "small"
    small.mkdir()
    words = corpus.documents(1_000_000)[0].split()
    for number in range(100_000):
        (small / f"{number:06d}.txt").write_text(" ".join(random.Random(number).choices(words, k=220))[:1024])
    large = corpus.text_file(folder, times=max(1, round(gigabytes * 1e9 / corpus.SIZE)))
    for name, source in (("100,000 files of 1 KB", small), (f"{large.stat().st_size / 1e9:.1f} GB of text", large)):
        for jobs in (1, 2):
            print(f"{name}, --jobs {jobs}: peak {corpus.command(source, folder / 'out', jobs)[2]:.0f} MB", flush=True)


def main() -> None:
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--rounds", type=int, default=9)
    ask.add_argument("--peak", type=float, metavar="GB", help="also the peak of memory for so much text")
    ask.add_argument("--folder", help="where files go; a temporary folder by default")
    asked = ask.parse_args()
    bytes(31 << 20)  # as the command does, see `bpetite.cli`: blocks of memory are reused
    with tempfile.TemporaryDirectory(dir=asked.folder) as name:
        ratios(Path(name), asked.rounds)
        if asked.peak:
            peaks(Path(name), asked.peak)


if __name__ == "__main__":
    main()
