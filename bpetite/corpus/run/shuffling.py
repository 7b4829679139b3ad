"""Documents in another order: blocks of consecutive ones that fit in memory, each permuted by a seed.

A block ends where the next document would not fit, so the blocks, and with them the order, depend on the documents, the
seed and the memory, and not on jobs, on how the input was read or on interruptions.
"""
from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ..encoding.rows import Rows

__all__ = ["OVERHEAD", "Shuffle", "permutation"]

#: Bytes that a document takes besides its tokens: its length, its place, and its id where there are ids.
OVERHEAD = 256

#: Tokens that are put together at a time.
AT_ONCE = 1 << 21


def permutation(seed: int, block: int, count: int) -> npt.NDArray[np.int64]:
    """The order of the documents of a block: by keys of SplitMix64 (Steele et al., 2014), which every version of NumPy
    computes alike.

    >>> permutation(7, 0, 5).tolist(), permutation(7, 1, 5).tolist()
    ([4, 2, 3, 1, 0], [4, 0, 3, 1, 2])
    """
    start = int.from_bytes(hashlib.blake2b(f"shuffle {seed} {block}".encode(), digest_size=8).digest(), "big")
    keys = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(start)
    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.argsort(keys ^ (keys >> np.uint64(31)), kind="stable")


@dataclass
class Shuffle:
    """The block that is being filled.

    Attributes:
        seed: Of all permutations.
        memory: Bytes of a block, unless it is a single document.
        block: Number of blocks before it.
    """

    seed: int
    memory: int
    block: int = 0
    _held: list[Rows] = field(default_factory=list)
    _size: int = 0

    def fill(self, rows: Rows, start: int) -> int:
        """Take documents from a number on, as many as fit; returns the number of the first that does not."""
        costs = np.cumsum(rows.lengths[start:] * rows.tokens.itemsize + OVERHEAD)
        count = int(np.searchsorted(costs, self.memory - self._size, side="right"))
        if not count and not self._size:
            count = 1
        if count:
            self._held.append(rows.slice(start, start + count))
            self._size += int(costs[count - 1])
        return start + count

    def empty(self) -> Iterator[Rows]:
        """The documents of the block in their new order, some at a time; then the next block begins."""
        held, self._held, self._size = self._held, [], 0
        documents: list[npt.NDArray[Any]] = []
        for rows in held:
            ends = np.cumsum(rows.lengths).tolist()
            documents += [rows.tokens[start:stop] for start, stop in zip([0, *ends], ends)]
        order = permutation(self.seed, self.block, len(documents))
        self.block += 1
        if not documents:
            return
        lengths = np.concatenate([rows.lengths for rows in held])[order]
        held_out = None if held[0].held_out is None else np.concatenate([rows.held_out for rows in held])[order]
        meta = None if held[0].meta is None else [line for rows in held for line in rows.meta or ()]
        del held
        ends = np.cumsum(lengths)
        at = 0
        while at < len(order):
            before = int(ends[at - 1]) if at else 0
            stop = max(at + 1, int(np.searchsorted(ends, before + AT_ONCE, side="right")))
            chosen = order[at:stop].tolist()
            yield Rows(
                np.concatenate([documents[number] for number in chosen]),
                lengths[at:stop],
                None if meta is None else [meta[number] for number in chosen],
                None if held_out is None else held_out[at:stop],
            )
            at = stop
