"""The ids of texts that begin as texts before them did: prompts with one system message, chats sent whole at each turn.

Texts are known by their beginnings, in steps of some characters: a step hangs on the step before it, and holds its own
text, the last edge (edges.py) that the text up to there decides, and the ids from edge to edge. So what is found has
been compared character by character, and its ids stand whatever follows.
"""
from __future__ import annotations

import sys
from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

from ..core._special import choose
from ..errors import show
from .edges import Edges, checked

if TYPE_CHECKING:
    from collections.abc import Collection

    from ..core._tokenizer_base import TokenizerBase
    from ..engine.options import SpecialSelection, Text

__all__ = ["PrefixCache"]

#: Characters of a step.
STEP = 4096

#: Of these, one in so many is in the key that a step is found by.
STRIDE = 128

#: Bytes of a step, beside its text and its ids.
OVERHEAD = 400


class _Step(NamedTuple):
    number: int
    text: str
    edge: int  # in characters of the whole text
    ids: tuple[int, ...]  # from the edge of the step before to this one
    size: int


class PrefixCache:
    """Encodes texts and remembers them by their beginnings: the next text that begins the same is encoded from where it
    differs. The ids are those of :meth:`Tokenizer.encode`, always. Threads can share a cache.

    Texts are known in steps of 4,096 characters; shorter ones are encoded. Where ``tok.scanner`` is neither "vector"
    nor "tables", only what ends at special tokens is reused.

    Args:
        tokenizer: The tokenizer.
        max_bytes: What the steps may take; those that were used longest ago are forgotten.

    Attributes:
        hits: Texts of which some was known.
        misses: The other texts.
        reused: Characters that were not encoded again, of all texts.

    >>> from bpetite import PrefixCache
    >>> cache = PrefixCache(Tokenizer.train("ab ab ab", 258))
    >>> system = "ab " * 2000
    >>> len(cache.encode(system)), len(cache.encode(system + "ab"))
    (2001, 2001)
    >>> cache.hits, cache.misses, cache.reused
    (1, 1, 4094)
    """

    def __init__(self, tokenizer: TokenizerBase, max_bytes: int = 64 << 20) -> None:
        if not isinstance(max_bytes, int) or isinstance(max_bytes, bool):
            raise TypeError(f"max_bytes is an int, not {show(max_bytes)}")
        if max_bytes < 0:
            raise ValueError(f"max_bytes must be at least 0, not {max_bytes}")
        self.tokenizer = tokenizer
        self.max_bytes = max_bytes
        self.hits: int = 0
        self.misses: int = 0
        self.reused: int = 0
        self._size = 0
        self._lock = Lock()
        self._numbers = 0
        self._edges: dict[Collection[str], tuple[int, Edges]] = {}  # by the special tokens that are recognised
        # (number of the step before, some of the text) -> step: to hash all of the text takes longer than to encode it.
        # Those that were used last are at the end.
        self._steps: OrderedDict[tuple[int, str], _Step] = OrderedDict()

    @property
    def size(self) -> int:
        """The bytes that the steps take, about."""
        return self._size

    def clear(self) -> None:
        """Forget all texts; the counts stay."""
        with self._lock:
            self._steps.clear()
            self._size = 0

    def encode(
        self, text: Text, *, allowed_special: SpecialSelection = "all", disallowed_special: SpecialSelection = ()
    ) -> list[int]:
        """Token ids of a text, as :meth:`Tokenizer.encode` gives them.

        Args:
            text: str, or bytes in UTF-8.
            allowed_special: As for :meth:`Tokenizer.encode`, and so is ``disallowed_special``.

        Raises:
            ValueError, UnicodeError: As for :meth:`Tokenizer.encode`; the text is not remembered.
        """
        if type(text) is not str:
            text = checked(text)
        recognised, refused = choose(self.tokenizer.special_tokens, allowed_special, disallowed_special)
        if len(text) < STEP or (refused and self.tokenizer._special_spans(text, refused, ())):
            with self._lock:
                self.misses += 1
            return self.tokenizer.encode(text, allowed_special=allowed_special, disallowed_special=disallowed_special)
        with self._lock:
            if recognised not in self._edges:
                self._edges[recognised] = self._number(), Edges(self.tokenizer, recognised)
            root, edges = self._edges[recognised]
            known: list[_Step] = []
            self._walk(root, text, known)
            self.hits += bool(known)
            self.misses += not known
            edge = known[-1].edge if known else 0
            self.reused += edge
        ids: list[int] = []
        for step in known:
            ids += step.ids
        try:
            made = self._read(edges, text, edge, len(known), ids)
        except UnicodeEncodeError:
            checked(text)  # the position in the whole text
            raise
        with self._lock:
            self._remember(root, text, known, [(edge, []), *made])
        return ids

    def _read(self, edges: Edges, text: str, edge: int, known: int, ids: list[int]) -> list[tuple[int, list[int]]]:
        """Add the ids of a text from an edge on; the steps behind those that are known: (edge, ids up to there)."""
        made: list[tuple[int, list[int]]] = []
        least = 0  # characters without an edge that were read in vain
        for end in range((known + 1) * STEP, len(text) + 1, STEP):
            new: list[int] = []
            if end - edge >= 2 * least:
                data = text[edge:end].encode("utf-8")
                pieces, _ = edges.read(data)
                least = 0 if pieces else end - edge
                for piece in pieces:
                    new += piece.ids
                if pieces:
                    edge += len(data[: pieces[-1].end].decode("utf-8"))
            ids += new
            made.append((edge, new))
        ids += edges.encode(text[edge:])
        return made

    def _number(self) -> int:
        self._numbers += 1
        return self._numbers

    def _walk(self, root: int, text: str, known: list[_Step]) -> int:
        """Add the steps that a text begins with to those of them that are known; the number of the last one."""
        number = known[-1].number if known else root
        for start in range(len(known) * STEP, len(text) - STEP + 1, STEP):
            key = _key(number, text, start)
            step = self._steps.get(key)
            if step is None or not text.startswith(step.text, start):
                break
            self._steps.move_to_end(key)
            known.append(step)
            number = step.number
        return number

    def _remember(self, root: int, text: str, known: list[_Step], made: list[tuple[int, list[int]]]) -> None:
        """Add the steps of a text behind those that were known; made begins with the last of these.

        Other threads may have added some meanwhile, which need not end at the same edges.
        """
        before = len(known)
        number = self._walk(root, text, known)
        last = len(known) - before
        if made[last][0] != (known[-1].edge if known else 0):
            return
        for index, (edge, ids) in enumerate(made[last + 1 :], len(known)):
            key = _key(number, text, index * STEP)
            number = self._number()
            part = text[index * STEP : (index + 1) * STEP]
            size = OVERHEAD + sys.getsizeof(part) + 8 * len(ids)
            if old := self._steps.pop(key, None):
                self._size -= old.size
            self._steps[key] = _Step(number, part, edge, tuple(ids), size)
            self._size += size
        while self._size > self.max_bytes:
            self._size -= self._steps.popitem(last=False)[1].size


def _key(number: int, text: str, start: int) -> tuple[int, str]:
    """Some of the characters of a step; two steps that have them in common cannot both be known."""
    return number, text[start : start + STEP : STRIDE]
