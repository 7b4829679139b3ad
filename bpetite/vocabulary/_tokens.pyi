from typing_extensions import Self, disjoint_base

@disjoint_base
class TokenTable:
    """Tokens of a vocabulary, read-only: id -> bytes, at most 2^31 - 1 of them."""

    @property
    def size(self) -> int:
        """How many tokens there are."""
    @property
    def repeated(self) -> int:
        """How many tokens have the bytes of one with a lower id."""
    @property
    def empty(self) -> bool:
        """Whether a token has no bytes."""
    def __new__(cls, tokens: dict[int, bytes]) -> Self: ...
    def get(self, token: bytes) -> int | None:
        """The id of the token with these bytes, the lowest of several, or None."""
    def __len__(self) -> int: ...
