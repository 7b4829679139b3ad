"""Windows of packed documents, read back with the boundaries of documents in them."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import FormatError
from .layouts.token_file import CHUNK, Span, TokenFile
from .sources.paths import AnyPath, read_numbers

__all__ = ["window_spans"]


def window_spans(
    file: TokenFile, size: int, cu_seqlens: AnyPath, windows: AnyPath, loss_mask: AnyPath | None = None
) -> Iterator[Span]:
    """The tokens of windows of ``size``, with the lengths of the documents, or parts of them, that they hold; of those
    with a mask, as they come to `MaskedWindows`.

    Raises:
        FormatError: The boundaries do not fit the tokens.
    """
    with cu_seqlens.open("rb") as boundaries, windows.open("rb") as starts:
        boundaries.seek(128)
        starts.seek(128)
        group = max(1, CHUNK // size)
        last = _numbers(starts.read(8), "<i8")
        for first in range(0, file.tokens // size, group):
            tokens = file.read(first * size, group * size)
            read = len(tokens) // size
            ends = _numbers(starts.read(8 * read), "<i8")
            count = int(ends[-1] - last[-1]) if len(ends) == read and len(last) else -1
            found = _numbers(boundaries.read(4 * max(0, count)), "<i4").astype(np.int64)
            last = ends
            lengths = np.diff(found)
            lengths = lengths[lengths > 0]  # the others are from the end of a window to the start of the next
            if len(found) != count or int(lengths.sum()) != len(tokens):
                raise FormatError(f"{cu_seqlens}: the boundaries of windows {first} to {first + read - 1} do not fit "
                                  "their tokens")
            if loss_mask is not None:
                labels = read_numbers(loss_mask, "u1", len(tokens), offset=128 + first * size).astype(np.uint32)
                tokens = tokens | labels << np.uint32(31)
            yield Span(tokens, lengths)


def _numbers(data: bytes, dtype: str) -> npt.NDArray[Any]:
    """The whole numbers that bytes hold."""
    size = np.dtype(dtype).itemsize
    return np.frombuffer(data[: len(data) // size * size], dtype)
