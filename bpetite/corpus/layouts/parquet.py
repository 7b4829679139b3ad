"""Parquet: one row for each document, with the id of its record."""
from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import BinaryIO, ClassVar

import numpy as np
import numpy.typing as npt

from ...errors import MissingExtraError
from .layout import Layout, OpenShard


class Parquet(Layout):
    name = "parquet"
    suffix = ".parquet"
    reader: str | None = "pyarrow.parquet.read_table"
    lengths = True
    meta = True
    dtypes: tuple[str, ...] = ("uint32",)
    spooled = True
    keeps_whole = True
    joins = False
    eot = "none"
    row_group_tokens: ClassVar[int] = 4 << 20
    row_group_rows: ClassVar[int] = 1 << 16

    def require(self) -> None:
        try:
            import pyarrow  # noqa: F401 - only whether it is installed
        except ImportError:
            raise MissingExtraError("writing .parquet", "pyarrow", "corpus") from None

    def index(self, shard: OpenShard, path: Path, file: BinaryIO) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        schema = pa.schema([("id", pa.string()), ("input_ids", pa.list_(pa.uint32()))])
        meta = shard.meta()
        with shard.tokens_path.open("rb") as tokens, pq.ParquetWriter(file, schema) as writer:
            for lengths in self._groups(shard):
                ids = np.fromfile(tokens, "<u4", int(lengths.sum()))
                offsets = np.zeros(len(lengths) + 1, np.int32)
                np.cumsum(lengths, out=offsets[1:])
                rows = pa.ListArray.from_arrays(pa.array(offsets), pa.array(ids))
                names = pa.array([next(meta)[0] for _ in range(len(lengths))], pa.string())
                writer.write_table(pa.table([names, rows], schema=schema), row_group_size=len(lengths))

    def _groups(self, shard: OpenShard) -> Iterator[npt.NDArray[np.int64]]:
        group: list[int] = []
        tokens = 0
        for length in chain.from_iterable(lengths.tolist() for lengths in shard.lengths()):
            if group and (tokens + length > self.row_group_tokens or len(group) == self.row_group_rows):
                yield np.array(group, np.int64)
                group, tokens = [], 0
            group.append(length)
            tokens += length
        if group:
            yield np.array(group, np.int64)
