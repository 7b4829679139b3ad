"""Positions in the UTF-8 of a text, as arrays: where tokens end, how long characters are."""
from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..tokenizer import Tokenizer

__all__ = ["character_sizes", "token_ends"]


def token_ends(tokenizer: Tokenizer, ids: npt.NDArray[np.uint32]) -> npt.NDArray[np.int64]:
    """int64[n]: where the bytes of each of n tokens end when all are joined.

    >>> token_ends(Tokenizer({0: b"a", 1: b"abc"}, []), np.array([1, 0, 1])).tolist()
    [3, 4, 7]
    """
    tokens = tokenizer.to_vocab().tokens
    different, index = np.unique(ids, return_inverse=True)
    lengths = np.array([len(tokens[token_id]) for token_id in different.tolist()], dtype=np.int64)
    return np.cumsum(lengths[index])


def character_sizes(codes: npt.NDArray[np.uint32]) -> npt.NDArray[Any]:
    """How many bytes of UTF-8 each code point has, 1 to 4.

    >>> character_sizes(np.array([0x61, 0xE9, 0x732B, 0x1F642])).tolist()
    [1, 2, 3, 4]
    """
    return 1 + (codes >= 0x80) + (codes >= 0x800) + (codes >= 0x10000)
