"""NumPy: tokens and int64 offsets of documents, memory-mappable."""
from __future__ import annotations

import io
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from ...errors import FormatError
from ..read.paths import AnyPath, read_numbers
from .layout import LENGTHS, Layout, OpenShard
from .token_file import TokenFile, count_tokens

HEADER = 128  # bytes: NumPy leaves room for any shape


class Npy(Layout):
    name = "npy"
    suffix = ".npy"
    others: tuple[str, ...] = (".offsets.npy",)
    header = HEADER
    lengths = True

    def head(self, shard: OpenShard) -> bytes:
        return npy_header(shard.dtype, shard.tokens)

    def index(self, shard: OpenShard, path: Path, file: BinaryIO) -> None:
        file.write(npy_header(np.dtype("<i8"), shard.documents + 1) + bytes(8))
        for ends in shard.ends():
            file.write(ends.astype("<i8").tobytes())

    def lengths_in(self, paths: Sequence[AnyPath]) -> Iterator[npt.NDArray[np.int64]]:
        return NpyFile(paths[0]).lengths()


class NpyFile(TokenFile):
    """Tokens, and their offsets where that file is there."""

    def __init__(self, path: AnyPath) -> None:
        dtype, count, header = _npy_head(path)
        super().__init__(path, "npy", dtype, header, count)
        self.offsets: AnyPath = path.with_name(path.name.removesuffix(".npy") + ".offsets.npy")
        if self.offsets.exists():
            self._offsets_dtype, ends, self._offsets_header = _npy_head(self.offsets)
            if not ends or read_numbers(self.offsets, self._offsets_dtype, 1, offset=self._offsets_header)[0]:
                raise FormatError(f"{self.offsets}: does not begin with offset 0")
            self.documents: int | None = ends - 1

    def lengths(self) -> Iterator[npt.NDArray[np.int64]]:
        last = documents = 0
        with self.offsets.open("rb") as file:
            file.seek(self._offsets_header + self._offsets_dtype.itemsize)
            while len(ends := read_numbers(file, self._offsets_dtype, LENGTHS).astype(np.int64)):
                lengths = np.diff(ends, prepend=last)
                wrong = (lengths < 0) | (ends > self.tokens)
                if wrong.any():
                    raise FormatError(f"{self.offsets}: document {documents + int(wrong.argmax())} ends at token "
                                      f"{ends[wrong][0]}, before the one before it or after the end of tokens")
                documents += len(lengths)
                last = int(ends[-1])
                yield lengths
        if last != self.tokens:
            raise FormatError(f"{self.offsets}: {documents} documents end at token {last}, {self.path.name} has "
                              f"{self.tokens}")


def npy_header(dtype: np.dtype[Any], *shape: int) -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        file, {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
    )
    if file.tell() != HEADER:
        raise OSError(f"NumPy wrote a header of {file.tell()} bytes, not {HEADER}")
    return file.getvalue()


def _npy_head(path: AnyPath) -> tuple[np.dtype[Any], int, int]:
    readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    with path.open("rb") as file:
        try:
            shape, by_columns, dtype = readers[np.lib.format.read_magic(file)](file)
        except Exception as wrong:  # of many kinds, for damaged headers
            raise FormatError(f"{path}: not a NumPy file, or one that is cut short ({wrong})") from None
        header = file.tell()
    if by_columns or dtype.kind not in "ui" or len(shape) not in (1, 2):
        raise FormatError(f"{path}: an array of {dtype} and shape {shape}, not rows of integers")
    count = math.prod(shape)
    if count_tokens(path, header, dtype) != count:
        raise FormatError(f"{path}: the header says {count} elements, the size {count_tokens(path, header, dtype)}")
    return dtype, count, header
