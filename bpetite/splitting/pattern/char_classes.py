"""The groups of code points that a pattern tells apart, as `regex` sees them.

A pattern looks at a character only through its sets: is it a letter, is it a space, is it an apostrophe? Two code
points that every set of a pattern treats alike can share one number, their *group*. GPT-2's pattern divides 1.1 million
code points into eleven groups, and the automaton reads groups.

Membership comes from `regex` itself, one item of a set at a time (`\\p{L}`, `\\s`, `(?i:s)`): it searches a string of
all code points. So the two cannot disagree on a version of Unicode. With an older version, a code point that it does
not assign is in the sets of its stand-in (`unicode_version.py`).
"""
from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from functools import lru_cache

import regex

from ..budget import Budget, NoTransducer
from .regex_parser import CharSet, Item

__all__ = ["Groups"]

LIMIT = 0x110000
PAGE = 64  # code points in a page of the code-point map: the range of the last byte of a UTF-8 sequence
PLANE = 0x10000
MAX_GROUPS = 254  # more have no codes of one byte
SEARCH = 10_000  # steps for the code points that one expression matches
# Planes 4 to 13 hold no characters, 15 and 16 only private use: within each, all code points are alike except the two
# noncharacters at its end. Testing three of each instead of 65,536 saves most of the time this module takes.
UNIFORM_PLANES = (*range(4, 14), 15, 16)

Ranges = tuple[tuple[int, int], ...]  # ascending, disjoint (start, stop)


def characters(start: int, stop: int) -> str:
    """The characters from code point `start` up to `stop`, without surrogates among them.

    Their UTF-32 is assembled one byte column at a time, in a tenth of the time of `chr` for each.
    """
    rows = range(start // 256, -(-stop // 256))  # of 256 code points
    utf32 = bytearray(1024 * len(rows))
    utf32[0::4] = bytes(range(256)) * len(rows)
    utf32[1::4] = b"".join([bytes((row % 256,)) * 256 for row in rows])
    utf32[2::4] = b"".join([bytes((row // 256,)) * 256 for row in rows])
    first = start - 256 * rows.start
    return utf32[4 * first : 4 * (first + stop - start)].decode("utf-32-le")


@lru_cache(maxsize=1)
def sample() -> tuple[str, list[int], list[int]]:
    """A string that stands for every code point but the surrogates.

    Returns (text, offsets, starts): the text is a sequence of runs; run k begins at offsets[k] with the code point
    starts[k] and counts up by one. In the middle of a uniform plane one character stands for all.
    """
    runs = [(0, 0xD800), (0xE000, 4 * PLANE), (14 * PLANE, 15 * PLANE)]
    for plane in UNIFORM_PLANES:
        runs += [(plane * PLANE, plane * PLANE + 1), (plane * PLANE + PLANE - 2, plane * PLANE + PLANE)]
    runs.sort()
    text, offsets, starts = [], [], []
    length = 0
    for start, stop in runs:
        offsets.append(length)
        starts.append(start)
        text.append(characters(start, stop))
        length += stop - start
    return "".join(text), offsets, starts


@lru_cache(maxsize=512)
def ranges_of(source: str) -> Ranges:
    """The code points that the one-character regular expression `source` matches."""
    text, offsets, starts = sample()
    ranges: list[tuple[int, int]] = []
    for match in regex.finditer(f"(?:{source})+", text):
        first, last = match.start(), match.end() - 1
        run, last_run = bisect_right(offsets, first) - 1, bisect_right(offsets, last) - 1
        start = starts[run] + first - offsets[run]
        stop = starts[last_run] + last - offsets[last_run] + 1
        if stop - 1 == starts[last_run] and (stop - 1) % PLANE == 0 and (stop - 1) // PLANE in UNIFORM_PLANES:
            stop += PLANE - 3  # this character stands for its plane, except the noncharacters
        ranges.append((start, stop))
    return tuple(ranges)


@lru_cache(maxsize=512)
def ranges_in(source: str, unicode: str | None) -> Ranges:
    """The code points that `source` matches in a version of Unicode; None for the version of `regex`."""
    ranges = ranges_of(source)
    if unicode is None:
        return ranges
    from .unicode_version import stand_ins  # not at the top: few tokenizers name a version

    table = stand_ins(unicode, source)
    members: list[tuple[int, int]] = []
    starts, stops = [start for start, _ in ranges], [stop for _, stop in ranges]
    for start, stop, stand_in in zip(table.starts, [*table.starts[1:], LIMIT], table.stand_ins):
        inside: Iterable[tuple[int, int]]
        if stand_in is None:
            inside = ranges[bisect_right(stops, start) : bisect_left(starts, stop)]
        else:
            inside = [(start, stop)] if regex.match(source, chr(stand_in)) else []
        for first, end in inside:
            first, end = max(first, start), min(end, stop)
            if members and members[-1][1] == first:
                first = members.pop()[0]
            members.append((first, end))
    return tuple(members)


class Groups:
    """The groups of code points that a collection of sets tells apart.

    `count` groups are numbered from 0 in the order of their first code points; `members(chars)` gives a set's groups.
    All work on a pattern after this is counted in `budget` too. Raises `NoTransducer` for too many sets or groups.
    """

    def __init__(self, sets: Iterable[CharSet], unicode: str | None = None) -> None:
        self.unicode = unicode
        self.sets: tuple[CharSet, ...] = tuple(dict.fromkeys(sets))
        self.items: tuple[Item, ...] = tuple(dict.fromkeys(item for chars in self.sets for item, _ in chars.items))
        self.numbers: dict[CharSet, int] = {chars: number for number, chars in enumerate(self.sets)}
        self.budget: Budget = Budget()
        words = 1 + len(self.items) // 64  # of an int with a bit for each item
        self.budget.spend(len(self.items) * words)
        bits = {item: 1 << bit for bit, item in enumerate(self.items)}
        #: For each set, the items that make a member, and the items whose absence makes one.
        self.masks: list[tuple[int, int]] = []
        for chars in self.sets:
            masks = [0, 0]
            for item, sign in chars.items:
                masks[not sign] |= bits[item]
            self.budget.spend(len(chars.items) * words)
            self.masks.append((masks[0], masks[1]))
        changes: dict[int, int] = {0: 0}  # code point -> the items that begin or end there, one bit each
        for bit, item in enumerate(self.items):
            for start, stop in self.ranges(item.source) if item.source else ((item.first, item.last + 1),):
                changes[start] = changes.get(start, 0) ^ (1 << bit)
                changes[stop] = changes.get(stop, 0) ^ (1 << bit)
        changes.pop(LIMIT, None)
        self.starts: list[int] = sorted(changes)
        self.groups: list[int] = []  # of the code points from starts[i] up to starts[i + 1]
        numbers: dict[int, int] = {}  # the sets that hold a code point, one bit each -> its group
        known: dict[int, int] = {}  # the items that hold it -> its group
        items = 0
        for start in self.starts:
            items ^= changes[start]
            if items not in known:
                self.budget.spend(len(self.sets) * words)
                known[items] = numbers.setdefault(self.sets_with(items), len(numbers))
                if len(numbers) > MAX_GROUPS:
                    raise NoTransducer(f"its sets tell more than {MAX_GROUPS} groups of characters apart")
            self.groups.append(known[items])
        self.count: int = len(numbers)
        self.held_by: list[int] = list(numbers)

    def ranges(self, source: str) -> Ranges:
        """The code points that the one-character regular expression `source` matches."""
        self.budget.spend(SEARCH)
        return ranges_in(source, self.unicode)

    def sets_with(self, items: int) -> int:
        """The sets that hold a character of exactly these items."""
        held = 0
        for number, (chars, (having, lacking)) in enumerate(zip(self.sets, self.masks)):
            inside = bool(items & having or ~items & lacking)
            held |= (inside != chars.negated) << number
        return held

    def members(self, chars: CharSet) -> frozenset[int]:
        """The groups of a set, which must be one of those given at the start."""
        number = self.numbers[chars]
        return frozenset(group for group, held in enumerate(self.held_by) if held >> number & 1)

    def group_of(self, code_point: int) -> int:
        return self.groups[bisect_right(self.starts, code_point) - 1]

    def two_stage(self, codes: list[int]) -> tuple[array[int], bytes]:
        """The map from code points to `codes[group]`: (page numbers by code point // 64, pages of 64 codes each)."""
        numbers: dict[bytes, int] = {}
        stage = array("H")
        page = b""  # begun, and not yet full
        for start, stop, group in zip(self.starts, [*self.starts[1:], LIMIT], self.groups):
            code = bytes((codes[group],))
            while start < stop:
                if page or stop - start < PAGE:
                    taken = min(PAGE - len(page), stop - start)
                    page += code * taken
                    start += taken
                    if len(page) == PAGE:
                        stage.append(numbers.setdefault(page, len(numbers)))
                        page = b""
                else:  # pages of one code
                    number = numbers.setdefault(code * PAGE, len(numbers))
                    stage.extend(array("H", (number,)) * ((stop - start) // PAGE))
                    start = stop - stop % PAGE
        return stage, b"".join(numbers)
