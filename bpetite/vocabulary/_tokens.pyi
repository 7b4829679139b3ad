from collections.abc import Collection
from typing import Self

from typing_extensions import disjoint_base

@disjoint_base
class TokenTable:
    """Tokens of a vocabulary.

    Args:
        tokens: id -> bytes, at most 2^31 - 1 of them. Of two with the same bytes the one of the lower id is found.
        unreachable: Ids that are never found by their bytes; neither is a token without bytes.

    Raises:
        MemoryError: No memory for the tables.
        TypeError: An id is no int, or a token no bytes object.
        ValueError: An id is outside 0..2^32-1, or there are too many tokens.
    """

    @property
    def size(self) -> int:
        """How many tokens there are."""
    @property
    def repeated(self) -> int:
        """How many tokens have the bytes of one with a lower id, both found by their bytes."""
    @property
    def empty(self) -> int:
        """How many tokens have no bytes."""
    @property
    def hidden(self) -> int:
        """How many tokens are not found by their bytes, empty ones included."""
    @property
    def longest(self) -> int:
        """Bytes of the longest token."""
    def __new__(cls, tokens: dict[int, bytes], unreachable: Collection[int] = ()) -> Self: ...
    def get(self, token: bytes) -> int | None:
        """The id of the token with these bytes, or None."""
    def __len__(self) -> int: ...
