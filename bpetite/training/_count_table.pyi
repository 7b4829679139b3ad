from collections.abc import Iterator
from typing import Any, final

@final
class CountTable:
    """pre-token bytes -> 64-bit count. Not safe to change from two threads at once.

    Args:
        memory: Bytes after which it is `full`; 0 for no bound. It goes on growing then.
    """

    def __new__(cls, memory: int = 0) -> CountTable: ...
    @property
    def full(self) -> bool:
        """Whether it holds something, and more would not stay within its memory."""
    def clear(self) -> None:
        """Forget all pre-tokens; the slots stay allocated."""
    def update(self, other: CountTable) -> None:
        """Add another table's counts. After an OverflowError (past 2^63 - 1) or a signal some have been added."""
    def add(self, pretoken: bytes, count: int) -> None:
        """Add to one pre-token's count."""
    def get(self, pretoken: bytes) -> int:
        """A pre-token's count, 0 where it never occurred."""
    def pretokens(self) -> Any:
        """A reader of the pre-tokens that occur, in no order; the table must not change meanwhile."""
    def totals(self) -> tuple[int, int, int]:
        """(different pre-tokens, their bytes, pre-tokens in all); the last is an int of any size."""
    def checksum(self) -> str:
        """32 hex digits: the sums of two hashes of each pre-token with its count. Equal for equal counts, on every
        little-endian machine; no protection against someone who looks for other counts with the same sums."""
    def sorted(self) -> Iterator[tuple[bytes, int]]:
        """Iterate over (bytes, count), bytes ascending, zero counts left out. The table must not change meanwhile."""
    def blocks(self, size: int) -> Iterator[bytes]:
        """The same as records (count_records.h), in bytes of about `size`; negative counts in two's complement."""
