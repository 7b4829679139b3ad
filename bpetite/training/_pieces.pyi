from collections.abc import Iterator
from typing import final

@final
class PieceTable:
    """Pieces of two tokens and more -> 64-bit count. Not safe to change from two threads at once."""

    def __new__(cls) -> PieceTable: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[tuple[tuple[int, ...], int]]:
        """(tokens, count) of each piece, in the order in which they came up."""
    @property
    def size(self) -> int:
        """The tokens of all different pieces together."""
    def update(self, other: PieceTable) -> None:
        """Add another table's counts. After an OverflowError (past 2^63 - 1) or a signal some have been added."""
