"""A token file as its readers see it: spans of tokens, with the lengths of documents where the layout has them."""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import FormatError
from ..sources.paths import AnyPath, read_numbers
from .layout import LENGTHS

__all__ = ["CHUNK", "Span", "TokenFile", "count_tokens"]

#: Tokens read at a time.
CHUNK = 1 << 20


@dataclass
class Span:
    """Consecutive tokens of a file.

    ``lengths`` are those of the whole documents that make up the span, or None where the layout does not keep them;
    then documents may cross spans.
    """

    tokens: npt.NDArray[Any]
    lengths: npt.NDArray[np.int64] | None = None


class TokenFile:
    """One file (or pair of files) of tokens.

    Attributes:
        path, format, dtype: What it is.
        tokens: Their number.
        documents: Their number, or None where the layout does not say.
        header: Bytes before the tokens.
    """

    def __init__(self, path: AnyPath, format: str, dtype: np.dtype[Any], header: int, tokens: int) -> None:
        self.path = path
        self.format = format
        self.dtype = dtype
        self.tokens = tokens
        self.documents: int | None = None
        self.header = header

    def read(self, start: int, count: int) -> npt.NDArray[Any]:
        """Tokens from ``start`` on, fewer than ``count`` only at the end."""
        count = max(0, min(count, self.tokens - start))
        tokens = read_numbers(self.path, self.dtype, count, offset=self.header + start * self.dtype.itemsize)
        if len(tokens) != count:
            raise FormatError(f"{self.path}: ends after {start + len(tokens)} tokens, not {self.tokens}")
        return tokens

    def spans(self) -> Iterator[Span]:
        """The whole file: documents of up to `CHUNK` tokens together, longer ones alone; or chunks."""
        start = 0
        if self.documents is None:
            for start in range(0, self.tokens, CHUNK):
                yield Span(self.read(start, CHUNK))
            return
        for lengths in self.lengths():
            ends = np.cumsum(lengths)
            done = before = 0
            while done < len(lengths):
                upto = max(done + 1, int(np.searchsorted(ends, before + CHUNK, side="right")))
                stop = int(ends[upto - 1])
                yield Span(self.read(start + before, stop - before), lengths[done:upto])
                done, before = upto, stop
            start += before

    def lengths(self) -> Iterator[npt.NDArray[np.int64]]:
        """The length of each document in tokens, some at a time; only where ``documents`` is known."""
        raise NotImplementedError

    def _ends(self, path: AnyPath, dtype: np.dtype[Any], header: int) -> Iterator[npt.NDArray[np.int64]]:
        """Lengths from a file of cumulative ends."""
        last = documents = 0
        with path.open("rb") as file:
            file.seek(header)
            while len(ends := read_numbers(file, dtype, LENGTHS).astype(np.int64)):
                lengths = np.diff(ends, prepend=last)
                self._check(path, documents, lengths, last)
                documents += len(lengths)
                last = int(ends[-1])
                yield lengths
        if (last, documents) != (self.tokens, self.documents):
            raise FormatError(f"{path}: {documents} documents end at token {last}, {self.path.name} has {self.tokens}")

    def _check(self, path: AnyPath, document: int, lengths: npt.NDArray[np.int64], start: int) -> None:
        """Refuse lengths of documents, from number ``document`` on, that cannot be."""
        wrong = lengths < 0
        if wrong.any():
            raise FormatError(f"{path}: document {document + int(wrong.argmax())} ends before the document before it")
        # no sum of lengths that are all at most the number of tokens overflows
        if int(lengths.max(initial=0)) > self.tokens or start + int(lengths.sum()) > self.tokens:
            raise FormatError(f"{path}: documents {document} to {document + len(lengths) - 1} end after token "
                              f"{self.tokens}, the last of {self.path.name}")


def count_tokens(path: AnyPath, header: int, dtype: np.dtype[Any]) -> int:
    """The number of tokens in a file, by its size."""
    size = path.stat().st_size - header
    if size < 0 or size % dtype.itemsize:
        raise FormatError(f"{path}: {size + header} bytes are not a whole number of {dtype.name} tokens")
    return size // dtype.itemsize
