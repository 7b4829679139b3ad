"""The literals of special tokens: their validity and their ids."""
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from ..errors import short_repr

__all__ = ["SpecialTokens", "check_literal", "place_specials"]

#: Special tokens as callers give them: literals, or literal -> id.
SpecialTokens: TypeAlias = Sequence[str] | Mapping[str, int] | None


def check_literal(literal: object) -> bytes:
    """The UTF-8 of a special token's literal.

    Raises:
        TypeError: It is not a str.
        ValueError: It is empty or holds a lone surrogate.

    >>> check_literal("<é>")
    b'<\\xc3\\xa9>'
    """
    if not isinstance(literal, str):
        raise TypeError(f"a special token is a str, not {literal!r}")
    if not literal:
        raise ValueError("a special token must not be empty")
    try:
        return literal.encode("utf-8")
    except UnicodeEncodeError as bad:
        raise ValueError(f"special token {literal!r} holds a lone surrogate at {bad.start}") from None


def place_specials(
    special_tokens: SpecialTokens, tokens: dict[int, bytes], id_of: dict[bytes, int]
) -> tuple[dict[str, int], dict[str, tuple[str, ...]]]:
    """The ids of special tokens, and their flags.

    Args:
        special_tokens: Literals, or literal -> id. A literal without an id keeps that of the token with its bytes;
            others get the ids after the highest one, in the order given. If literals share an id, ``tokens`` keeps its
            bytes if they are one of the literals, else it gets the first one.
        tokens: IN/OUT: id -> bytes; literals that are no tokens yet are added.
        id_of: IN/OUT: bytes -> id, at least of the tokens that are literals; added to as well.

    Returns:
        literal -> id; literal -> ("added",) of those that are the only token of a byte.

    Raises:
        TypeError: ``special_tokens`` is one str, a literal is no str, or an id no int.
        ValueError: A literal is empty or holds a lone surrogate; an id belongs to another token.

    >>> place_specials(["<s>", "a"], {0: b"a"}, {b"a": 0})
    ({'<s>': 1, 'a': 0}, {})
    >>> place_specials(["b"], {0: b"a"}, {b"a": 0})
    ({'b': 1}, {'b': ('added',)})
    """
    if special_tokens is None:
        return {}, {}
    if isinstance(special_tokens, str | bytes) or not isinstance(special_tokens, Iterable):
        hint = f": [{short_repr(special_tokens)}] is a list of one" if isinstance(special_tokens, str) else ""
        raise TypeError(
            f"special_tokens is a list of str or a dict literal -> id, not {short_repr(special_tokens)}{hint}"
        )
    placed: dict[str, int] = {}
    flags: dict[str, tuple[str, ...]] = {}
    given = special_tokens if isinstance(special_tokens, Mapping) else dict.fromkeys(special_tokens)
    free = max(tokens, default=-1) + 1
    for literal, wanted in given.items():
        data = check_literal(literal)
        known = id_of.get(data)
        if wanted is not None:
            if type(wanted) is not int:
                raise TypeError(f"special token {literal!r}: its id is an int, not {short_repr(wanted)}")
            refusal = f"special token {literal!r} cannot have the id {wanted}"
            if known not in (None, wanted):
                raise ValueError(f"{refusal}: token {known} has these bytes")
            if tokens.get(wanted, data) != data:
                if not _is_alias(wanted, tokens[wanted], special_tokens):
                    raise ValueError(f"{refusal}: it belongs to {tokens[wanted]!r}")
                placed[literal] = wanted
                continue
            token_id = wanted
        elif known is not None:
            token_id = known
        else:
            token_id, free = free, free + 1
        if known is None and len(data) == 1:
            flags[literal] = ("added",)
        tokens[token_id] = data
        id_of[data] = token_id
        placed[literal] = token_id
    return placed, flags


def _is_alias(token_id: int, token: bytes, given: object) -> bool:
    """True if a token is a literal that shares its id with another literal."""
    try:
        return isinstance(given, Mapping) and given.get(token.decode("utf-8")) == token_id
    except UnicodeDecodeError:
        return False
