"""A token file as what reads it sees it: spans of tokens, with the lengths of documents where the layout has them."""
from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import FormatError
from ..output.checksums import FileCheck
from ..sources.paths import AnyPath, read_numbers
from .layouts import LENGTHS

__all__ = ["CHUNK", "SampleFile", "Span", "TokenFile", "count_tokens"]

#: Tokens read at a time.
CHUNK = 1 << 20


@dataclass
class Span:
    """Consecutive tokens of a file.

    ``lengths`` are those of the whole documents that make up the span, or None where the layout does not keep them;
    then documents may cross spans. ``ids`` are the ids of records, ``origins`` their (file, number in it), where kept.
    """

    tokens: npt.NDArray[Any]
    lengths: npt.NDArray[np.int64] | None = None
    ids: list[str | None] | None = None
    origins: list[tuple[str, int]] | None = None


class TokenFile:
    """One file (or pair of files) of tokens.

    Attributes:
        path, format, dtype: What it is.
        tokens: Their number.
        documents: Their number, or None where the layout does not say.
        header: Bytes before the tokens.
        check: Compares the bytes of tokens that are read with their checksums; not of a `SampleFile`, which is not read
            from start to end.
    """

    def __init__(self, path: AnyPath, format: str, dtype: np.dtype[Any], header: int, tokens: int) -> None:
        self.path = path
        self.format = format
        self.dtype = dtype
        self.tokens = tokens
        self.documents: int | None = None
        self.header = header
        self.check: FileCheck | None = None

    def read(self, start: int, count: int) -> npt.NDArray[Any]:
        """Tokens from ``start`` on, fewer than ``count`` only at the end."""
        count = max(0, min(count, self.tokens - start))
        tokens = read_numbers(self.path, self.dtype, count, offset=self.header + start * self.dtype.itemsize)
        if len(tokens) != count:
            raise FormatError(f"{self.path}: ends after {start + len(tokens)} tokens, not {self.tokens}")
        if self.check is not None:
            self.check.take(self.header + start * self.dtype.itemsize, tokens)
        return tokens

    def spans(self) -> Iterator[Span]:
        """The whole file: documents of up to `CHUNK` tokens together, longer ones alone; or chunks."""
        return self.extent(0, self.tokens if self.documents is None else self.documents)

    def lengths(self) -> Iterator[npt.NDArray[np.int64]]:
        """The length of each document in tokens, some at a time; only where ``documents`` is known."""
        raise NotImplementedError

    def extent(self, first: int, count: int) -> Iterator[Span]:
        """``count`` documents from number ``first`` on; where the layout keeps no documents, ``count`` tokens."""
        if self.documents is None:
            for start in range(first, first + count, CHUNK):
                yield Span(self.read(start, min(CHUNK, first + count - start)))
            return
        start = 0
        meta = self._meta()
        whole = first == 0 and count == self.documents  # then what comes after the last document is checked, too
        for lengths in self.lengths():
            passed = min(first, len(lengths))
            if passed:
                start += int(lengths[:passed].sum())
                if meta is not None:
                    deque(islice(meta, passed), 0)
            lengths = lengths[passed : passed + count]
            first, count = first - passed, count - len(lengths)
            ends = np.cumsum(lengths)
            done = before = 0
            while done < len(lengths):
                upto = max(done + 1, int(np.searchsorted(ends, before + CHUNK, side="right")))
                stop = int(ends[upto - 1])
                ids = origins = None
                if meta is not None:
                    rows = [next(meta) for _ in range(upto - done)]
                    ids, origins = [row[0] for row in rows], [(row[1], row[2]) for row in rows]
                yield Span(self.read(start + before, stop - before), lengths[done:upto], ids, origins)
                done, before = upto, stop
            start += before
            if not count and not whole:
                return

    def _meta(self) -> Iterator[tuple[str | None, str, int]] | None:
        return None

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


class SampleFile(TokenFile):
    """A file whose tokens do not lie in a row: `extent` is how they are read."""

    def read(self, start: int, count: int) -> npt.NDArray[Any]:
        parts = [np.empty(0, self.dtype)]
        for span in self.spans():
            if start < len(span.tokens):
                parts.append(span.tokens[start : start + count])
                count -= len(parts[-1])
            start = max(0, start - len(span.tokens))
            if count <= 0:
                break
        return np.concatenate(parts)

    def lengths(self) -> Iterator[npt.NDArray[np.int64]]:
        for span in self.spans():
            assert span.lengths is not None
            yield span.lengths


def count_tokens(path: AnyPath, header: int, dtype: np.dtype[Any]) -> int:
    """The number of tokens in a file, by its size."""
    size = path.stat().st_size - header
    if size < 0 or size % dtype.itemsize:
        raise FormatError(f"{path}: {size + header} bytes are not a whole number of {dtype.name} tokens")
    return size // dtype.itemsize
