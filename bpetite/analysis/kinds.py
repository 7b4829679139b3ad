"""What kinds of token a vocabulary is made of."""
from __future__ import annotations

from collections.abc import Mapping

import regex

__all__ = ["KINDS", "kind_of", "kinds_of"]

#: kind -> what belongs to it, for people. Each token is of the first kind that fits.
KINDS = {
    "special": "special tokens",
    "byte": "one byte",
    "partial": "not whole characters, more than one byte",
    "whitespace": "white space alone",
    "space + word": "letters and marks behind a space",
    "word": "letters and marks",
    "space + digits": "digits behind a space",
    "digits": "digits",
    "space + symbols": "punctuation and symbols behind a space",
    "symbols": "punctuation and symbols",
    "mixed": "anything else, such as letters with digits, or two words",
}

_SHAPES = [
    ("whitespace", regex.compile(r"\s+")),
    ("word", regex.compile(r"( ?)[\p{L}\p{M}]+")),
    ("digits", regex.compile(r"( ?)\p{N}+")),
    ("symbols", regex.compile(r"( ?)[^\s\p{L}\p{M}\p{N}]+")),
]


def kind_of(token: bytes, special: bool = False) -> str:
    """The kind of a token, a key of KINDS.

    >>> kind_of(b" the"), kind_of(b"42"), kind_of(b"\\xe4\\xbd"), kind_of(b"x"), kind_of(b"a1")
    ('space + word', 'digits', 'partial', 'byte', 'mixed')
    """
    if special:
        return "special"
    if len(token) == 1:
        return "byte"
    try:
        text = token.decode("utf-8")
    except UnicodeDecodeError:
        return "partial"
    for kind, shape in _SHAPES:
        match = shape.fullmatch(text)
        if match:
            return f"space + {kind}" if match.lastindex and match.group(1) else kind
    return "mixed"


def kinds_of(tokens: Mapping[int, bytes], specials: set[int]) -> dict[str, list[int]]:
    """kind -> ids, in the order of KINDS; kinds without a token are left out."""
    found: dict[str, list[int]] = {kind: [] for kind in KINDS}
    for token_id, token in tokens.items():
        found[kind_of(token, token_id in specials)].append(token_id)
    return {kind: sorted(ids) for kind, ids in found.items() if ids}
