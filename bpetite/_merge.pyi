from array import array

from typing_extensions import Buffer

class MergeTable:
    """Pair of token ids -> (rank, id of the token that the pair becomes); immutable once it is filled."""

    size: int
    ranks: int
    def __init__(self) -> None: ...
    def __len__(self) -> int: ...
    def get(self, left: int, right: int) -> tuple[int, int] | None:
        """(rank, resulting id) of a pair, or None."""
    def results(self) -> array[int]:
        """uint32 ids: what each merge gives, in rank order."""
    def apply(self, ids: Buffer) -> array[int]:
        """Merge uint32 token ids until no pair has a rank; the ids that are left, as an ``array('I')``."""
