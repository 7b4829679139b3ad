"""Where characters of a normalized text come from, so that offsets of tokens point into the text as it was given."""
from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from itertools import pairwise

__all__ = ["Origin", "trace"]


class Origin:
    """A normalized text; character i of it came from the characters ``starts[i]:ends[i]`` of the text given."""

    def __init__(self) -> None:
        self.text = ""
        self.starts: list[int] = []
        self.ends: list[int] = []


def trace(text: str, specials: Iterable[tuple[int, int]], form: str) -> Origin:
    """Normalize what lies between special tokens, and keep where each character came from.

    Args:
        text: The text as given.
        specials: (start, end) of the special tokens in it, in characters, ascending; they stay as they are.
        form: "NFC", "NFD", "NFKC" or "NFKD".

    >>> origin = trace("cafe\\u0301", [], "NFC")
    >>> origin.text, origin.starts, origin.ends
    ('café', [0, 1, 2, 3], [1, 2, 3, 5])
    """
    origin = Origin()
    parts: list[str] = []
    at = 0
    for start, end in [*specials, (len(text), len(text))]:
        for first, last in pairwise(_cuts(text[at:start], form)):
            _add(origin, parts, unicodedata.normalize(form, text[at + first : at + last]), at + first, at + last)  # type: ignore[arg-type]
        for place in range(start, end):
            _add(origin, parts, text[place], place, place + 1)
        at = end
    origin.text = "".join(parts)
    return origin


def _add(origin: Origin, parts: list[str], piece: str, start: int, end: int) -> None:
    parts.append(piece)
    origin.starts += [start] * len(piece)
    origin.ends += [end] * len(piece)


def _cuts(stretch: str, form: str) -> list[int]:
    """Places where a stretch can be cut so that its normalized pieces are its normalized whole; with both ends."""
    if not stretch:
        return []
    if unicodedata.is_normalized(form, stretch):  # type: ignore[arg-type]
        return list(range(len(stretch) + 1))
    cuts = [0]
    for place in range(1, len(stretch)):
        if unicodedata.combining(stretch[place]):
            continue
        piece, following = stretch[cuts[-1] : place], stretch[place]
        whole = unicodedata.normalize(form, piece + following)  # type: ignore[arg-type]
        if whole == unicodedata.normalize(form, piece) + unicodedata.normalize(form, following):  # type: ignore[arg-type]
            cuts.append(place)
    cuts.append(len(stretch))
    pieces = "".join(unicodedata.normalize(form, stretch[a:b]) for a, b in pairwise(cuts))  # type: ignore[arg-type]
    return cuts if pieces == unicodedata.normalize(form, stretch) else [0, len(stretch)]  # type: ignore[arg-type]
