"""A token file as its readers see it: spans of tokens, with the lengths of documents where the layout has them."""
from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...errors import FormatError
from ..read.paths import AnyPath, read_numbers
from .layout import group_by_tokens

#: Tokens read at a time.
CHUNK = 1 << 20


class Span(NamedTuple):
    """Consecutive tokens of a file, with the lengths of its documents, all whole. None where the layout does not keep
    them; then documents may cross spans."""

    tokens: npt.NDArray[Any]
    lengths: npt.NDArray[np.int64] | None = None


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

    def spans(self) -> Iterator[Span]:
        """The whole file: documents of up to `CHUNK` tokens together, longer ones alone; or chunks."""
        start = 0
        if self.documents is None:
            yield from (Span(self.read(at, CHUNK)) for at in range(0, self.tokens, CHUNK))
            return
        for lengths in self.lengths():
            done = 0
            for documents, tokens, _ in group_by_tokens(lengths, 0, 0, CHUNK):
                yield Span(self.read(start, tokens), lengths[done : done + documents])
                start, done = start + tokens, done + documents

    def lengths(self) -> Iterator[npt.NDArray[np.int64]]:
        """The lengths of the documents, some at a time; only where ``documents`` is known."""
        raise NotImplementedError


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
        for span in file.spans():
            if span.lengths is not None:
                yield from _by_lengths(span.tokens, span.lengths, eot)
            elif eot == "none" or eot_id is None:
                open_document = True
                yield span.tokens, False
            else:
                at = 0
                for end in np.flatnonzero(span.tokens == eot_id).tolist():
                    if eot == "append" or open_document or end > at:  # a shard may begin inside a document
                        yield span.tokens[at:end], True
                    open_document = eot == "prepend"
                    at = end + 1
                if at < len(span.tokens):
                    open_document = True
                    yield span.tokens[at:], False
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
