"""The literals of special tokens, checked in one place for vocabularies and training."""

__all__ = ["check_literal"]


def check_literal(literal: object) -> bytes:
    """The UTF-8 of a special token's literal.

    Raises:
        TypeError: It is no str.
        ValueError: It is empty, or holds a lone surrogate.

    >>> check_literal("<s>")
    b'<s>'
    """
    if not isinstance(literal, str):
        raise TypeError(f"a special token is a str, not {literal!r}")
    if not literal:
        raise ValueError("a special token must not be empty")
    try:
        return literal.encode("utf-8")
    except UnicodeEncodeError as bad:
        raise ValueError(f"special token {literal!r} holds a lone surrogate at {bad.start}") from None
