"""MDS, of mosaicml-streaming and LLM Foundry: a column ``tokens``, an array a document."""
from __future__ import annotations

import json
import struct
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from .layout import OpenShard
from .samples import Samples

__all__ = ["Mds"]


class Mds(Samples):
    name = "mds"
    suffix = ".mds"
    reader: str | None = "streaming.StreamingDataset"
    dtypes: tuple[str, ...] = ("uint16", "uint32", "int32")  # int32 is what LLM Foundry's scripts write

    def config(self, dtype: np.dtype[Any]) -> bytes:
        return json.dumps(_config(dtype.name), sort_keys=True).encode()

    def sizes(self, lengths: npt.NDArray[np.int64], dtype: np.dtype[Any]) -> npt.NDArray[np.int64]:
        # the size of the array, its number of dimensions and their type, its length, its values
        return 4 + 1 + np.choose(_length_code(lengths), [1, 2, 4]) + lengths * dtype.itemsize

    def write_samples(self, shard: OpenShard, tokens: BinaryIO, file: BinaryIO) -> None:
        heads = [struct.Struct("<IBB"), struct.Struct("<IBH"), struct.Struct("<IBI")]
        for lengths in shard.lengths():
            sizes, codes = self.sizes(lengths, shard.dtype) - 4, _length_code(lengths)
            for length, size, code in np.stack([lengths, sizes, codes], axis=1).tolist():
                file.write(heads[code].pack(size, 1 << 2 | code, length))
                file.write(tokens.read(length * shard.dtype.itemsize))

    def describe_all(self, manifest: dict[str, Any]) -> bytes:
        shards = [
            {
                **_config(manifest["dtype"]),
                "raw_data": {"basename": file["name"], "bytes": file["bytes"], "hashes": {}},
                "samples": file["documents"],
                "zip_data": None,
            }
            for file in manifest["files"]
            if file["documents"]
        ]
        return json.dumps({"shards": shards, "version": 2}, sort_keys=True).encode()


def _config(dtype: str) -> dict[str, Any]:
    """The description of samples in a shard, and in the index of each."""
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


def _length_code(lengths: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The type of a length: 0 for uint8, 1 for uint16, 2 for uint32."""
    return (lengths >= 1 << 8).astype(np.int64) + (lengths >= 1 << 16)
