"""Matches of `regex`, for patterns that are not compiled, with the characters of Unicode 16.0.

`regex` knows more characters with each release. A code point that Unicode 16.0 does not assign is shown to it as one
that no version assigns. Characters and ranges that a pattern writes out stay as they are.
"""
from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import lru_cache

import regex

from .unicode_data import class_ranges

#: The code points that `regex` may learn are in planes 0 to 3 and 14; it sees them in planes 10 to 13 and 4.
TO_EMPTY_PLANE = 0xA0000
NONCHARACTER = 0xFDD0  # never assigned, and below U+10000
#: Later versions have U+0295 in another category than 16.0; this letter, U+0138, stays in its old one.
MOVED = {0x295: 0x138}
MAX_KEPT = 1 << 16

_CHARACTER = re.compile(r"\\(?:x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|[0-7]{1,3}|.)|.", re.S)


def matches(pattern: regex.Pattern[str], text: str) -> Iterator[tuple[int, int]]:
    """Yield (start, end) of the matches of a regular expression, but for an empty one right after another, which
    ``tokenizers`` does not find either."""
    last = -1
    for match in pattern.finditer(as_regex_sees(text, pattern.pattern)):
        start, end = match.span()
        if start < end or end != last:
            yield start, end
        last = end


def as_regex_sees(text: str, pattern: str) -> str:
    """A text of the same length with stand-ins for the code points that Unicode 16.0 does not assign.

    >>> as_regex_sees("a\\u0378", r"\\\\w"), as_regex_sees("a\\u0378", "\\u0378")
    ('a\\U000a0378', 'a\\u0378')
    """
    return text if text.isascii() else text.translate(_stand_ins(pattern))


class _StandIns(dict[int, int]):
    """A table for `str.translate`, filled as code points are asked for.

    Args:
        pattern: What it writes out has to hold a stand-in exactly if it holds the code point. A code point without
            such a stand-in stays.
    """

    def __init__(self, pattern: str) -> None:
        self.written = written_out(pattern)
        self.unassigned = class_ranges("Cn") or ()
        self.starts = [start for start, _ in self.unassigned]

    def __missing__(self, point: int) -> int:
        choices: tuple[int, ...] = (MOVED.get(point, point),)
        if self.is_unassigned(point):
            choices = (point + TO_EMPTY_PLANE if point < 0x40000 else point - TO_EMPTY_PLANE, NONCHARACTER)
        sides = self.sides(point)
        if len(self) >= MAX_KEPT:
            self.clear()
        self[point] = seen = next((choice for choice in choices if self.sides(choice) == sides), point)
        return seen

    def is_unassigned(self, point: int) -> bool:
        if not (point < 0x40000 or point >> 16 == 14):
            return False
        at = bisect_right(self.starts, point) - 1
        return at >= 0 and point < self.unassigned[at][1]

    def sides(self, point: int) -> list[bool]:
        """True for each written range that holds it."""
        return [first <= point <= last for first, last in self.written]


_stand_ins = lru_cache(maxsize=64)(_StandIns)


def written_out(pattern: str) -> list[tuple[int, int]]:
    r"""The characters beyond ASCII and the ranges that a pattern writes out, (first, last).

    It may find more, as in ``\w-é``, which does no harm.
    """
    points = [_point(match.group()) for match in _CHARACTER.finditer(pattern)]
    pairs = {(point, point) for point in points if point >= 0x80}
    pairs |= {
        (first, last)
        for first, between, last in zip(points, points[1:], points[2:])
        if between == ord("-") and last >= 0x80 and first <= last
    }
    return sorted(pairs)


def _point(written: str) -> int:
    if len(written) > 2 and written[1] in "xuU":
        return int(written[2:], 16)
    if len(written) > 1 and written[1:].isdigit() and written.isascii() and not set(written[1:]) & set("89"):
        return int(written[1:], 8)
    return ord(written[-1])
