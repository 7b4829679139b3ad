"""Scripts of characters: Unicode's (UAX #24), of the same Unicode version as the classes of split patterns.
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
