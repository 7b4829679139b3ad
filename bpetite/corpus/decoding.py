"""Token files back to documents, in bounded memory."""
from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from .layouts.token_file import CHUNK, TokenFile

__all__ = ["document_chunks"]


def document_chunks(
    files: Iterable[TokenFile], eot: str, eot_id: int | None
) -> Iterator[tuple[npt.NDArray[Any], bool]]:
    """The documents of token files without their end-of-text tokens, as (tokens, whether a document ends after them).

    Where a layout keeps no document lengths, the end-of-text token separates documents; without one (``eot="none"``)
    all tokens are one document.
    """
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
                    if eot == "append" or open_document:
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
