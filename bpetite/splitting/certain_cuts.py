"""Places where a scanner certainly cuts, whatever stands before them: there a text can be cut for readers and threads.

Two characters of a synchronizing word lead the transducer to one state from every state (scanner_tables.py). From there
on its cuts depend on nothing before these characters. So a few characters show a certain cut. Some patterns cut the end
of a text in another way (as lookahead does): a certain cut is also one before which this makes no difference. Without a
pattern, a cut where no merge joins two characters depends on these alone.
"""
from __future__ import annotations

import re
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from .compile.scanner_tables import ScannerTables
from .pretokenizer import Pretokenizer
from .scan._scan import COMMIT_BIT, MARK_BIT, Scanner

#: The most characters between a cut and the character that shows it, the latter included.
BACK: int = MARK_BIT

#: Characters that are looked at together.
AT_ONCE = 64

#: Characters or bytes in which :meth:`CertainCuts.near` looks for a cut.
REACH = 512


@dataclass(frozen=True)
class CertainCuts:
    """Finds certain cuts: by the tables of a scanner, or without a pattern by a scanner of pairs of characters."""

    tables: ScannerTables | None
    scanner: Scanner | None
    literals: tuple[bytes, ...]  # special tokens and separators, which cut a text before the pattern does
    ascii_only: bool  # see ASCII characters alone: a normal form leaves them as they are if ASCII follows

    @cached_property
    def margin(self) -> int:
        """Bytes before and after the characters that show a cut: a literal that overlaps them lies within."""
        return max(map(len, self.literals), default=1)

    @cached_property
    def _page_of(self) -> array[int]:
        return array("H", self.tables.page_of if self.tables else b"")

    @cached_property
    def _literal(self) -> re.Pattern[bytes]:
        """Finds every place where literals begin, maybe thousands, by two bytes first. Its group is the longest one."""
        longest_first = sorted(self.literals, key=len, reverse=True)
        heads = sorted({literal[:2] for literal in self.literals})
        either = (b"|".join(map(re.escape, some)) or b"(?!)" for some in (heads, longest_first))
        return re.compile(b"(?=%b)(?=(%b))" % tuple(either))

    def first(self, data: bytes, start: int) -> int:
        """The first certain cut of UTF-8 text at ``start`` or after it; -1 if the text shows none.

        The result depends only on the bytes from ``start - margin`` up to ``margin`` bytes after the characters that
        show the cut.
        """
        while start < len(data) and data[start] & 0xC0 == 0x80:
            start += 1
        if self.tables is None:
            assert self.scanner is not None
            begin = max(start - 1, 0)
            while begin and data[begin] & 0xC0 == 0x80:
                begin -= 1
            ends = (begin + end for end in self.scanner.ends(data[begin:])[:-1])
            return next((cut for cut in ends if self._is_free(data, cut - BACK, cut + BACK)), -1)
        tables, page_of = self.tables, self._page_of
        places: list[int] = []  # of the characters since the first of the synchronizing word
        steps: list[tuple[int, int]] = []  # of the characters after that word: the state before it, the output
        state = column = -1
        at = start
        while at < len(data):
            stop = min(at + AT_ONCE, len(data))
            while stop < len(data) and data[stop] & 0xC0 == 0x80:
                stop += 1
            for character in data[at:stop].decode("utf-8", "surrogateescape"):
                point = ord(character)
                size = 1 if point < 0x80 or 0xDC80 <= point <= 0xDCFF else 2 if point < 0x800 else 3 + (point > 0xFFFF)
                if 0xD800 <= point <= 0xDFFF or (self.ascii_only and point >= 0x80):
                    state = column = -1
                    at += size
                    continue
                code = point if point < 0x80 else tables.pages[page_of[point >> 6] * 64 + (point & 63)]
                if state < 0:
                    before, column = column, tables.column[code]
                    places = [places[-1], at] if before >= 0 else [at]
                    if before >= 0:
                        state = tables.synchronized[before * tables.columns + column] - 1
                        steps = []
                else:
                    places.append(at)
                    out = tables.out[code * tables.states + state]
                    steps.append((state, out))
                    state = tables.next[code * tables.states + state]
                    back = max((back for back in range(BACK) if out >> back & 1), default=-1)
                    cut = places[-1 - back] if 0 <= back < len(steps) else -1
                    if cut >= start and self._ends_alike(tables, steps[-1 - back :]):
                        if self._is_free(data, places[0] - 1, at + size):
                            return cut
                        state = column = -1  # a literal is there: begin anew after these characters
                at += size
        return -1

    def near(self, text: str | bytes, start: int) -> int:
        """The index of a certain cut in a text at ``start`` or soon after it; -1 if there is none."""
        first = max(0, start - self.margin)
        part = text[first : start + REACH]
        if isinstance(part, bytes):
            cut = self.first(part, start - first)
            return cut if cut < 0 else first + cut
        data, before = (piece.encode("utf-8", "surrogatepass") for piece in (part, part[: start - first]))
        cut = self.first(data, len(before))
        return cut if cut < 0 else first + len(data[:cut].decode("utf-8", "surrogatepass"))

    @staticmethod
    def _ends_alike(tables: ScannerTables, steps: list[tuple[int, int]]) -> bool:
        """True if the cuts before a place are the same when the text ends there. IN: the steps from that place on."""
        outs = [out for _, out in steps]
        end = tables.out[tables.end * tables.states + steps[0][0]]
        cuts = 0
        for at, out in enumerate(outs):
            cuts |= (out & (1 << BACK) - 1) >> at
        return end & (1 << BACK) - 2 == cuts & ~1 and not any(out >> COMMIT_BIT & 1 for out in (end, *outs))

    def _is_free(self, data: bytes, start: int, stop: int) -> bool:
        """True if no literal overlaps these bytes, and the character after them cannot change them."""
        if stop + self.margin > len(data) or (self.ascii_only and data[stop] >= 0x80):
            return False
        for found in self._literal.finditer(data, max(0, start - self.margin + 1), stop + self.margin):
            if found.start() >= stop:
                break
            if found.end(1) > start:
                return False
        return True


def certain_cuts(pretokenizer: Pretokenizer, literals: Sequence[str], normalized: bool) -> CertainCuts | None:
    """The certain cuts of a pre-tokenizer; None if it has none, as one whose pattern is not compiled. The `literals`,
    special tokens and separators, cut a text first; before that, a normal form of Unicode may change the text.

    >>> from .pretokenizer import pretokenizer
    >>> cuts = certain_cuts(pretokenizer(), ["<|endoftext|>"], normalized=False)
    >>> cuts.first(b"one two three four five", 2)
    7
    """
    scanner, tables = pretokenizer.scanner, pretokenizer.tables
    if scanner is None or (not any(tables.synchronized) if tables else pretokenizer.scanner_name != "words"):
        return None
    encoded = tuple(literal.encode() for literal in literals if literal)
    return CertainCuts(tables, None if tables else scanner, encoded, normalized)
