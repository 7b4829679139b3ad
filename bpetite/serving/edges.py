"""Where tokens of a text end between two of its characters: there it may be cut.

As a rule the bytes of the tokens are the text in UTF-8, so their sizes say where each one ends. Where a text is
rewritten before it is encoded they say nothing, and the offsets of the tokens are traced through what rewrites it.
"""
from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..core._tokenizer_base import TokenizerBase
    from ..engine.options import SpecialSelection

__all__ = ["START", "Edges", "Position"]


class Position(NamedTuple):
    """A place between two characters of a text.

    Attributes:
        token: How many tokens end at or before it.
        at: Its offset in bytes, or in characters where the text is traced.
    """

    token: int
    at: int


START = Position(0, 0)


class Edges:
    """The edges of a text. Offsets are those of ``data``.

    Args:
        tokenizer: What has encoded it.
        text: The text.
        ids: uint32[n]: its token ids, all of them or those at its beginning.
        data: The text in UTF-8, as far as they go or farther.
        allowed_special: The special tokens that were recognised.

    Attributes:
        data: The text in UTF-8; a str where it is traced.
    """

    def __init__(
        self,
        tokenizer: TokenizerBase,
        text: str,
        ids: NDArray[np.uint32],
        data: bytes,
        allowed_special: SpecialSelection,
    ) -> None:
        self.tokenizer, self.allowed_special = tokenizer, allowed_special
        self.data: bytes | str = data
        self._ends: Sequence[int] = tokenizer._token_ends(ids)
        self._traced: set[int] | None = None
        if not _spell(tokenizer, ids, data):
            self._trace(text)

    def part(self, start: int, end: int) -> str:
        """A part of the text."""
        data = self.data[start:end]
        return data if isinstance(data, str) else data.decode("utf-8")

    def width(self, part: str) -> int:
        """How long a part of the text is in ``data``."""
        return len(part) if isinstance(self.data, str) else len(part.encode("utf-8"))

    def count(self, start: int, end: int) -> int:
        """How many tokens a part of the text has by itself."""
        return self.tokenizer.count(self.data[start:end], allowed_special=self.allowed_special)

    def before(self, start: Position, token: int) -> Position:
        """The last edge behind `start` that at most `token` tokens end before; `start` where there is none."""
        if token >= len(self._ends):
            return Position(len(self._ends), len(self.data))
        while token > start.token:
            if self._is_edge(token):
                return Position(token, self._ends[token - 1])
            token -= 1
        return start

    def after(self, token: int) -> int:
        """The first edge that at least `token` tokens end before."""
        while 0 < token < len(self._ends) and not self._is_edge(token):
            token += 1
        return self._ends[token - 1] if token else 0

    def position(self, at: int) -> Position:
        """The position at any offset."""
        return Position(bisect_right(self._ends, at), at)

    def character(self, at: int) -> int:
        """The first place between two characters at an offset or behind it."""
        data = self.data
        while isinstance(data, bytes) and at < len(data) and data[at] & 0xC0 == 0x80:
            at += 1
        return at

    def _is_edge(self, token: int) -> bool:
        at = self._ends[token - 1]
        if self._traced is None:
            return self.character(at) == at
        return at in self._traced and self._ends[token] > at

    def _trace(self, text: str) -> None:
        from ..engine.offsets import offsets_of

        ids = self.tokenizer.encode(text, allowed_special=self.allowed_special)
        spans = offsets_of(self.tokenizer, text, ids, self.allowed_special)
        # a mark that was composed belongs to its letter: tokens reach to where another one starts
        starts = sorted({start for start, _ in spans})
        following = dict(zip(starts, [*starts[1:], len(text)], strict=False))
        self.data = text
        self._ends = array("q", accumulate((max(end, following[start]) for start, end in spans), max))
        self._traced = {end for end, (start, _) in zip(self._ends, spans[1:], strict=False) if start >= end}


def _spell(tokenizer: TokenizerBase, ids: NDArray[np.uint32], data: bytes) -> bool:
    """Whether the bytes of the tokens are the text."""
    if tokenizer.normalization is None and tokenizer.scanner != "pipeline":
        specials = tokenizer.special_tokens
        if len(specials) < 2 or len({*specials.values()}) == len(specials):
            return True  # of those that share an id, only one has its literal for bytes
    return data.startswith(tokenizer.decode_bytes(ids))
