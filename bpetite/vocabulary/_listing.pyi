from collections.abc import Iterable

from ._tokens import TokenTable

def list_tokens(table: TokenTable) -> bytes:
    """The tokens of a table: a line ``id length`` and a line with the bytes for each."""

def list_pairs(pairs: Iterable[tuple[int, int]]) -> bytes:
    """Pairs of ids: a line ``left right`` for each."""
