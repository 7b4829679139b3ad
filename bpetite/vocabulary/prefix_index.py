"""Search for the tokens that begin with some bytes, and for the tokens that some bytes begin with."""
from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

__all__ = ["PrefixIndex"]


class PrefixIndex:
    """The tokens of a vocabulary in the order of their bytes.

    Args:
        tokens: id -> bytes.

    >>> index = PrefixIndex({0: b"a", 1: b"b", 2: b"ab", 3: b"abc"})
    >>> index.completions(b"ab").tolist(), list(index.prefixes(b"abd"))
    ([2, 3], [0, 2])
    """

    def __init__(self, tokens: Mapping[int, bytes]) -> None:
        ids = sorted(tokens, key=lambda token_id: (tokens[token_id], token_id))
        self._ids = np.array(ids, np.uint32)
        self._tokens = [tokens[token_id] for token_id in ids]
        self._lengths = sorted(set(map(len, self._tokens)))

    def completions(self, prefix: bytes) -> NDArray[np.uint32]:
        """The ids of the tokens that begin with a prefix, uint32[n], ascending."""
        stem = prefix.rstrip(b"\xff")  # the first bytes that do not begin with it: its last byte that can, one higher
        end = bisect_left(self._tokens, stem[:-1] + bytes([stem[-1] + 1])) if stem else len(self._tokens)
        return np.sort(self._ids[bisect_left(self._tokens, prefix) : end])

    def prefixes(self, data: bytes) -> Iterator[int]:
        """Yield the ids of the tokens that data begins with, the shortest first."""
        for length in self._lengths:
            if length > len(data):
                break
            token = data[:length]
            at = bisect_left(self._tokens, token)
            while at < len(self._tokens) and self._tokens[at] == token:
                yield int(self._ids[at])
                at += 1
