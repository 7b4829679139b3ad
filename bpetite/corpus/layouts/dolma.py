"""dolma and OLMo-core: tokens without any header, in a file named .npy, and a table of documents."""
from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
import numpy.typing as npt

from ..read.paths import AnyPath
from .layout import LENGTHS, Layout, OpenShard


class Dolma(Layout):
    name = "dolma"
    suffix = ".npy"
    others: tuple[str, ...] = (".csv.gz",)
    reader: str | None = "numpy.memmap or OLMo-core"
    lengths = True
    meta = True

    def check_meta(self, name: str | None, source: str) -> None:
        # OLMo-core splits the table into lines before it looks for quotes
        for what, value, way_out in (("path", source, "rename it"), ("id", name or "", "id_key= names another key")):
            if "\n" in value or "\r" in value:
                raise ValueError(f"{source}: the {what} {value!a} has a line break, which a table of format='dolma' "
                                 f"cannot hold; {way_out}")

    def index(self, shard: OpenShard, path: Path, file: BinaryIO) -> None:
        # no name and no time in the gzip header: equal tables are equal files
        with (
            gzip.GzipFile("", "wb", 6, file, mtime=0) as packed,
            io.TextIOWrapper(packed, "utf-8", "surrogateescape", newline="") as text,  # file names can be any bytes
        ):
            table = csv.writer(text, lineterminator="\n")
            start = 0
            ends = chain.from_iterable(ends.tolist() for ends in shard.ends())
            for end, (name, source, number) in zip(ends, shard.meta()):
                table.writerow([start, end, name or "", source, number + 1])  # lines count from 1
                start = end

    def lengths_in(self, paths: Sequence[AnyPath]) -> Iterator[npt.NDArray[np.int64]]:
        lengths = (int(row[1]) - int(row[0]) for row in _rows(paths[1]))
        while some := list(islice(lengths, LENGTHS)):
            yield np.array(some, np.int64)

    def meta_in(self, paths: Sequence[AnyPath]) -> Iterator[list[Any]]:
        for _, _, name, source, number in _rows(paths[1]):
            yield [name or None, source, int(number) - 1]


def _rows(path: AnyPath) -> Iterator[list[str]]:
    with (
        path.open("rb") as file,
        gzip.GzipFile("", "rb", fileobj=cast(BinaryIO, file)) as unpacked,
        io.TextIOWrapper(unpacked, "utf-8", "surrogateescape", newline="") as text,
    ):
        yield from csv.reader(text)
