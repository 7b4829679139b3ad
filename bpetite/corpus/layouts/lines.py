"""The file of rejected records: a JSON line for each, gzip, beside the token files.

While a run goes on, the lines are in a file of their own that only grows, like tokens of one byte; they are compressed
when all are known, so the file does not depend on where a run was interrupted. Parts keep them as they are.
"""
from __future__ import annotations

import gzip
import shutil
from pathlib import Path
from typing import BinaryIO

from .layout import Layout, OpenShard

__all__ = ["Lines"]

#: Bytes of lines that are copied at a time.
AT_ONCE = 1 << 20


class Lines(Layout):
    """Lines of bytes, in gzip."""

    name = "lines"
    suffix = ".jsonl.gz"
    spool_suffix = ".jsonl"
    exact = True
    spooled = True
    dtypes: tuple[str, ...] = ("uint8",)

    def index(self, shard: OpenShard, path: Path, file: BinaryIO) -> None:
        # no name and no time in the gzip header: equal lines are equal files
        with shard.tokens_path.open("rb") as lines, gzip.GzipFile("", "wb", 6, file, mtime=0) as packed:
            shutil.copyfileobj(lines, packed, AT_ONCE)
