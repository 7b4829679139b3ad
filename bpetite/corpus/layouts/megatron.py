"""Megatron-LM and NeMo: tokens, and an index of sequences and documents."""
from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, ClassVar

import numpy as np
import numpy.typing as npt

from ...errors import FormatError
from ..read.paths import AnyPath, read_numbers
from .layout import LENGTHS, Layout, OpenShard


class Megatron(Layout):
    name = "megatron"
    suffix = "_text_document.bin"
    others: tuple[str, ...] = ("_text_document.idx",)
    reader: str | None = "megatron.core.datasets.indexed_dataset.IndexedDataset"
    lengths = True
    dtypes: tuple[str, ...] = ("uint16", "int32")
    longest = 2**31 - 1
    eot_of_empty = False  # as in its own script, where an empty document has no sequence either
    codes: ClassVar[dict[str, int]] = {"uint16": 8, "int32": 4}
    eot = "none"

    def auto(self, vocab_size: int) -> str:
        return "uint16" if vocab_size < 65500 else "int32"

    def index(self, shard: OpenShard, path: Path, file: BinaryIO) -> None:
        sequences = sum(int(np.count_nonzero(lengths)) for lengths in shard.lengths())
        file.write(b"MMIDIDX\0\0" + struct.pack("<QB", 1, self.codes[shard.dtype.name]))
        file.write(struct.pack("<QQ", sequences, shard.documents + 1))
        for lengths in shard.lengths():
            file.write(lengths[lengths > 0].astype("<i4").tobytes())
        start = 0
        for lengths in shard.lengths():
            lengths = lengths[lengths > 0] * shard.dtype.itemsize
            ends = np.cumsum(lengths) + start
            file.write((ends - lengths).astype("<i8").tobytes())
            start = int(ends[-1]) if len(ends) else start
        file.write(bytes(8))
        first = 0
        for lengths in shard.lengths():
            firsts = np.cumsum(lengths > 0) + first
            file.write(firsts.astype("<i8").tobytes())
            first = int(firsts[-1])

    def lengths_in(self, paths: Sequence[AnyPath]) -> Iterator[npt.NDArray[np.int64]]:
        head = 9 + struct.calcsize("<QBQQ")
        with paths[1].open("rb") as sizes, paths[1].open("rb") as firsts:
            magic = sizes.read(head)
            if len(magic) < head or magic[:9] != b"MMIDIDX\0\0":
                raise FormatError(f"{paths[1]}: not an index of Megatron's")
            sequences, documents = struct.unpack("<QQ", magic[18:])
            firsts.seek(head + 12 * sequences + 8)
            last, left = 0, documents - 1
            while left:
                ends = read_numbers(firsts, "<i8", min(LENGTHS, left))
                if not len(ends):
                    raise FormatError(f"{paths[1]}: ends before its last document")
                has_one = np.diff(ends, prepend=last) > 0
                lengths = np.zeros(len(ends), np.int64)
                lengths[has_one] = read_numbers(sizes, "<i4", int(has_one.sum()))
                last, left = int(ends[-1]), left - len(ends)
                yield lengths
