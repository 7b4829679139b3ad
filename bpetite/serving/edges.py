"""Where a text can be cut for good: its edges.

An edge is a place in a text such that the ids of the text are those of what is before it, and then those of what is
after it, encoded alone; and that stays an edge, with the same ids before it, whatever follows the text that had to be
read to know. Ends of pre-tokens are edges, because a pattern that compiles looks at nothing behind it; so are both
sides of a special token. In normalized text the character after the edge must be one that combines with nothing before
it, and the text before the edge one that normalization leaves as it is: so that places in it are places in the text.

Where `regex` or nothing splits, only special tokens have edges; where a pipeline does (:mod:`bpetite.engine.pipeline`),
there are none. What is built on edges is exact there too, and encodes more.
"""
from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from ..core._special import Specials, choose
from ..engine.streaming import OpenSpecials, starts_afresh
from ..errors import not_a_text
from ..steps.normalizers import normalize
from ._edges import read

if TYPE_CHECKING:
    from ..core._tokenizer_base import TokenizerBase
    from ..engine.options import SpecialSelection, Text

__all__ = ["BLOCK", "Edges", "Piece", "checked"]

#: Bytes that are read at a time: a piece is about as long.
BLOCK = 2048


class Piece(NamedTuple):
    """Text between two edges."""

    end: int  #: in bytes of what was read
    ids: array[int]  #: of uint32
    read: int  #: bytes that had to be read to know that its end is an edge


class Edges:
    """Finds the edges of texts, for one tokenizer and some of its special tokens."""

    def __init__(self, tokenizer: TokenizerBase, allowed_special: SpecialSelection) -> None:
        ids = tokenizer.special_tokens
        recognised, _ = choose(ids, allowed_special, ())
        self._tokenizer = tokenizer
        self._scanner = tokenizer._pretokenizer.scanner
        form = tokenizer.normalization
        self._form = form if isinstance(form, str) else None
        self._specials = OpenSpecials({literal: ids[literal] for literal in recognised})
        self._literals = {ids[literal]: len(literal.encode("utf-8")) for literal in recognised}
        self.finder: Specials = self._specials.finder
        #: Whether nothing but a compiled scanner cuts the text between special tokens.
        self.plain: bool = (
            self._scanner is not None and tokenizer.normalization is None and tokenizer._pipeline is None
        )
        #: The special tokens to recognise, as the tokenizer's methods take them.
        self.allowed: SpecialSelection = "all" if len(recognised) == len(ids) else recognised

    def encode(self, text: str | bytes) -> list[int]:
        """The ids of a text that ends here."""
        return self._tokenizer.encode(text, allowed_special=self.allowed)

    def read(self, data: bytes, stops: Sequence[int] = ()) -> tuple[list[Piece], int | None]:
        """The pieces of a text that may go on, in order; what is behind the last one is open.

        Args:
            data: Valid UTF-8.
            stops: Offsets, ascending. Reading ends at the first of them that is an edge.

        Returns:
            The pieces, and the stop that the last one ends at, or None.
        """
        if self.plain:
            return read(self._tokenizer, data, self.finder, BLOCK, stops, False, None, Piece)
        pieces: list[Piece] = []
        start = 0  # of the stretch
        if self._tokenizer._pipeline is not None:
            return pieces, None
        reach = self._specials.longest + 1  # decides what begins where reading ended: a special token, a mark
        for stretch, token_id in self._specials.cut(data, False)[0]:
            inside = [stop - start for stop in stops[bisect_left(stops, start + 1) :]]
            made, found = self._stretch(stretch, inside, token_id is not None)
            pieces += [
                Piece(start + piece.end, piece.ids, min(start + piece.read + reach, len(data))) for piece in made
            ]
            if found is not None:
                return pieces, start + found
            start += len(stretch)
            if token_id is not None:
                start += self._literals[token_id]
                pieces.append(Piece(start, array("I", [token_id]), min(start + reach, len(data))))
                if start in stops:
                    return pieces, start
        return pieces, None

    def _stretch(self, text: bytes, stops: Sequence[int], final: bool) -> tuple[list[Piece], int | None]:
        """The same of text between special tokens; a special token follows it where it is final."""
        limit = len(text)
        if self._form is not None and not final:
            limit -= 1
            while limit > 0 and not self._is_fresh(text, limit):
                limit -= 1
        if self._scanner is None or not self._is_normalized(text[:limit]):
            if not final or not text:
                return [], None
            ids = array("I", self._tokenizer.encode_ordinary(text))
            return [Piece(limit, ids, limit)], limit if limit in stops else None
        fresh = None if self._form is None else self._is_fresh
        return read(self._tokenizer, text[: max(limit, 0)], None, BLOCK, stops, final, fresh, Piece)

    def _is_fresh(self, text: bytes, at: int) -> bool:
        """Whether a character starts at an offset, and where text is normalized, one that starts afresh."""
        if at >= len(text) or text[at] & 0xC0 == 0x80:
            return False
        if self._form is None or text[at] < 0x80:
            return True
        return starts_afresh(text[at : at + 4].decode("utf-8", "ignore")[0], self._form)

    def _is_normalized(self, text: bytes) -> bool:
        if self._form is None or text.isascii():
            return True
        given = text.decode("utf-8")
        return normalize(self._form, given, self._tokenizer._vocab.unicode) == given


def checked(text: Text) -> str:
    """A text as a str that is Unicode; the errors of :meth:`bpetite.Tokenizer.encode` for another."""
    if isinstance(text, bytes):
        return text.decode("utf-8")
    if not isinstance(text, str):
        raise not_a_text(text)
    if not text.isascii():
        text.encode("utf-8")  # raises for a lone surrogate
    return str.__str__(text)  # of a subclass, such as numpy.str_, too
