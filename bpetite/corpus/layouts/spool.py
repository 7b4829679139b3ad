"""Layouts that no trainer reads: the spool of a part, and the lines of rejected records beside the token files.

A spool is tokens, lengths and ids as they grew, in the type of the final files and without a header. It is what
`run.assembly` copies byte ranges from, whatever the layout of the final files.
"""
from __future__ import annotations

import gzip
import shutil
from pathlib import Path
from typing import BinaryIO

from .layout import Layout, OpenShard

__all__ = ["Lines", "Spool"]


class Spool(Layout):
    """The spool of a part whose final files have the layout ``final``: the growing files themselves are kept."""

    reader: str | None = "bpetite merge, which makes the final files"

    def __init__(self, final: Layout) -> None:
        self.final = final
        self.name: str = final.name
        self.suffix: str = final.spool_suffix
        self.dtypes: tuple[str, ...] = final.dtypes
        self.exact: bool = final.exact
        self.lengths: bool = final.lengths
        self.meta: bool = final.meta
        self.longest: int = final.longest
        self.others: tuple[str, ...] = (".lengths",) * final.lengths + (".meta",) * final.meta


class Lines(Layout):
    """The file of rejected records: a JSON line for each, in gzip.

    While a run goes on, the lines are in a file of their own that only grows, like tokens of one byte; they are
    compressed when all are known, so the file does not depend on where a run was interrupted. Parts keep them as they
    are.
    """

    name = "lines"
    suffix = ".jsonl.gz"
    spool_suffix = ".jsonl"
    exact = True
    spooled = True
    dtypes: tuple[str, ...] = ("uint8",)

    def index(self, shard: OpenShard, path: Path, file: BinaryIO) -> None:
        # no name and no time in the gzip header: equal lines are equal files
        with shard.tokens_path.open("rb") as lines, gzip.GzipFile("", "wb", 6, file, mtime=0) as packed:
            shutil.copyfileobj(lines, packed)
