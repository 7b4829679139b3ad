"""The classes of tokens that a vocabulary is made of."""
from __future__ import annotations

from collections.abc import Mapping

import regex

__all__ = ["TOKEN_CLASSES", "token_class", "token_classes"]

#: class -> its members, for people. A token belongs to the first class that fits.
TOKEN_CLASSES = {
    "special": "special tokens",
    "byte": "one byte",
    "partial": "not whole characters, more than one byte",
    "whitespace": "white space only",
    "space + word": "letters and marks after a space",
    "word": "letters and marks",
    "space + digits": "digits after a space",
    "digits": "digits",
    "space + symbols": "punctuation and symbols after a space",
    "symbols": "punctuation and symbols",
    "mixed": "anything else, such as letters with digits, or two words",
}

_SHAPE = regex.compile(
    r"(?P<whitespace>\s+)| ?(?:(?P<word>[\p{L}\p{M}]+)|(?P<digits>\p{N}+)|(?P<symbols>[^\s\p{L}\p{M}\p{N}]+))"
)


def token_class(token: bytes, special: bool = False) -> str:
    """The class of a token, a key of TOKEN_CLASSES.

    >>> [token_class(token) for token in (b" the", b"42", b"\\xe4\\xbd", b"x", b"a1")]
    ['space + word', 'digits', 'partial', 'byte', 'mixed']
    """
    if special:
        return "special"
    if len(token) == 1:
        return "byte"
    try:
        text = token.decode("utf-8")
    except UnicodeDecodeError:
        return "partial"
    match = _SHAPE.fullmatch(text)
    if match is None or match.lastgroup is None:
        return "mixed"
    return f"space + {match.lastgroup}" if match.start(match.lastgroup) else match.lastgroup


def token_classes(tokens: Mapping[int, bytes], specials: set[int]) -> dict[str, list[int]]:
    """class -> ids, in the order of TOKEN_CLASSES; classes without a token are left out."""
    found: dict[str, list[int]] = {name: [] for name in TOKEN_CLASSES}
    for token_id, token in tokens.items():
        found[token_class(token, token_id in specials)].append(token_id)
    return {name: sorted(ids) for name, ids in found.items() if ids}
