"""One long text, counted by several threads: ranges that begin at a guess, and the correction of wrong guesses."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from queue import SimpleQueue

from ._text_counter import TextCounter

Text = str | bytes
#: Counts something with a counter of its own while it runs. Returns the size of the texts that are done.
Job = Callable[[TextCounter], int]


class LongText:
    """One text in ranges, a job each, and a last job that waits for them and corrects those that began wrongly."""

    def __init__(self, text: Text, part: int) -> None:
        self.text = text
        self.part = part
        self.starts: range = range(0, len(text), part)
        #: (start, stop, reached) of each range that was counted, see `TextCounter.count_part`.
        self.ranges: list[tuple[int, int, int] | None] = [None] * len(self.starts)
        self.ended: SimpleQueue[None] = SimpleQueue()

    def jobs(self) -> Iterator[Job]:
        for number in range(len(self.starts)):
            yield partial(self._count, number)
        yield self._correct

    def _count(self, number: int, counter: TextCounter) -> int:
        try:
            start = self.starts[number]
            stop = min(start + self.part, len(self.text))
            self.ranges[number] = counter.count_part(self.text, start, stop, guess=True)
            return stop - start
        finally:
            self.ended.put(None)

    def _correct(self, counter: TextCounter) -> int:
        for _ in self.starts:
            self.ended.get()
        ranges = [counted for counted in self.ranges if counted is not None]
        if len(ranges) == len(self.ranges):  # else a range failed, and its error comes first
            _correct_ranges(self.text, ranges, counter)
        return 0


def _correct_ranges(text: Text, ranges: list[tuple[int, int, int]], counter: TextCounter) -> None:
    """Correct the counts of ranges that began at guessed starts: one scan of the whole text gives the result.

    IN: ranges of (start, stop, reached) in order; each begins at the stop of the range before. Where a scan reached
    another place than the next start, the counts of the next range are removed, and it is counted from that place.
    """
    true_start: int | None = None
    skip = skipped = 0
    for number, (start, stop, reached) in enumerate(ranges):
        if true_start is None or true_start == start:
            true_start = None if reached == stop else reached
            continue
        counter.count_part(text, start, stop, -1)
        last = number == len(ranges) - 1
        if true_start >= stop and not last:
            continue
        if skipped < skip and not last:
            skipped += 1
            continue
        _, _, reached = counter.count_part(text, true_start, max(stop, true_start))
        # A pre-token longer than a range is looked for at intervals that double.
        skip, skipped = (2 * skip + 1, 0) if reached == true_start else (0, 0)
        true_start = None if reached == stop else reached
