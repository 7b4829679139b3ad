from array import array
from collections.abc import Collection, Sequence

from .vocabulary._tokens import TokenTable

class MergeTable:
    size: int
    ranks: int
    def __init__(
        self,
        tokens: TokenTable,
        merges: Sequence[tuple[int, int]] | MergeTable | None,
        excluded: Collection[int] = ...,
    ) -> None: ...
    def results(self) -> array[int]: ...
    def __len__(self) -> int: ...
    def get(self, left: int, right: int) -> tuple[int, int] | None: ...
    def apply(self, ids: Sequence[int]) -> list[int]: ...
