"""Completing a token that is part of a character: walks over tokens that come out side by side.

Merges take the lowest rank, the leftmost first. So a sequence of tokens comes out of its joined bytes if and only if
each two neighbours come out of theirs: no merge crosses an edge, and between two edges the same merges run in the same
order as on those bytes alone. A character is therefore completed token by token, and each step depends on one pair.
The walks are breadth-first and visit each state once; if none arrives, no text holds the token.
"""
from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

from ..reference import merge_pretoken
from .utf8 import head_of, is_character, open_end, tail_of

__all__ = ["Neighbours", "Ranks", "TooManyPairs"]

#: Pairs of neighbours that are merged to complete one token, at most.
PAIRS = 250_000

#: The bound for all tokens together, a multiple of PAIRS. Only vocabularies that are built to be hard reach it.
ALL_TOKENS = 4

#: A token still gets this fraction of PAIRS when the others have used up the bound: PAIRS // LEAST.
LEAST = 100

#: Completions that differ only in what follows the token.
ENDINGS = 8

#: Ranks of merges, or of tokens for a vocabulary of the ranks kind.
Ranks = Mapping[tuple[bytes, bytes], int] | Mapping[bytes, int]


class TooManyPairs(Exception):
    """A token has used up its pairs, and it is not known whether it can be completed."""


class Neighbours:
    """The neighbours with which tokens that begin or end inside a character come out.

    Args:
        tokens: The bytes of all tokens.
        ranks: What decides the merges.
    """

    def __init__(self, tokens: Iterable[bytes], ranks: Ranks) -> None:
        self.ranks = ranks
        # Tokens inside one character; the others by the bytes of an unfinished character at their end or start. The
        # shortest come first, because they are the likeliest to fit.
        self.insiders: list[bytes] = []
        self.by_tail: dict[bytes, list[bytes]] = {}
        self.by_head: dict[bytes, list[bytes]] = {}
        for token in sorted(tokens, key=len):
            tail, head = tail_of(token), head_of(token)
            if tail is None:
                continue
            if len(head) == len(token):
                self.insiders.append(token)
                continue
            if tail:
                self.by_tail.setdefault(tail, []).append(token)
            if head:
                self.by_head.setdefault(head, []).append(token)
        self.known_pairs: dict[tuple[bytes, bytes], bool] = {}
        self.known_fronts: dict[bytes, bytes | None] = {}
        self.left_for_all: int = ALL_TOKENS * PAIRS
        self.left_for_token: int = 0

    def completions(self, token: bytes) -> Iterator[str]:
        """Yield texts from which the merges make a token that is not whole characters; none if and only if none exists.

        Raises:
            TooManyPairs: Finding out takes more pairs than the token gets.
        """
        self.left_for_token = max(PAIRS // LEAST, min(PAIRS, self.left_for_all))
        head, tail = head_of(token), tail_of(token)
        inside = len(head) == len(token)
        known: dict[bytes | None, tuple[bytes, ...]] = {None: ()}

        def endings(rest: bytes | None) -> tuple[bytes, ...]:
            if rest not in known:
                known[rest] = tuple(islice(self._endings(token, rest or b""), ENDINGS))
            return known[rest]

        # What may follow depends on what precedes only if the token lies inside one character.
        if not inside and not endings(tail):
            return
        beginnings = self._beginnings(token, head, inside=inside) if head else iter([(b"", b"", b"")])
        for first, between, character in beginnings:
            front = self._front(first)
            if front is not None:
                for ending in endings(open_end(character) if inside else tail):
                    yield (front + first + between + token + ending).decode("utf-8")

    def _stay_apart(self, left: bytes, right: bytes) -> bool:
        """Whether two tokens come out as these two from their joined bytes."""
        known = self.known_pairs.get((left, right))
        if known is None:
            self.left_for_all -= 1
            self.left_for_token -= 1
            if self.left_for_token < 0:
                raise TooManyPairs
            if len(self.known_pairs) > ALL_TOKENS * PAIRS:
                self.known_pairs.clear()
            known = merge_pretoken(left + right, self.ranks) == [left, right]
            self.known_pairs[left, right] = known
        return known

    def _beginnings(self, token: bytes, end: bytes, *, inside: bool) -> Iterator[tuple[bytes, bytes, bytes]]:
        """Walk to the left, up to each token in which the character that a token continues can begin.

        Args:
            token: The start of the walk.
            end: The continuation bytes that it begins with.
            inside: The token consists of these bytes, so the character need not end with them.

        Yields:
            The token in which the character begins, the tokens between, and the character up to the end of ``end``.
        """
        queue = deque([(token, end, b"")])
        visited = {(token, end)}
        while queue:
            last, end, between = queue.popleft()
            for tail, tokens in self.by_tail.items():
                character = tail + end
                if is_character(character) or (inside and open_end(character) == character):
                    for first in tokens:
                        if self._stay_apart(first, last):
                            yield first, between, character
            for before in self.insiders:
                state = before, before + end
                if len(state[1]) <= 3 and state not in visited and self._stay_apart(before, last):
                    visited.add(state)
                    queue.append((*state, before + between))

    def _front(self, token: bytes) -> bytes | None:
        """Bytes that can start a text in front of a token so that it comes out; None if there are none."""
        if not head_of(token):
            return b""
        if token in self.known_fronts:
            return self.known_fronts[token]
        queue = deque([(token, b"")])
        visited = {token}
        while queue:
            last, front = queue.popleft()
            for first, between, _ in self._beginnings(last, head_of(last), inside=False):
                longer = first + between + front
                if not head_of(first):
                    self.known_fronts[token] = longer
                    return longer
                if first not in visited:
                    visited.add(first)
                    queue.append((first, longer))
        # If a walk from one of them arrived, this one would have.
        self.known_fronts.update(dict.fromkeys(visited))
        return None

    def _endings(self, token: bytes, rest: bytes) -> Iterator[bytes]:
        """Walk to the right: bytes that can follow a token, up to where a character ends.

        Args:
            token: The start of the walk.
            rest: The unfinished character at its end.
        """
        if not rest:
            yield b""
            return
        queue = deque([(token, rest, b"")])
        visited = {(token, rest)}
        while queue:
            last, rest, ending = queue.popleft()
            fitting = [(after, open_end(rest + after)) for after in self.insiders]
            for head, tokens in self.by_head.items():
                if is_character(rest + head):
                    fitting += [(after, tail_of(after)) for after in tokens]
            for after, left_open in fitting:
                if left_open is None or (after, left_open) in visited or not self._stay_apart(last, after):
                    continue
                visited.add((after, left_open))
                if left_open:
                    queue.append((after, left_open, ending + after))
                else:
                    yield ending + after
