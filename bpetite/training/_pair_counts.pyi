from typing import final

@final
class PairCounts:
    """How often two tokens stand side by side: an open-addressing table with a bound.

    Where there would be more pairs than `most`, the rarest half is left out (lossy counting, Manku and Motwani 2002):
    no count is then too low by more than `error`.

    A slot of eight bytes holds a pair and its count, in the bits that are left. The few counts that are too large for
    them are in a list.

    Args:
        most: Pairs; a table of LEAST_ROOM never leaves any out.
        tokens: How many numbers of tokens there are, at most 2^31.
    """

    error: int
    def __new__(cls, most: int, tokens: int) -> PairCounts: ...
    def __len__(self) -> int: ...
    def update(self, other: PairCounts) -> None:
        """Add the counts, and the error, of another table for as many tokens."""
    def summary(self) -> tuple[int, str]:
        """(the sum of all counts, 32 hex digits, equal for equal counts, see `CountTable.checksum`)."""
    def count_at(self, place: int) -> int:
        """How often the pair at a place occurs, 1 for the most frequent, at most MOST_TOLD; 0 past the last."""

@final
class FrequentPairs:
    """The pairs that may occur `floor` times: a Bloom filter with one hash function, which fits the caches."""

    def __new__(cls, pairs: PairCounts, floor: int) -> FrequentPairs: ...
