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
    def __init__(self, tokens: dict[int, bytes]) -> None: ...
    def get(self, token: bytes) -> int | None:
        """The id of the token with these bytes, the lowest of several, or None."""
    def __len__(self) -> int: ...
