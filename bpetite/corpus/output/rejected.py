"""The file of rejected records: a JSON line for each, gzip, beside the token files.

While a run goes on, the lines are in a file of their own that only grows, like tokens; they are compressed when all are
known, so the file does not depend on where a run was interrupted. Parts keep them as they are.
"""
from __future__ import annotations

import gzip
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any, BinaryIO

from ..layouts.layout import Layout, OpenShard
from ..layouts.spool import Spool
from .naming import REJECTED_SUFFIX

__all__ = ["Lines", "list_rejected", "rejected_layout"]

#: Bytes of lines that are copied at a time.
AT_ONCE = 1 << 20


class Lines(Layout):
    """Lines of bytes, which `ShardWriter` takes for tokens of one byte."""

    name = "lines"
    suffix = REJECTED_SUFFIX
    spool_suffix = ".jsonl"
    exact = True
    spooled = True

    def index(self, shard: OpenShard, path: Path, file: BinaryIO) -> None:
        # no name and no time in the gzip header: equal lines are equal files
        with shard.tokens_path.open("rb") as lines, gzip.GzipFile("", "wb", 6, file, mtime=0) as packed:
            shutil.copyfileobj(lines, packed, AT_ONCE)


def rejected_layout(tokens: Layout) -> Layout:
    """The layout of the file beside token files of a layout."""
    return Spool(Lines()) if isinstance(tokens, Spool) else Lines()


def list_rejected(shards: Iterable[dict[str, Any]], problems: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """The manifest's entry of the file."""
    (shard,) = shards
    (output,) = shard["outputs"]
    records = sum(problem["count"] for problem in problems.values())
    return {"name": output["name"], "bytes": output["bytes"], "checksum": output["checksum"], "records": records}
