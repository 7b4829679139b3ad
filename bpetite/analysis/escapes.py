"""Texts and tokens for people, with escapes for characters that cannot be seen."""
from __future__ import annotations

#: Characters that Python calls printable and nobody sees, beside variation selectors.
_BLANK = frozenset("\u034f\u115f\u1160\u2800\u3164\uffa0")


def escape(text: str, keep: str = "") -> str:
    r"""Return text with escapes for characters that cannot be seen or that move others, so that a terminal interprets
    nothing in it; spaces stay, and those to keep. A byte that is no part of a character is U+DC00 plus the byte.

    >>> escape("a\tb \x1b[0m\udcff")
    'a\\tb \\x1b[0m\\xff'
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(one if one in keep or _is_visible(one) else _escaped(one) for one in text)


def _is_visible(one: str) -> bool:
    variation = "\ufe00" <= one <= "\ufe0f" or "\U000e0100" <= one <= "\U000e01ef"
    return one.isprintable() and one not in _BLANK and not variation


def _escaped(one: str) -> str:
    return f"\\x{ord(one) - 0xDC00:02x}" if "\udc80" <= one <= "\udcff" else one.encode("unicode-escape").decode()


def token_repr(token: bytes) -> str:
    r"""Return a token for people: its text in quotes with escapes, or its bytes if they are not whole characters.

    >>> token_repr(b" the"), token_repr(b"\xe4\xbd"), token_repr("\u200d".encode())
    ("' the'", "b'\\xe4\\xbd'", "'\\u200d'")
    """
    try:
        return repr(token.decode("utf-8"))
    except UnicodeDecodeError:
        return repr(token)
