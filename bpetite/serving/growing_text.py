"""A text that is edited, and its token ids, which follow each edit.

The text is held as blocks between edges (edges.py), each with its ids and with how far behind its end the text decides
that there is an edge. After an edit, reading begins at the last edge that the text before the edit decides, and ends at
the first edge behind the edit that was one before: what follows has the ids that it had. So an edit costs about the
blocks that it touches, whatever the length of the text; blocks are never changed, so copies share them.
"""
from __future__ import annotations

import operator
from typing import TYPE_CHECKING, NamedTuple, SupportsIndex

import numpy as np

from ..core._special import Specials, choose
from ._blocks import Blocks
from .edges import BLOCK, Edges, checked

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..core._tokenizer_base import TokenizerBase
    from ..engine.options import SpecialSelection, Text

__all__ = ["Change", "GrowingText"]


class Change(NamedTuple):
    """What an edit has done to the ids of a text: ``ids[start:start + removed]`` gave way to these.

    Attributes:
        start: The index of the first id that changed.
        removed: How many ids are gone.
        ids: uint32[n], what stands in their place.
    """

    start: int
    removed: int
    ids: NDArray[np.uint32]


class GrowingText:
    """A text that is edited, with its token ids; made by :meth:`bpetite.Tokenizer.growing`.

    Its length is the number of ids. An edit that raises changes nothing. A growing text is not shared between threads:
    an edit during which another thread edits it raises RuntimeError. It can be copied and pickled.
    """

    __slots__ = ("_blocks", "_edges", "_plain", "_refused", "_settings")

    def __init__(
        self,
        tokenizer: TokenizerBase,
        text: Text = "",
        *,
        allowed_special: SpecialSelection = "all",
        disallowed_special: SpecialSelection = (),
    ) -> None:
        _, refused = choose(tokenizer.special_tokens, allowed_special, disallowed_special)
        self._settings = tokenizer, allowed_special, disallowed_special
        self._edges = Edges(tokenizer, allowed_special)
        self._refused = Specials(dict.fromkeys(refused, 0)) if refused else None
        self._plain = self._refused is None and self._edges.plain
        self._blocks = Blocks(tokenizer._encoder, self._edges.finder, Change)
        self.append(text)

    def append(self, text: Text) -> Change:
        """Add text at the end.

        It costs what the text does, and the open pre-token before it, whatever stands before that.

        Args:
            text: str, or bytes in UTF-8.

        Raises:
            ValueError, UnicodeError: As for :meth:`bpetite.Tokenizer.encode`.

        >>> Tokenizer.train("ab ab ab", 258).growing("ab a").append("b")
        Change(start=1, removed=2, ids=array([257], dtype=uint32))
        """
        if type(text) is not str:
            text = checked(text)
        if not self._plain:
            end = self._blocks.characters()
            return self._replace(end, end, checked(text))
        try:
            return self._blocks.append(text, BLOCK)
        except UnicodeEncodeError:
            checked(text)  # the position in this text
            raise

    def replace(self, start: SupportsIndex, end: SupportsIndex, text: Text) -> Change:
        """Put text in the place of the characters ``start`` to ``end``; either may be empty.

        Args:
            start: The first character that is replaced.
            end: The first one behind that is not.
            text: str, or bytes in UTF-8.

        Raises:
            ValueError: Not 0 <= start <= end <= the length of the text; as for :meth:`bpetite.Tokenizer.encode`.
            UnicodeError: As for :meth:`bpetite.Tokenizer.encode`.

        >>> Tokenizer.train("ab ab ab", 258).growing("ab ab ab").replace(4, 5, "bb")
        Change(start=2, removed=0, ids=array([98], dtype=uint32))
        """
        start, end, characters = operator.index(start), operator.index(end), self._blocks.characters()
        if not 0 <= start <= end <= characters:
            raise ValueError(f"the text has {characters} characters, and {start} to {end} is no part of it")
        return self._replace(start, end, checked(text))

    def cut(self, end: SupportsIndex) -> Change:
        """Drop what follows the first ``end`` characters.

        Raises:
            ValueError: The text has fewer; what is left ends with a disallowed special token.

        >>> Tokenizer.train("ab ab ab", 258).growing("ab ab ab").cut(4)
        Change(start=1, removed=2, ids=array([32, 97], dtype=uint32))
        """
        return self.replace(end, self._blocks.characters(), "")

    @property
    def text(self) -> str:
        """The text; joined anew each time."""
        return self._blocks.text()

    @property
    def ids(self) -> NDArray[np.uint32]:
        """The ids, an array of its own each time."""
        return np.concatenate([np.asarray(ids, np.uint32) for ids in self._blocks.ids()])

    def __len__(self) -> int:
        return len(self._blocks)

    def copy(self) -> GrowingText:
        """A text of its own, with the same content; the two share what stands."""
        other = GrowingText.__new__(GrowingText)
        other._settings, other._edges = self._settings, self._edges
        other._refused, other._plain = self._refused, self._plain
        other._blocks = self._blocks.copy()
        return other

    __copy__ = copy

    def __reduce__(self) -> tuple[object, ...]:
        tokenizer, allowed, disallowed = self._settings
        return _restored, (tokenizer, self.text, allowed, disallowed)

    def __repr__(self) -> str:
        return f"<GrowingText: {self._blocks.characters()} characters, {len(self)} tokens>"

    def _refuse(self, start: int, end: int, text: str) -> None:
        if self._refused is None:
            return
        around = self._refused.longest  # bytes, so at least as many characters
        before = self._blocks.slice(max(start - around, 0), start)
        after = self._blocks.slice(end, min(end + around, self._blocks.characters()))
        for found, stop, _ in self._refused.spans(before + text + after):
            at = start - len(before) + found
            literal = (before + text + after)[found:stop]
            raise ValueError(f"the text would hold the disallowed special token {literal!r} at offset {at}; allow it "
                             f"(allowed_special) or take the text as it is (disallowed_special=())")

    def _replace(self, start: int, end: int, text: str) -> Change:
        self._refuse(start, end, text)
        return self._blocks.replace(self._edges, start, end, text, BLOCK)


def _restored(tokenizer: TokenizerBase, text: str, allowed: SpecialSelection, disallowed: SpecialSelection) -> GrowingText:
    return GrowingText(tokenizer, text, allowed_special=allowed, disallowed_special=disallowed)
