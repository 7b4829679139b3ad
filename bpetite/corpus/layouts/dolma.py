"""dolma and OLMo-core: tokens without any header, in a file named .npy, and a table of documents."""
from __future__ import annotations

import csv
import gzip
import io
from pathlib import Path
from typing import BinaryIO

from .layout import Layout, OpenShard

__all__ = ["Dolma"]


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
            meta = shard.meta()
            for ends in shard.ends():
                for end in ends.tolist():
                    name, source, number = next(meta)
                    table.writerow([start, end, name or "", source, number + 1])  # lines count from 1
                    start = end
