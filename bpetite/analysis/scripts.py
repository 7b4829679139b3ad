"""Scripts of characters, names for characters that cannot be seen, escapes for a terminal.

Scripts are Unicode's (UAX #24). ``regex`` is asked for them, so they have the same Unicode version as the classes of
split patterns.
"""
from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from functools import cache
from typing import Any

import regex

__all__ = ["COMMON", "escape", "invisible_name", "main_script", "scripts_of", "token_repr"]

#: The script of characters that belong to no single one: spaces, digits, punctuation, symbols, combining marks.
COMMON = "Common"

#: Names of scripts for ``\p{Script=...}``, the most frequent in corpora first: scripts of living languages, and
#: a few others. A name that the installed ``regex`` does not know is skipped; characters of other scripts are COMMON.
_SCRIPTS = """\
Latin Cyrillic Han Arabic Hangul Hiragana Katakana Greek Hebrew Devanagari Thai Bengali Tamil Telugu Georgian Armenian
Gujarati Gurmukhi Kannada Malayalam Oriya Sinhala Khmer Lao Myanmar Tibetan Ethiopic Mongolian Thaana Syriac Cherokee
Canadian_Aboriginal Bopomofo Yi Braille Coptic Gothic Ogham Runic Tifinagh Nko Javanese Balinese Sundanese Cham
"""

#: Short names of characters that are not visible themselves or that change the direction of others.
_INVISIBLE = {
    0x20: "SP", 0x7F: "DEL", 0x85: "NEL", 0xA0: "NBSP", 0xAD: "SHY", 0x34F: "CGJ", 0x115F: "HCF", 0x1160: "HJF",
    0x200B: "ZWSP", 0x200C: "ZWNJ", 0x200D: "ZWJ", 0x200E: "LRM", 0x200F: "RLM", 0x2028: "LS", 0x2029: "PS",
    0x202A: "LRE", 0x202B: "RLE", 0x202C: "PDF", 0x202D: "LRO", 0x202E: "RLO", 0x202F: "NNBSP", 0x2060: "WJ",
    0x2066: "LRI", 0x2067: "RLI", 0x2068: "FSI", 0x2069: "PDI", 0x2800: "BLANK", 0x3000: "IDSP", 0x3164: "HF",
    0xFEFF: "BOM", 0xFFA0: "HWHF",
}  # fmt: skip
_CONTROLS = (
    "NUL SOH STX ETX EOT ENQ ACK BEL BS HT LF VT FF CR SO SI DLE DC1 DC2 DC3 DC4 NAK SYN ETB CAN EM SUB ESC FS GS RS US"
)
_INVISIBLE |= dict(enumerate(_CONTROLS.split()))


@cache
def _finders() -> list[tuple[str, Any]]:
    finders = []
    for name in _SCRIPTS.split():
        try:
            finders.append((name, regex.compile(rf"\p{{Script={name}}}+")))
        except regex.error:
            continue  # newer than this `regex`
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


def invisible_name(character: str) -> str | None:
    """A short name for a character that cannot be seen or that moves others; None for a visible one.

    Space, line feed and tab have names too: a caller that shows them in another way must check for them first.

    >>> invisible_name("\\u202e"), invisible_name("\\ufe0f"), invisible_name("a")
    ('RLO', 'VS16', None)
    """
    code = ord(character)
    if code in _INVISIBLE:
        return _INVISIBLE[code]
    if 0xFE00 <= code <= 0xFE0F:
        return f"VS{code - 0xFE00 + 1}"
    if 0xE0100 <= code <= 0xE01EF:
        return f"VS{code - 0xE0100 + 17}"
    if unicodedata.category(character) in ("Cc", "Cf", "Cn", "Co", "Cs", "Zs", "Zl", "Zp"):
        return f"U+{code:04X}"
    return None


def escape(text: str) -> str:
    r"""Return text with escapes for unseen characters except spaces, so that a terminal interprets nothing in it.

    >>> escape("a\tb \x1b[0m")
    'a\\tb \\x1b[0m'
    """
    parts = (one if one == " " or not invisible_name(one) else one.encode("unicode-escape").decode() for one in text)
    return "".join(parts)


def token_repr(token: bytes) -> str:
    r"""Return a token for people: its text in quotes with escapes, or its bytes if they are not whole characters.

    >>> token_repr(b" the"), token_repr(b"\xe4\xbd"), token_repr("\u200d".encode())
    ("' the'", "b'\\xe4\\xbd'", "'\\u200d'")
    """
    try:
        return repr(token.decode("utf-8"))
    except UnicodeDecodeError:
        return repr(token)
