"""litdata's chunks for its ``TokensLoader``: the tokens of a chunk in a row, which the loader cuts into blocks."""
from __future__ import annotations

import json
from typing import Any, BinaryIO, ClassVar

import numpy as np
import numpy.typing as npt

from .layout import LENGTHS, OpenShard
from .samples import Samples

__all__ = ["Litdata"]


class Litdata(Samples):
    name = "litdata"
    suffix = ".bin"
    reader: str | None = "litdata.StreamingDataset with TokensLoader"
    dtypes: tuple[str, ...] = ("uint16", "int32")
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
