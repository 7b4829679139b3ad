"""llm.c and modded-nanogpt: a header of 256 int32, then tokens."""
from __future__ import annotations

import struct
from typing import ClassVar

import numpy as np

from ...errors import FormatError
from ..read.paths import AnyPath
from .layout import Layout, OpenShard
from .token_file import TokenFile, count_tokens


class LlmC(Layout):
    name = "llmc"
    suffix = ".bin"
    header = 1024
    eot = "prepend"
    fills_shards = True
    numbered = True
    joins = False
    shard_tokens: int | None = 10**8  # as its own scripts have it
    most_tokens = 2**31 - 1
    codes: ClassVar[dict[str, tuple[int, int]]] = {"uint16": (20240520, 1), "uint32": (20240801, 7)}

    def least_tail(self, shard_tokens: int) -> int:
        # Training stops at a shard smaller than one step of all its processes, usually half a million tokens.
        return max(1, min(shard_tokens // 10, 1 << 20))

    def head(self, shard: OpenShard) -> bytes:
        magic, version = self.codes[shard.dtype.name]
        return struct.pack("<3i", magic, version, shard.tokens) + bytes(self.header - 12)


def open_llmc(path: AnyPath) -> TokenFile:
    with path.open("rb") as file:
        head = file.read(12)
    codes = {code: name for name, code in LlmC.codes.items()}
    magic, version, count = struct.unpack("<3i", head) if len(head) == 12 else (0, 0, 0)
    if (magic, version) not in codes:
        raise FormatError(f"{path}: begins with {magic}, {version}; an llm.c file begins with one of {[*codes]}")
    dtype = np.dtype(codes[magic, version])
    if count_tokens(path, LlmC.header, dtype) != count:
        raise FormatError(f"{path}: the header says {count} tokens, the size {count_tokens(path, LlmC.header, dtype)}")
    return TokenFile(path, "llmc", dtype, LlmC.header, count)
