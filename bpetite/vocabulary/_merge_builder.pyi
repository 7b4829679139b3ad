from collections.abc import Collection, Sequence

from .._merge import MergeTable
from ._tokens import TokenTable

def build_merge_table(
    tokens: TokenTable, merges: Sequence[tuple[int, int]] | None, special_ids: Collection[int] = frozenset()
) -> MergeTable:
    """The merge table of a vocabulary, of a merge list or (None) of ranks."""
