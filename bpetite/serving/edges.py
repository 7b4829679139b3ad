"""Edges of a text, the ends of its tokens between two characters, at which it may be cut.

As a rule the bytes of the tokens are the text in UTF-8, so the sizes of the tokens give their ends. The ends in a text
that is rewritten before it is encoded are traced through the rewriting.
"""
from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..core._tokenizer_base import TokenizerBase
    from ..engine.options import SpecialSelection

__all__ = ["Edges"]


class Edges:
    """The edges of a text. Offsets are in bytes of its UTF-8, or in characters where it is traced.

    Args:
        tokenizer: The tokenizer.
        text: The text.
        limit: Little is read behind the first ``limit`` tokens; the whole text when None.
        allowed_special: As for :meth:`bpetite.Tokenizer.encode`, and so are ``disallowed_special`` and what is raised.

    Attributes:
        data: The part of the text that has been read: in UTF-8, or the str where it is traced.
        total: Its number of tokens.
    """

    def __init__(
        self, tokenizer: TokenizerBase, text: str, limit: int | None, allowed_special: SpecialSelection,
        disallowed_special: SpecialSelection,
    ) -> None:  # fmt: skip
        most = 4 * len(text) if limit is None else limit
        ends, utf8 = tokenizer._token_ends(text, most, allowed_special, disallowed_special)
        self.tokenizer: TokenizerBase = tokenizer
        self.allowed_special: SpecialSelection = allowed_special
        self.total: int = len(ends)
        self.data: bytes | str = utf8
        self._ends: Sequence[int] = ends
        self._traced: set[int] | None = None
        specials = tokenizer.special_tokens  # of those that share an id, only one has its literal for bytes
        rewritten = tokenizer.scanner == "pipeline" or (tokenizer.normalization is not None and not text.isascii())
        characters = tokenizer._vocab.alphabet is not None  # a token may stand for others, or for a space put before it
        if rewritten or characters or len({*specials.values()}) < len(specials):
            ids = tokenizer.encode(text, allowed_special=allowed_special)
            if characters or tokenizer.decode_bytes(ids) != text.encode():
                self._trace(text, ids)

    def part(self, start: int, end: int | None = None) -> str:
        """A part of the text."""
        data = self.data[start:end]
        return data if isinstance(data, str) else data.decode("utf-8")

    def width(self, part: str) -> int:
        """The length of a part of the text."""
        return len(part) if isinstance(self.data, str) else len(part.encode("utf-8"))

    def count(self, start: int, end: int | None = None) -> int:
        """The number of tokens of a part of the text by itself."""
        return self.tokenizer.count(self.data[start:end], allowed_special=self.allowed_special)

    def tokens(self, at: int) -> int:
        """The number of tokens that end at an offset or before it."""
        return bisect_right(self._ends, at)

    def edge(self, token: int, step: int = -1) -> int:
        """The last edge after at most `token` tokens, or with step=1 the first one after at least so many."""
        while 0 < token < self.total and not self._is_edge(token):
            token += step
        return len(self.data) if token >= self.total else self._ends[token - 1] if token > 0 else 0

    def character(self, at: int) -> int:
        """The first place between two characters at an offset or behind it."""
        data = self.data
        while isinstance(data, bytes) and at < len(data) and data[at] & 0xC0 == 0x80:
            at += 1
        return at

    def last(self, start: int, floor: int, most: int) -> tuple[int, int] | None:
        """An edge behind an offset such that the text from `start` to the edge has at most `most` tokens by itself,
        nearly always the last such edge, found in bounded time; and the number of these tokens."""
        before, left, step = self.tokens(start), most, 1
        while left and (end := self.edge(before + left)) > floor:
            count = self.count(start, end)
            if count <= most:
                return end, count
            left = left - step if left > step else left // 2
            step *= 2
        return None

    def _is_edge(self, token: int) -> bool:
        at = self._ends[token - 1]
        if self._traced is None:
            return self.character(at) == at
        return at in self._traced and self._ends[token] > at

    def _trace(self, text: str, ids: list[int]) -> None:
        from ..engine.offsets import offsets_of

        spans = offsets_of(self.tokenizer, text, ids, self.allowed_special)
        # a composed mark belongs to its letter: tokens reach to the start of the next one
        starts = (start for start, _ in spans[1:])
        covered = accumulate((end for _, end in spans), max)
        self.data, self.total = text, len(ids)
        self._ends = [*accumulate((*starts, len(text)), max)]
        self._traced = {at for at, end in zip(self._ends, covered, strict=False) if at >= end}
