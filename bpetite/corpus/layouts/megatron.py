"""Megatron-LM and NeMo: tokens, and an index of sequences and documents."""
from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, ClassVar

import numpy as np
import numpy.typing as npt

from ...errors import FormatError
from ..sources.paths import AnyPath, read_numbers
from .layout import LENGTHS, Layout, OpenShard
from .token_file import TokenFile, count_tokens

__all__ = ["Megatron", "MegatronFile"]


class Megatron(Layout):
    """Megatron-LM and NeMo: tokens, and an index of sequences and documents."""

    name = "megatron"
    suffix = "_text_document.bin"
    lengths = True
    dtypes: tuple[str, ...] = ("uint16", "int32")
    longest = 2**31 - 1
    eot_of_empty = False  # as in its own script, where an empty document has no sequence either
    codes: ClassVar[dict[str, int]] = {"uint16": 8, "int32": 4}
    eot = "none"

    def auto(self, vocab_size: int) -> str:
        return "uint16" if vocab_size < 65500 else "int32"

    def outputs(self, base: Path) -> list[Path]:
        return [Path(f"{base}_text_document.bin"), Path(f"{base}_text_document.idx")]

    def index(self, shard: OpenShard, path: Path, file: BinaryIO) -> None:
        sequences = 0
        for lengths in shard.lengths():
            sequences += int(np.count_nonzero(lengths))
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


class MegatronFile(TokenFile):
    """Tokens and their index."""

    def __init__(self, path: AnyPath) -> None:
        base = path.name.removesuffix(".bin").removesuffix(".idx")
        self.index: AnyPath = path.with_name(base + ".idx")
        path = path.with_name(base + ".bin")
        size = self.index.stat().st_size
        with self.index.open("rb") as file:
            head = file.read(34)
        if len(head) < 34 or head[:9] != b"MMIDIDX\0\0":
            raise FormatError(f"{self.index}: not a Megatron index")
        version, code, sequences, ends = struct.unpack("<QBQQ", head[9:])
        self.sequences: int = sequences
        self.ends: int = ends
        kinds = {code: name for name, code in Megatron.codes.items()}
        if version != 1 or code not in kinds:
            raise FormatError(f"{self.index}: version {version}, dtype code {code}; expected 1 and one of {[*kinds]}")
        if size != 34 + 12 * self.sequences + 8 * self.ends:
            raise FormatError(f"{self.index}: {size} bytes, expected {34 + 12 * self.sequences + 8 * self.ends}")
        if not self.ends:
            raise FormatError(f"{self.index}: does not say where the first document begins")
        dtype = np.dtype(kinds[code])
        super().__init__(path, "megatron", dtype, 0, count_tokens(path, 0, dtype))
        self.documents: int | None = self.ends - 1

    def lengths(self) -> Iterator[npt.NDArray[np.int64]]:
        # a document is one or more sequences, so the tables are read side by side
        with self.index.open("rb") as sizes, self.index.open("rb") as pointers, self.index.open("rb") as documents:
            sizes.seek(34)
            pointers.seek(34 + 4 * self.sequences)
            documents.seek(34 + 12 * self.sequences)
            first = read_numbers(documents, "<i8", 1)[0]
            if first:
                raise FormatError(f"{self.index}: the first document begins at sequence {first}, not 0")
            document = start = first = 0
            while len(firsts := read_numbers(documents, "<i8", LENGTHS)):
                steps = np.diff(firsts, prepend=first)
                if int(steps.min()) < 0 or int(firsts[-1]) > self.sequences:
                    raise FormatError(f"{self.index}: documents {document} to {document + len(firsts) - 1} are not "
                                      f"consecutive ranges of the {self.sequences} sequences")
                count = int(firsts[-1]) - first
                lengths = read_numbers(sizes, "<i4", count).astype(np.int64)
                self._check(self.index, document, lengths, start)
                ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
                expected = (start + ends[:-1]) * self.dtype.itemsize
                if not np.array_equal(read_numbers(pointers, "<i8", count), expected):
                    raise FormatError(f"{self.index}: sequences {first} to {first + count - 1} are not in a row")
                yield np.diff(ends[firsts - first], prepend=0)
                document, start, first = document + len(firsts), start + int(ends[-1]), int(firsts[-1])
        if (start, first) != (self.tokens, self.sequences):
            raise FormatError(f"{self.index}: {document} documents end at token {start}, not {self.tokens}")
