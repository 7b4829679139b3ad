"""The file of rejected records: a JSON line for each, gzip, beside the token files.

While a run goes on, the lines are in a file of their own that only grows, like tokens (`shards.ShardWriter` writes
both); they are compressed when all are known, so the file does not depend on where a run was interrupted.
"""
from __future__ import annotations

import gzip
import shutil
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from ..layouts.layouts import Layout, OpenShard
from ..sources.paths import AnyPath, readable
from .checksums import check_file
from .naming import REJECTED, REJECTED_SUFFIX, Names
from .shards import ShardWriter

__all__ = ["Lines", "join_rejected", "list_rejected", "rejected_writer"]

#: Bytes of lines that are copied at a time.
AT_ONCE = 1 << 20


class Lines(Layout):
    """Lines of bytes, which `ShardWriter` takes for tokens of one byte."""

    name = "lines"
    suffix = REJECTED_SUFFIX
    exact = True
    spooled = True

    def index(self, shard: OpenShard, path: Path, file: BinaryIO) -> None:
        # no name and no time in the gzip header: equal lines are equal files
        with shard.tokens_path.open("rb") as lines, gzip.GzipFile("", "wb", 6, file, mtime=0) as packed:
            shutil.copyfileobj(lines, packed, AT_ONCE)


def rejected_writer(names: Names, **how: Any) -> ShardWriter:
    """The writer of an output's file of rejected records; `how` as for `ShardWriter`."""
    base = names.beside(REJECTED)
    return ShardWriter(lambda _: base, Lines(), "uint8", None, **how)


def list_rejected(shards: Iterable[dict[str, Any]], problems: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """What a manifest says of the file."""
    (shard,) = shards
    (output,) = shard["outputs"]
    records = sum(problem["count"] for problem in problems.values())
    return {"name": output["name"], "bytes": output["bytes"], "checksum": output["checksum"], "records": records}


def join_rejected(parts: Iterable[tuple[AnyPath, dict[str, Any]]], writer: ShardWriter) -> list[dict[str, Any]]:
    """The lines of all ranks, in order.

    Args:
        parts: (path, manifest) of each rank.
        writer: From `rejected_writer`; it is closed.

    Returns:
        The journal's record of the file, for `shards.settle`.

    Raises:
        FormatError: A file differs from its checksum.
    """
    try:
        for path, manifest in parts:
            listed = manifest["rejected"]
            check_file(path.parent / listed["name"], listed)
            with gzip.open(readable(path.parent / listed["name"])) as lines:
                for data in iter(partial(lines.read, AT_ONCE), b""):
                    writer.add(np.frombuffer(data, np.uint8))
        writer.finish()
    finally:
        writer.close()
    return writer.take_finished()
