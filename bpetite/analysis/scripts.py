"""Scripts of characters, and escapes for what cannot be seen.

Scripts are Unicode's (UAX #24), of the same Unicode version as the classes of split patterns.
"""
from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from ..splitting.pattern.unicode_data import class_ranges

#: The script of characters that belong to no single one: spaces, digits, punctuation, symbols, combining marks.
COMMON = "Common"

#: Names of scripts for ``\p{Script=...}``, the most frequent in corpora first: scripts of living languages, and
#: a few others. Characters of other scripts are COMMON.
_SCRIPTS = """\
Latin Cyrillic Han Arabic Hangul Hiragana Katakana Greek Hebrew Devanagari Thai Bengali Tamil Telugu Georgian Armenian
Gujarati Gurmukhi Kannada Malayalam Oriya Sinhala Khmer Lao Myanmar Tibetan Ethiopic Mongolian Thaana Syriac Cherokee
Canadian_Aboriginal Bopomofo Yi Braille Coptic Gothic Ogham Runic Tifinagh Nko Javanese Balinese Sundanese Cham
"""

#: Characters that Python calls printable and nobody sees, beside variation selectors.
_BLANK = frozenset("\u034f\u115f\u1160\u2800\u3164\uffa0")


@cache
def _finders() -> list[tuple[str, re.Pattern[str]]]:
    finders = []
    for name in _SCRIPTS.split():
        ranges = class_ranges(f"Script={name}") or ()
        members = "".join(f"\\U{start:08x}-\\U{stop - 1:08x}" for start, stop in ranges)
        finders.append((name, re.compile(f"[{members}]+")))
    return finders


def scripts_of(characters: Iterable[str]) -> dict[str, str]:
    """character -> script, for characters that belong to one script; others are left out.

    >>> scripts_of("aж1")
    {'a': 'Latin', 'ж': 'Cyrillic'}
    """
    left = "".join(sorted(set(characters)))
    script_of: dict[str, str] = {}
    for name, finder in _finders():
        if not left:
            break
        if of_script := "".join(finder.findall(left)):
            script_of.update(dict.fromkeys(of_script, name))
            left = finder.sub("", left)
    return script_of


def main_script(text: str, scripts: dict[str, str]) -> str:
    """The script of the first character that has one, else "Common".

    >>> main_script(" жa", scripts_of("жa"))
    'Cyrillic'
    """
    return next((scripts[character] for character in text if character in scripts), COMMON)


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
