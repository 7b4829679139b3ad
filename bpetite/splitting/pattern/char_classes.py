"""The groups of code points that a pattern tells apart.

A pattern looks at a character only through its sets: is it a letter, is it a space, is it an apostrophe? Two code
points that every set of a pattern treats alike can share one number, their *group*. GPT-2's pattern divides 1.1 million
code points into eleven groups, and the automaton reads groups. unicode_data.py has the classes of characters.
"""
from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable

from .regex_parser import CharSet, Item
from .unicode_data import Ranges, class_ranges, ignoring_case

LIMIT = 0x110000
PAGE = 64  # code points in a page of the code-point map: the range of the last byte of a UTF-8 sequence
MAX_GROUPS = 254  # more have no codes of one byte
#: o200k takes 250,000, the most of the published patterns.
MAX_STEPS = 1_000_000
IGNORING_CASE = 1_000  # steps to add the other cases of a set of characters


class NoTransducer(ValueError):
    """No transducer within the limits of `pattern` and `compile` cuts as the pattern does."""


class Budget:
    """Counts the steps of one compilation, in units of about one operation in Python.

    A few patterns have automata that grow exponentially, `(?:a|b)*a(?:a|b){20}` for one, and thousands of alternatives
    make any of them large. When the steps are spent, the pattern is left to `regex`. Counted work, unlike time, is the
    same on every machine, so a pattern gets the same kind of scanner everywhere.
    """

    def __init__(self) -> None:
        self.left: int = MAX_STEPS

    def spend(self, steps: int) -> None:
        """Raises `NoTransducer` when the steps are spent."""
        self.left -= steps
        if self.left < 0:
            raise NoTransducer(f"compiling it takes more than {MAX_STEPS:,} steps")


class Groups:
    """The groups of code points that a collection of sets tells apart.

    `count` groups are numbered from 0 in the order of their first code points; `members(chars)` gives a set's groups.
    All work on a pattern after this is counted in `budget` too. Raises `NoTransducer` for too many sets or groups.
    """

    def __init__(self, sets: Iterable[CharSet]) -> None:
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
            for start, stop in self.ranges(item):
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

    def ranges(self, item: Item) -> Ranges:
        """The code points of one member of a set."""
        ranges = class_ranges(item.name) or () if item.name else ((item.first, item.last + 1),)
        self.budget.spend(len(ranges) + item.ignore_case * IGNORING_CASE)
        return ignoring_case(ranges) if item.ignore_case else ranges

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

    def pages(self, codes: list[int]) -> tuple[array[int], bytes]:
        """The map from code points to `codes[group]`: (page numbers by code point // 64, pages of 64 codes each)."""
        numbers: dict[bytes, int] = {}
        page_of = array("H")
        page = b""  # begun, and not yet full
        for start, stop, group in zip(self.starts, [*self.starts[1:], LIMIT], self.groups):
            code = bytes((codes[group],))
            while start < stop:
                if page or stop - start < PAGE:
                    taken = min(PAGE - len(page), stop - start)
                    page += code * taken
                    start += taken
                    if len(page) == PAGE:
                        page_of.append(numbers.setdefault(page, len(numbers)))
                        page = b""
                else:  # pages of one code
                    number = numbers.setdefault(code * PAGE, len(numbers))
                    page_of.extend(array("H", (number,)) * ((stop - start) // PAGE))
                    start = stop - stop % PAGE
        return page_of, b"".join(numbers)
