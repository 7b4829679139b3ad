"""A text that is edited, and its token ids, which follow each edit.

The text is held as blocks between edges (edges.py), each with its ids and with how far behind its end the text decides
that there is an edge. After an edit, reading begins at the last edge that the text before the edit decides, and ends at
the first edge behind the edit that was one before: what follows has the ids that it had. So an edit costs about the
blocks that it touches, whatever the length of the text; blocks are never changed, so copies share them.
"""
from __future__ import annotations

import operator
from array import array
from bisect import bisect_left, bisect_right
from itertools import accumulate, zip_longest
from typing import TYPE_CHECKING, NamedTuple, SupportsIndex

import numpy as np

from ..engine._special import Specials, choose
from ._closed import append
from .edges import BLOCK, Edges, Piece, checked

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from ..engine._surface import Surface
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

    Its length is the number of ids. An edit that raises changes nothing. A growing text is not shared between threads;
    it can be copied and pickled.
    """

    __slots__ = ("_blocks", "_chars", "_edges", "_open", "_reach", "_refused", "_settings", "_tokens")

    def __init__(
        self,
        tokenizer: Surface,
        text: Text = "",
        *,
        allowed_special: SpecialSelection = "all",
        disallowed_special: SpecialSelection = (),
    ) -> None:
        _, refused = choose(tokenizer.special_tokens, allowed_special, disallowed_special)
        self._settings = tokenizer, allowed_special, disallowed_special
        self._edges = Edges(tokenizer, allowed_special)
        self._refused = Specials(dict.fromkeys(refused, 0)) if refused else None
        self._blocks: list[tuple[str, array[int]]] = []
        self._chars = array("q", [0])  # where each block starts, and the open text behind them, in characters
        self._tokens = array("q", [0])  # and in tokens
        self._reach = array("q", [0])  # up to where the text decides that there is an edge
        self._open: tuple[str, array[int]] = "", array("I")
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
        if self._refused is not None or not self._edges.plain:
            end = self._characters()
            return self._replace(end, end, checked(text))
        held = self._open, self._blocks, self._chars, self._tokens, self._reach
        try:
            self._open, start, removed, ids = append(self._settings[0], text, self._edges.finder, BLOCK, *held)
        except UnicodeEncodeError:
            checked(text)  # the position in this text
            raise
        return _made(start, removed, ids)

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
        start, end, characters = operator.index(start), operator.index(end), self._characters()
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
        return self.replace(end, self._characters(), "")

    @property
    def text(self) -> str:
        """The text; joined anew each time."""
        return "".join([text for text, _ in self._blocks]) + self._open[0]

    @property
    def ids(self) -> NDArray[np.uint32]:
        """The ids, an array of its own each time."""
        return np.concatenate([np.asarray(ids, np.uint32) for _, ids in [*self._blocks, self._open]])

    def __len__(self) -> int:
        return self._tokens[-1] + len(self._open[1])

    def copy(self) -> GrowingText:
        """A text of its own, with the same content; the two share what stands."""
        other = GrowingText.__new__(GrowingText)
        other._settings, other._edges, other._refused = self._settings, self._edges, self._refused
        other._blocks, other._open = self._blocks[:], self._open
        other._chars, other._tokens, other._reach = self._chars[:], self._tokens[:], self._reach[:]
        return other

    __copy__ = copy

    def __reduce__(self) -> tuple[object, ...]:
        tokenizer, allowed, disallowed = self._settings
        return _restored, (tokenizer, self.text, allowed, disallowed)

    def __repr__(self) -> str:
        return f"<GrowingText: {self._characters()} characters, {len(self)} tokens>"

    def _characters(self) -> int:
        return self._chars[-1] + len(self._open[0])

    def _slice(self, start: int, end: int) -> str:
        """The characters from start to end."""
        first = bisect_right(self._chars, start) - 1
        last = max(first, bisect_left(self._chars, end) - 1)
        parts = [text for text, _ in self._blocks[first : last + 1]]
        if last == len(self._blocks):
            parts.append(self._open[0])
        base = self._chars[first]
        return "".join(parts)[start - base : end - base]

    def _refuse(self, start: int, end: int, text: str) -> None:
        if self._refused is None:
            return
        around = self._refused.longest  # bytes, so at least as many characters
        before = self._slice(max(start - around, 0), start)
        after = self._slice(end, min(end + around, self._characters()))
        for found, stop, _ in self._refused.spans(before + text + after):
            at = start - len(before) + found
            literal = (before + text + after)[found:stop]
            raise ValueError(f"the text would hold the disallowed special token {literal!r} at offset {at}; allow it "
                             f"(allowed_special) or take the text as it is (disallowed_special=())")

    def _replace(self, start: int, end: int, text: str) -> Change:
        self._refuse(start, end, text)
        chars, blocks, characters = self._chars, self._blocks, self._characters()
        first = bisect_right(self._reach, start) - 1
        near = bisect_left(chars, end, first)  # the first edge behind the edit
        base = chars[first]
        before, shift = self._slice(base, start), len(text) - (end - start)
        last, step = near, 1
        while True:  # until an edge behind the edit is one again, or the text has ended
            upto = self._reach[last] if last < len(chars) else characters
            window = before + text + self._slice(end, upto)
            data = window.encode("utf-8")
            stops = [edge + shift - base for edge in chars[near : last + 1]]
            if len(data) != len(window):
                stops = [len(window[:stop].encode("utf-8")) for stop in stops]
            pieces, found = self._edges.read(data, stops)
            if upto == characters or found is not None:
                break
            last += step
            step *= 2
        made = _blocks(data, pieces, base, self._reach[first])
        new = [block.ids for block in made]
        last = len(blocks) if found is None else near + stops.index(found)
        old = [ids for _, ids in blocks[first:last]]
        if found is None:
            rest = data[pieces[-1].end if pieces else 0 :].decode("utf-8")
            ids = array("I", self._edges.encode(rest))
            new.append(ids)
            old.append(self._open[1])
            self._open = rest, ids
        at = self._tokens[first]
        self._splice(first, last, made)
        return _change(at, old, new)

    def _splice(self, first: int, last: int, made: list[_Block]) -> None:
        """Put blocks in the place of those from first to last, which end at the same edge."""
        if made and first and len(self._blocks[first - 1][0]) + len(made[0].text) <= BLOCK:
            first -= 1
            text, ids = self._blocks[first]
            made[0] = _Block(text + made[0].text, ids + made[0].ids, made[0].reach)
        end, tokens = self._chars[last], self._tokens[last]
        self._blocks[first:last] = [(block.text, block.ids) for block in made]
        lengths = accumulate([len(block.text) for block in made], initial=self._chars[first])
        counts = accumulate([len(block.ids) for block in made], initial=self._tokens[first])
        self._chars[first : last + 1] = array("q", lengths)
        self._tokens[first : last + 1] = array("q", counts)
        self._reach[first + 1 : last + 1] = array("q", [block.reach for block in made])
        behind = first + len(made) + 1
        if behind == len(self._chars):
            return
        end, tokens = self._chars[behind - 1] - end, self._tokens[behind - 1] - tokens
        for starts, moved in ((self._chars, end), (self._reach, end), (self._tokens, tokens)):
            np.frombuffer(starts, np.int64)[behind:] += moved
        while behind < len(self._reach) and self._reach[behind] < self._reach[behind - 1]:
            self._reach[behind] = self._reach[behind - 1]
            behind += 1


class _Block(NamedTuple):
    text: str
    ids: array[int]
    reach: int


def _blocks(data: bytes, pieces: list[Piece], base: int, reach: int) -> list[_Block]:
    """Pieces as blocks, small ones joined.

    Args:
        data: What has been read.
        pieces: Its pieces.
        base: The character of the text with which it begins.
        reach: The character up to which the text decides that there is an edge.
    """
    made: list[_Block] = []
    start = 0
    ids: list[int] = []
    for piece, after in zip_longest(pieces, pieces[1:]):
        ids = ids + piece.ids if ids else piece.ids
        if after is not None and after.end - start <= BLOCK:
            continue
        text = data[start : piece.end].decode("utf-8")
        base += len(text)
        read = piece.read
        while read < len(data) and data[read] & 0xC0 == 0x80:
            read += 1
        reach = max(reach, base + len(data[piece.end : read].decode("utf-8")))
        made.append(_Block(text, array("I", ids), reach))
        start, ids = piece.end, []
    return made


def _change(start: int, old_ids: list[array[int]], new_ids: list[array[int]]) -> Change:
    """The change from some ids to others, without those that are the same at either end."""
    old, new = b"".join(old_ids), b"".join(new_ids)
    size = array("I").itemsize
    same = _common(min(len(old), len(new)), lambda some, more: old[some:more] == new[some:more]) // size
    most = min(len(old), len(new)) - same * size
    left = _common(most, lambda some, more: old[len(old) - more : len(old) - some]
                   == new[len(new) - more : len(new) - some]) // size  # fmt: skip
    ids = array("I", new[same * size : len(new) - left * size])
    return _made(start + same, len(old) // size - same - left, ids)


def _made(start: int, removed: int, ids: array[int]) -> Change:
    return Change(start, removed, np.frombuffer(ids, np.uint32) if ids else np.empty(0, np.uint32))


def _common(most: int, equal: Callable[[int, int], bool]) -> int:
    """The highest number up to which all are equal, of at most some."""
    low = 0
    while low < most:
        middle = (low + most + 1) // 2
        if equal(low, middle):
            low = middle
        else:
            most = middle - 1
    return low


def _restored(tokenizer: Surface, text: str, allowed: SpecialSelection, disallowed: SpecialSelection) -> GrowingText:
    return GrowingText(tokenizer, text, allowed_special=allowed, disallowed_special=disallowed)
