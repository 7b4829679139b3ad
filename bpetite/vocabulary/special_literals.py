"""The literals of special tokens: their validity and their ids."""
from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TypeAlias

from ..errors import short_repr

#: Special tokens as callers give them: literals, or literal -> id.
SpecialTokens: TypeAlias = Sequence[str] | Mapping[str, int] | None
#: The most pairs of added tokens that are compared to see if the order of the search matters.
COMPARED = 250_000
#: Added tokens longer than this many characters count as overlapping, which costs speed and changes no ids.
LONG = 100


def check_literal(literal: object) -> bytes:
    """The UTF-8 of a special token's literal; an error if a literal cannot be this object.

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
    special_tokens: SpecialTokens, tokens: Mapping[int, bytes], find: Callable[[bytes], int | None],
    free: int | None = None,
) -> tuple[dict[str, int], dict[str, tuple[str, ...]], dict[int, bytes]]:
    """Three dicts: literal -> id; literal -> flags of the literals that are the only token of a byte; id -> bytes of
    the literals that were no tokens. `find` gives the id of a token by its bytes, or None.

    A literal without an id keeps the id of the token with its bytes; others get the ids from `free` on, or after the
    highest one, in the order given. If literals share an id, the token keeps its bytes if they are one of the literals;
    else it gets the bytes of the first one.

    >>> place_specials(["<s>", "a"], {0: b"a"}, {b"a": 0}.get)
    ({'<s>': 1, 'a': 0}, {}, {1: b'<s>'})
    >>> place_specials(["b"], {0: b"a"}, {b"a": 0}.get)
    ({'b': 1}, {'b': ('added',)}, {1: b'b'})
    """
    if special_tokens is None:
        return {}, {}, {}
    if isinstance(special_tokens, str | bytes) or not isinstance(special_tokens, Iterable):
        hint = f": [{short_repr(special_tokens)}] is a list of one" if isinstance(special_tokens, str) else ""
        raise TypeError(
            f"special_tokens is a list of str or a dict literal -> id, not {short_repr(special_tokens)}{hint}"
        )
    placed: dict[str, int] = {}
    flags: dict[str, tuple[str, ...]] = {}
    given = special_tokens if isinstance(special_tokens, Mapping) else dict.fromkeys(special_tokens)
    new: dict[int, bytes] = {}
    ids: dict[bytes, int] = {}
    if free is None:
        free = tokens.next_id if hasattr(tokens, "next_id") else max(tokens, default=-1) + 1
    for literal, wanted in given.items():
        data = check_literal(literal)
        known = ids[data] if data in ids else find(data)
        if given is special_tokens:
            if type(wanted) is not int:
                raise TypeError(f"special token {literal!r}: its id is an int, not {short_repr(wanted)}")
            refusal = f"special token {literal!r} cannot have the id {wanted}"
            if known not in (None, wanted):
                raise ValueError(f"{refusal}: token {known} has these bytes")
            held = new.get(wanted) or tokens.get(wanted, data)
            if held != data:
                # an alias, if the token is a literal with the same id; no literal has a lone surrogate
                if given.get(held.decode("utf-8", "surrogateescape")) != wanted:
                    raise ValueError(f"{refusal}: it belongs to {held!r}")
                placed[literal] = wanted
                continue
            token_id = wanted
        elif known is not None:
            token_id = known
        else:
            token_id, free = free, free + 1
        if known is None and len(data) == 1:
            flags[literal] = ("added",)
        if known is None:
            new[token_id] = data
        ids[data] = token_id
        placed[literal] = token_id
    return placed, flags, new


def overlap(early: Collection[str], late: Collection[str]) -> bool:
    """True if a late token can take characters of an early one in some text, when all are searched for at once: it
    begins before the early one, or where that begins and is longer. An early token that begins first is found in both
    ways."""
    if len(early) * len(late) > COMPARED or (max(map(len, early)) > LONG and max(map(len, late)) > LONG):
        return True
    beginnings = {one[:n] for one in early for n in range(1, min(len(one), LONG + 1))}
    endings = (other[-n:] for other in late for n in range(1, min(len(other), LONG + 1)))
    return not beginnings.isdisjoint(endings) or any(one in other for one in early for other in late)
