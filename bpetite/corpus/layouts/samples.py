"""Layouts whose files begin with a table of samples, for loaders that fetch shards while they train: MDS and litdata.

Both are a number of samples (uint32), the offset of each and of the end (uint32[n + 1]), and the samples. An index of
all shards, ``index.json``, is how their readers find them, so an output is a folder. A document is a sample.
"""
from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, ClassVar

import numpy as np
import numpy.typing as npt

from .layout import LENGTHS, Layout, OpenShard

__all__ = ["Litdata", "Mds", "mds_config", "mds_heads", "mds_sizes"]

#: Bytes of a file; the offsets in its table are 32 bits.
MOST_BYTES = 2**32 - 1


class _Samples(Layout):
    """A table of samples and the samples."""

    lengths = True
    spooled = True
    numbered = True
    whole: ClassVar[str | None] = "index.json"
    shard_tokens: ClassVar[int | None] = 1 << 25  # 64 MiB of uint16, the size that MosaicML's writer makes
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
        """What stands between the table and the samples."""
        return b""

    def sizes(self, lengths: npt.NDArray[np.int64], dtype: np.dtype[Any]) -> npt.NDArray[np.int64]:
        """The bytes of samples of documents of these lengths."""
        raise NotImplementedError

    def write_samples(self, shard: OpenShard, tokens: BinaryIO, file: BinaryIO) -> None:
        """Write the samples of a shard, whose tokens are read from ``tokens``."""
        raise NotImplementedError


class Mds(_Samples):
    """MDS, of mosaicml-streaming and LLM Foundry: a column ``tokens``, an array a document."""

    name = "mds"
    suffix = ".mds"
    dtypes: ClassVar[tuple[str, ...]] = ("uint16", "uint32", "int32")  # int32 is what LLM Foundry's scripts write

    def config(self, dtype: np.dtype[Any]) -> bytes:
        return json.dumps(mds_config(dtype.name), sort_keys=True).encode()

    def sizes(self, lengths: npt.NDArray[np.int64], dtype: np.dtype[Any]) -> npt.NDArray[np.int64]:
        return mds_sizes(lengths, dtype.itemsize)

    def write_samples(self, shard: OpenShard, tokens: BinaryIO, file: BinaryIO) -> None:
        itemsize = shard.dtype.itemsize
        for lengths in shard.lengths():
            for size, head in zip((lengths * itemsize).tolist(), mds_heads(lengths, itemsize), strict=True):
                file.write(head)
                file.write(tokens.read(size))

    def describe_all(self, manifest: dict[str, Any]) -> bytes:
        shards = [
            {
                **mds_config(manifest["dtype"]),
                "raw_data": {"basename": file["name"], "bytes": file["bytes"], "hashes": {}},
                "samples": file["documents"],
                "zip_data": None,
            }
            for file in manifest["files"]
            if file["documents"]
        ]
        return json.dumps({"shards": shards, "version": 2}, sort_keys=True).encode()


def mds_config(dtype: str) -> dict[str, Any]:
    """What a shard, and the index of each, say about its samples."""
    return {
        "column_encodings": [f"ndarray:{dtype}"],
        "column_names": ["tokens"],
        "column_sizes": [None],
        "compression": None,
        "format": "mds",
        "hashes": [],
        "size_limit": None,
        "version": 2,
    }


def mds_sizes(lengths: npt.NDArray[np.int64], itemsize: int) -> npt.NDArray[np.int64]:
    """The bytes of samples: the size of the array, its number of dimensions and their type, its length, its values."""
    return 4 + 1 + np.choose(_length_code(lengths), [1, 2, 4]) + lengths * itemsize


def mds_heads(lengths: npt.NDArray[np.int64], itemsize: int) -> Iterator[bytes]:
    """What comes before the values of samples."""
    packed = [struct.Struct("<IBB"), struct.Struct("<IBH"), struct.Struct("<IBI")]
    sizes = mds_sizes(lengths, itemsize) - 4
    for length, size, code in zip(lengths.tolist(), sizes.tolist(), _length_code(lengths).tolist(), strict=True):
        yield packed[code].pack(size, 1 << 2 | code, length)


def _length_code(lengths: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The type of a length: 0 for uint8, 1 for uint16, 2 for uint32."""
    return (lengths >= 1 << 8).astype(np.int64) + (lengths >= 1 << 16)


class Litdata(_Samples):
    """litdata's chunks for its ``TokensLoader``: the tokens of a chunk in a row, which the loader cuts into blocks."""

    name = "litdata"
    suffix = ".bin"
    dtypes: ClassVar[tuple[str, ...]] = ("uint16", "int32")
    #: Numbers of types in litdata's table, as its writer has them.
    codes: ClassVar[dict[str, int]] = {"uint16": 20, "int32": 16}

    def sizes(self, lengths: npt.NDArray[np.int64], dtype: np.dtype[Any]) -> npt.NDArray[np.int64]:
        return lengths * dtype.itemsize

    def write_samples(self, shard: OpenShard, tokens: BinaryIO, file: BinaryIO) -> None:
        while data := tokens.read(8 * LENGTHS):
            file.write(data)

    def describe_all(self, manifest: dict[str, Any]) -> bytes:
        limit = manifest["options"]["shard_tokens"]
        chunks = [
            {
                "chunk_bytes": file["bytes"],
                "chunk_size": file["documents"],
                "dim": file["tokens"],
                "filename": file["name"],
            }
            for file in manifest["files"]
            if file["documents"]
        ]
        config = {
            "chunk_bytes": None if limit is None else limit * np.dtype(manifest["dtype"]).itemsize,
            "chunk_size": None,
            "compression": None,
            "compression_batch_size": None,
            "compression_level": None,
            "data_format": [f"no_header_tensor:{self.codes[manifest['dtype']]}"],
            "data_spec": '[1, {"type": null, "context": null, "children_spec": []}]',  # one tensor
            "encryption": None,
            "ipc_compression": None,
            "item_loader": "TokensLoader",
            "types": "tensor",
        }
        # litdata's copy of an output that was fetched is replaced when this differs; a time would differ every time
        return json.dumps({"chunks": chunks, "config": config, "updated_at": manifest["run"]}, sort_keys=True).encode()
