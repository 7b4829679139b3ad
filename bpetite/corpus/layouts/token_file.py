"""A token file as its readers see it: spans of tokens, with the lengths of documents where the layout has them."""
from __future__ import annotations

import io
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import FormatError
from ..read.stores import AnyPath, read_numbers
from .layout import LENGTHS, group_by_tokens

#: Tokens read at a time.
CHUNK = 1 << 20

NPY_HEADER = 128  # bytes: NumPy leaves room for any shape


@dataclass(eq=False)
class TokenFile:
    """One file (or pair of files) of tokens."""

    path: AnyPath
    format: str
    dtype: np.dtype[Any]
    header: int  # bytes before the tokens
    tokens: int  # their number
    documents: int | None = None  # their number, where the layout says it

    def read(self, start: int, count: int) -> npt.NDArray[Any]:
        """Tokens from ``start`` on, fewer than ``count`` only at the end."""
        count = max(0, min(count, self.tokens - start))
        tokens = read_numbers(self.path, self.dtype, count, offset=self.header + start * self.dtype.itemsize)
        if len(tokens) != count:
            raise FormatError(f"{self.path}: ends after {start + len(tokens)} tokens, not {self.tokens}")
        return tokens

    def spans(self) -> Iterator[tuple[npt.NDArray[Any], npt.NDArray[np.int64] | None]]:
        """(consecutive tokens, the lengths of their documents) of the whole file: documents of up to `CHUNK` tokens
        together, longer ones alone. Where the layout keeps no lengths, None, and documents may cross the edges."""
        start = 0
        if self.documents is None:
            yield from ((self.read(at, CHUNK), None) for at in range(0, self.tokens, CHUNK))
            return
        for lengths in self.lengths():
            done = 0
            for documents, tokens, _ in group_by_tokens(lengths, 0, 0, CHUNK):
                yield self.read(start, tokens), lengths[done : done + documents]
                start, done = start + tokens, done + documents

    def lengths(self) -> Iterator[npt.NDArray[np.int64]]:
        """The lengths of the documents, some at a time; only where ``documents`` is known."""
        raise NotImplementedError


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
    if file.tell() != NPY_HEADER:
        raise OSError(f"NumPy wrote a header of {file.tell()} bytes, not {NPY_HEADER}")
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


def count_tokens(path: AnyPath, header: int, dtype: np.dtype[Any]) -> int:
    size = path.stat().st_size - header
    if size < 0 or size % dtype.itemsize:
        raise FormatError(f"{path}: {size + header} bytes are not a whole number of {dtype.name} tokens")
    return size // dtype.itemsize


def document_chunks(
    files: Iterable[TokenFile], eot: str, eot_id: int | None
) -> Iterator[tuple[npt.NDArray[Any], bool]]:
    """The documents of token files without their end-of-text tokens, as (tokens, whether a document ends after them).
    Where a layout keeps no document lengths, the end-of-text token separates documents; without one (``eot="none"``)
    all tokens are one document."""
    open_document = False
    for file in files:
        for tokens, lengths in file.spans():
            if lengths is not None:
                yield from _by_lengths(tokens, lengths, eot)
            elif eot == "none" or eot_id is None:
                open_document = True
                yield tokens, False
            else:
                at = 0
                for end in np.flatnonzero(tokens == eot_id).tolist():
                    if eot == "append" or open_document or end > at:  # a shard may begin inside a document
                        yield tokens[at:end], True
                    open_document = eot == "prepend"
                    at = end + 1
                if at < len(tokens):
                    open_document = True
                    yield tokens[at:], False
    if open_document:
        yield np.empty(0, np.uint32), True


def _by_lengths(
    tokens: npt.NDArray[Any], lengths: npt.NDArray[np.int64], eot: str
) -> Iterator[tuple[npt.NDArray[Any], bool]]:
    start = 0
    for length in lengths.tolist():
        document = tokens[start : start + length]
        start += length
        if eot == "append":
            document = document[:-1]
        elif eot == "prepend":
            document = document[1:]
        for at in range(0, max(1, len(document)), CHUNK):
            yield document[at : at + CHUNK], at + CHUNK >= len(document)
