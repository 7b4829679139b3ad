"""Layouts whose files begin with a table of samples, for loaders that fetch shards while they train: MDS and litdata.

Both are a number of samples (uint32), the offset of each and of the end (uint32[n + 1]), and the samples. An index of
all shards, ``index.json``, is how their readers find them, so an output is a folder. A document is a sample.
"""
from __future__ import annotations

import struct
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from .layout import Layout, OpenShard

__all__ = ["Samples"]

#: Bytes of a file; the offsets in its table are 32 bits.
MOST_BYTES = 2**32 - 1


class Samples(Layout):
    """A table of samples and the samples."""

    lengths = True
    spooled = True
    numbered = True
    whole: str | None = "index.json"
    shard_tokens: int | None = 1 << 25  # 64 MiB of uint16, the size that MosaicML's writer makes
    most_tokens = 2**28  # in samples of one token, with all that goes with each
    longest = 2**30 - 64

    def index(self, shard: OpenShard, path: Path, file: BinaryIO) -> None:
        config = self.config(shard.dtype)
        start = 4 * (shard.documents + 2) + len(config)
        total = start + sum(int(self.sizes(lengths, shard.dtype).sum()) for lengths in shard.lengths())
        if total > MOST_BYTES:
            raise ValueError(f"{shard.base}: {shard.documents} documents of {shard.tokens} tokens are more than "
                             f"{MOST_BYTES} bytes, the most of a file of format={self.name!r}; give shard_tokens=")
        file.write(struct.pack("<2I", shard.documents, start))
        for lengths in shard.lengths():
            ends = start + np.cumsum(self.sizes(lengths, shard.dtype))
            file.write(ends.astype("<u4").tobytes())
            start = int(ends[-1])
        file.write(config)
        with shard.tokens_path.open("rb") as tokens:
            self.write_samples(shard, tokens, file)

    def config(self, dtype: np.dtype[Any]) -> bytes:
        """The bytes between the table and the samples."""
        return b""

    def sizes(self, lengths: npt.NDArray[np.int64], dtype: np.dtype[Any]) -> npt.NDArray[np.int64]:
        raise NotImplementedError

    def write_samples(self, shard: OpenShard, tokens: BinaryIO, file: BinaryIO) -> None:
        """Write the samples of a shard, whose tokens are read from ``tokens``."""
        raise NotImplementedError
