"""The version of Unicode for splitting text: the version of ``regex``, or an older one that is asked for.

Unicode defines letters, digits and spaces, and each version adds code points to them. With a named version, a code
point that it does not assign is read as U+D0000, which no version assigns: it is only in the classes of unassigned code
points. Characters and ranges that a pattern writes out are unchanged.
"""
from __future__ import annotations

import json
import os
import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import cache, lru_cache

import regex

__all__ = ["StandIns", "assigned", "check_unicode", "matches", "stand_ins", "unassigned", "unicode_version"]

LIMIT = 0x110000
#: Planes that no version assigns a character in. The noncharacters at the end of each are left out.
EMPTY_PLANES = [(plane << 16, (plane << 16) + 0xFFFE) for plane in range(13, 3, -1)]

_CHARACTER = re.compile(r"\\(?:x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|[0-7]{1,3}|.)|.", re.S)
_free = regex.compile(r"\p{Cn}")
_NEEDS_EQUAL = re.compile(r"\\N\{|\\[1-9]|\\g<|\(\?P=")


@cache
def assigned() -> dict[str, str]:
    """version -> the code points that it was the first to assign, of the first version all that it assigns.

    They are ranges in ascending order, two hexadecimal numbers each: how many code points lie between it and the range
    before, and how many are in it. Noncharacters, surrogates and private use count as assigned. This is the property
    Age (Unicode Standard Annex 44); `tools/unicode_ages.py` makes the file.
    """
    with open(os.path.join(os.path.dirname(__file__), "../../data/unicode-ages.json"), encoding="utf-8") as file:
        ages: dict[str, str] = json.load(file)
    return ages


@cache
def unicode_version() -> str:
    """The newest Unicode version known here whose characters ``regex`` knows, such as "17.0"."""
    for version, ranges in reversed(assigned().items()):
        # ``regex`` does not state its version. A code point that a version was the first to assign reveals it.
        if not regex.match(r"\p{Cn}", chr(int(ranges.split(maxsplit=1)[0], 16))):
            return version
    return "6.0 or older"


def check_unicode(unicode: object) -> None:
    """Raise TypeError or ValueError unless this is None or a version of Unicode that ``regex`` covers."""
    if unicode is None:
        return
    if not isinstance(unicode, str):
        raise TypeError(f'unicode is a version such as "16.0", or None, not {unicode!r}')
    known = list(assigned())
    if unicode not in known:
        raise ValueError(f"unicode={unicode!r} is not a version that bpetite knows: {', '.join(known)}")
    newest = unicode_version()
    if newest not in known or known.index(unicode) > known.index(newest):
        raise ValueError(
            f"unicode={unicode!r} is newer than the Unicode {newest} of the installed regex {regex.__version__}: "
            "upgrade it (pip install --upgrade regex)"
        )


@cache
def unassigned(version: str) -> tuple[tuple[int, int], ...]:
    """The code points that a version of Unicode does not assign, as ascending (start, stop); no noncharacters.

    >>> [f"{start:X}..{stop - 1:X}" for start, stop in unassigned("16.0")][:2]
    ['378..379', '380..383']
    """
    taken: list[tuple[int, int]] = []
    for ranges in list(assigned().values())[: list(assigned()).index(version) + 1]:
        numbers = [int(number, 16) for number in ranges.split()]
        at = 0
        for skipped, length in zip(numbers[::2], numbers[1::2]):
            taken.append((at + skipped, at + skipped + length))
            at += skipped + length
    taken.sort()
    starts = [0, *(stop for _, stop in taken)]
    stops = [*(start for start, _ in taken), LIMIT]
    return tuple((start, stop) for start, stop in zip(starts, stops) if start < stop)


class StandIns(dict[int, int]):
    """The code points that a pattern sees under a named version of Unicode: a table for `str.translate`.

    Every code point that the version does not assign has a stand-in that no version assigns, on the same side of every
    character and range that the pattern writes out. The table fills as code points are asked for.

    Raises:
        ValueError: There is no such stand-in, because the pattern writes out code points that newer versions assign; or
            the pattern compares parts of the text with each other.

    >>> "a\\u0378".translate(StandIns("16.0", r"\\\\w"))
    'a\\U000d0000'
    """

    KEPT = 1 << 16

    def __init__(self, version: str, pattern: str) -> None:
        written = written_out(pattern, version)
        edges = sorted({edge for first, last in written for edge in (first, last + 1)})
        free: dict[tuple[bool, ...], int] = {}
        for start, stop in (*EMPTY_PLANES, *unassigned(list(assigned())[-1])):
            for point in _cells(start, stop, edges):
                if (sides := _sides(point, written)) not in free and _free.match(chr(point)):
                    free[sides] = point
        self.starts: list[int] = [0]
        self.stand_ins: list[int | None] = [None]  # of the code points from starts[i] up to starts[i + 1]
        for start, stop in unassigned(version):
            for at in _cells(start, stop, edges):
                stand_in = free.get(_sides(at, written))
                if stand_in is None:
                    raise ValueError(
                        f"unicode={version!r}: the pattern {pattern!r} writes out U+{at:04X}, alone or in a range, "
                        "which that version does not assign and a newer one does; name a newer version, or None"
                    )
                self.starts.append(at)
                self.stand_ins.append(stand_in)
            self.starts.append(stop)
            self.stand_ins.append(None)

    def __missing__(self, point: int) -> int:
        stand_in = self.stand_ins[bisect_right(self.starts, point) - 1]
        if len(self) >= self.KEPT:
            self.clear()
        self[point] = seen = point if stand_in is None else stand_in
        return seen


def _cells(start: int, stop: int, edges: list[int]) -> list[int]:
    """The beginnings of the parts into which edges cut the range."""
    return [start, *edges[bisect_right(edges, start) : bisect_right(edges, stop - 1)]]


def _sides(point: int, written: list[tuple[int, int]]) -> tuple[bool, ...]:
    return tuple(first <= point <= last for first, last in written)


@lru_cache(maxsize=64)
def stand_ins(version: str, pattern: str) -> StandIns:
    """The table of a version and a pattern, made once."""
    return StandIns(version, pattern)


def matches(pattern: regex.Pattern[str], unicode: str | None, text: str) -> Iterator[tuple[int, int]]:
    """(start, end) of the matches of a regular expression that has the classes of a version of Unicode."""
    seen = text if unicode is None or text.isascii() else text.translate(stand_ins(unicode, pattern.pattern))
    return (match.span() for match in pattern.finditer(seen))


def written_out(pattern: str, version: str) -> list[tuple[int, int]]:
    """The characters beyond ASCII and the ranges that a pattern writes out, (first, last), and perhaps more than those:
    whatever looks like one, as in `\\w-é`, does no harm."""
    if match := _NEEDS_EQUAL.search(pattern):
        raise ValueError(
            f"unicode={version!r}: {match.group()!r} at offset {match.start()} of the pattern {pattern!r} is not "
            "supported where a version is named"
        )
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
        return min(int(written[2:], 16), LIMIT - 1)
    if len(written) > 1 and written[1:].isdigit() and written.isascii() and not set(written[1:]) & set("89"):
        return int(written[1:], 8)
    return ord(written[-1])
