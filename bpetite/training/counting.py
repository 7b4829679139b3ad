"""Texts in, pre-token counts out: batches, threads and the ways to cut that are not compiled."""
from __future__ import annotations

import operator
import os
import re
from array import array
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from itertools import accumulate, chain, islice
from queue import SimpleQueue
from typing import TypeVar

from .. import patterns
from ..patterns import Pattern
from ..splitting.pretokenizer import Pretokenizer, pretokenizer, split_one
from ..steps.normalizers import FORMS, normalizer
from ._count import TextCounter, take_batch
from ._counttable import CountTable
from .counts import PretokenCounts

__all__ = ["Progress", "check_specials", "count_pretokens"]

#: Called as progress(stage, done, total): "count" with characters of str and bytes of bytes, total None where the
#: number of texts is not known beforehand; "merge" with learned tokens. Always from the thread that called.
Progress = Callable[[str, int, int | None], object]

PART = 1 << 20  # characters (bytes of bytes) counted in one go
PIECES = 1 << 14  # pre-tokens counted in one go where `regex` splits

Text = str | bytes
Result = TypeVar("Result")
Job = Callable[[TextCounter], int]


def count_pretokens(
    texts: Text | Iterable[Text],
    *,
    pattern: Pattern = patterns.GPT2,
    special_tokens: Sequence[str] = (),
    normalization: str | None = None,
    num_threads: int | None = None,
    progress: Progress | None = None,
) -> PretokenCounts:
    """Count the pre-tokens of texts.

    The texts are read once, a bounded number of them at a time; one long text is shared by the threads too. The result
    is the same for any number of threads and however the memory is cut.

    Args:
        texts: Documents, str or UTF-8 bytes; no pre-token spans two. A single str or bytes is one document.
        pattern: The split pattern. What `regex` itself has to split runs on one thread.
        special_tokens: Literals that cut the text and are not counted.
        normalization: "NFC", "NFD", "NFKC", "NFKD" or None; applied to the text between special tokens.
        num_threads: Threads to count on; None for one a processor.
        progress: Called as ``progress("count", done, total)`` now and then, see :data:`Progress`.

    Raises:
        TypeError: A text that is neither str nor bytes.
        UnicodeEncodeError: A str holds a lone surrogate.
        UnicodeDecodeError: bytes are not UTF-8.

    >>> dict(count_pretokens(["the cat", "the dog"]))
    {b' cat': 1, b' dog': 1, b'the': 2}
    """
    specials = check_specials(special_tokens)
    if normalization is not None and normalization not in FORMS:
        raise ValueError(f"normalization {normalization!r} is not one of {', '.join(FORMS)} or None")
    threads = _thread_count(num_threads)
    if isinstance(texts, (str, bytes)):
        texts = [texts]
    elif not isinstance(texts, Iterable):
        raise TypeError(f"texts are str, bytes or an iterable of them, not {type(texts).__name__}")
    total = None if progress is None else _total(texts)
    work = _Counting(pretokenizer(pattern), specials, normalization, threads)
    done = 0
    for size in work.run(iter(texts)):
        done += size
        if progress is not None and size:
            progress("count", done, total)
    made_with = {"pattern": pattern, "normalization": normalization, "special_tokens": specials}
    return PretokenCounts.from_table(work.collect(), made_with, work.documents)


def check_specials(special_tokens: Sequence[str]) -> tuple[str, ...]:
    """The literals without repeats, or the error that says which one is wrong."""
    if isinstance(special_tokens, (str, bytes)) or not isinstance(special_tokens, Iterable):
        raise TypeError(f"special_tokens is a list of str, not {special_tokens!r}")
    specials = tuple(dict.fromkeys(special_tokens))
    for literal in specials:
        if not isinstance(literal, str):
            raise TypeError(f"a special token is a str, not {literal!r}")
        if not literal:
            raise ValueError("a special token must not be empty")
        try:
            literal.encode("utf-8")
        except UnicodeEncodeError as bad:
            raise ValueError(f"special token {literal!r} holds a lone surrogate at {bad.start}") from None
    return specials


def _thread_count(num_threads: int | None) -> int:
    if num_threads is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    threads = operator.index(num_threads)
    if threads < 1:
        raise ValueError(f"num_threads must be at least 1, not {threads}")
    return threads


def _total(texts: Iterable[Text]) -> int | None:
    if not isinstance(texts, (list, tuple)):
        return None
    return sum(map(len, texts)) if all(isinstance(text, (str, bytes)) for text in texts) else None


class _Counting:
    """One call of `count_pretokens`: turns texts into jobs, runs them, adds up what they found."""

    def __init__(
        self, pretokenizer: Pretokenizer, specials: tuple[str, ...], normalization: str | None, threads: int
    ) -> None:
        self.documents = 0
        self.pretokenizer = pretokenizer
        self.normalize = normalizer(normalization)
        by_length = sorted(specials, key=len, reverse=True)
        self.cut = re.compile("|".join(map(re.escape, by_length))) if specials else None
        by_regex = pretokenizer.scanner_kind == "regex"
        # Where Python cuts the special tokens out, the counter has none to look for.
        self.specials = () if by_regex or normalization else tuple(literal.encode() for literal in specials)
        # With one pattern a pre-token depends on nothing before it, so a text can be cut where one ends. With several,
        # a cut of a later one may lie inside a match of an earlier one.
        stages = pretokenizer.pattern
        self.one_stage = pretokenizer.scanner is not None and (isinstance(stages, str) or len(stages or ()) == 1)
        self.counters = [self._counter() for _ in range(1 if by_regex else threads)]
        self.extra = self._counter()  # for the caller's thread while the others work

    def _counter(self) -> TextCounter:
        return TextCounter(self.pretokenizer.scanner, self.specials)

    def collect(self) -> CountTable:
        """The table of everything counted."""
        table = self.counters[0].table
        for counter in [*self.counters[1:], self.extra]:
            table.update(counter.table)
        return table

    def run(self, texts: Iterator[Text]) -> Iterator[int]:
        """Count the texts; yields the sizes of what is done."""
        if self.pretokenizer.scanner_kind == "regex":
            yield from (self._by_regex(text) for text in self._each(texts))
        elif self.normalize is not None:
            yield from _in_order(self._batches(self._normalized(self._each(texts))), self.counters)
        else:
            yield from _in_order(self._jobs(texts), self.counters)

    def _each(self, texts: Iterator[Text]) -> Iterator[Text]:
        for text in texts:
            if not isinstance(text, (str, bytes)):
                raise TypeError(f"text {self.documents} is {type(text).__name__}, not str or bytes")
            self.documents += 1
            yield text

    def _jobs(self, texts: Iterator[Text]) -> Iterator[Job]:
        """Short texts in batches of about PART; a long one in parts."""
        ended = False
        while not ended:
            batch, size, long, ended = take_batch(texts, self.documents, PART)
            if batch:
                yield _count_batch(batch, size, self.documents)
                self.documents += len(batch)
            if long is not None:
                if self.one_stage and len(long) > 2 * PART:
                    yield from self._long(long)
                elif self.pretokenizer.scanner is not None and isinstance(long, str) and not long.isascii():
                    yield self._stream(long)
                else:
                    yield _count_batch([long], len(long), self.documents)
                self.documents += 1

    def _batches(self, texts: Iterator[Text]) -> Iterator[Job]:
        """The same for texts that are pieces of documents."""
        ended = False
        while not ended:
            batch, size, long, ended = take_batch(texts, 0, PART)
            if long is not None:
                batch.append(long)
                size += len(long)
            if batch:
                yield _count_batch(batch, size, None)

    def _long(self, text: Text) -> Iterator[Job]:
        """Parts of one text. The last job waits for the others and puts right the parts that began wrongly."""
        starts = range(0, len(text), PART)
        ranges: list[tuple[int, int, int] | None] = [None] * len(starts)
        left = SimpleQueue[None]()

        def part(number: int) -> Job:
            def count(counter: TextCounter) -> int:
                try:
                    start = starts[number]
                    stop = min(start + PART, len(text))
                    ranges[number] = counter.count_part(text, start, stop, settle=True)
                    return stop - start
                finally:
                    left.put(None)

            return count

        def settle(counter: TextCounter) -> int:
            for _ in starts:
                left.get()
            if None not in ranges:  # else a part failed, and its error comes first
                _put_right(text, [found for found in ranges if found is not None], counter)
            return 0

        for number in range(len(starts)):
            yield part(number)
        yield settle

    def _stream(self, text: str) -> Job:
        """A long text that one thread must read as one scan, without writing all of it as UTF-8."""

        def count(counter: TextCounter) -> int:
            for offset, piece in self._pieces(text):
                try:
                    counter.count_stream(piece)
                except UnicodeEncodeError as bad:
                    raise _moved(bad, text, offset) from None
            return len(text)

        return count

    def _pieces(self, text: str) -> Iterator[tuple[int, str]]:
        """What lies between special tokens: (offset, piece)."""
        at = 0
        for match in self.cut.finditer(text) if self.cut is not None else ():
            if match.start() > at:
                yield at, text[at : match.start()]
            at = match.end()
        if at < len(text):
            yield at, text[at:] if at else text

    def _encoded(self, text: str, offset: int, piece: str) -> bytes:
        try:
            return piece.encode("utf-8")
        except UnicodeEncodeError as bad:
            raise _moved(bad, text, offset) from None

    def _normalized(self, texts: Iterator[Text]) -> Iterator[str]:
        assert self.normalize is not None  # narrowed for the type checker
        for text in texts:
            text = text.decode("utf-8") if isinstance(text, bytes) else text
            for offset, piece in self._pieces(text):
                if not piece.isascii():
                    for at in range(0, len(piece), PART):
                        self._encoded(text, offset + at, piece[at : at + PART])
                if len(piece) <= 2 * PART or not self.one_stage:
                    yield self.normalize(piece)
                else:
                    yield self._normalized_long(piece, self.normalize)

    def _normalized_long(self, piece: str, normalize: Callable[[str], str]) -> str:
        """Count all but the end of a long piece, which is returned, without holding it normalized as a whole."""
        rest, at, step = "", 0, PART
        while at < len(piece):
            stop = _normal_cut(piece, min(at + step, len(piece)))
            rest += normalize(piece[at:stop])
            at = stop
            _, _, reached = self.extra.count_part(rest, 0, len(rest), more=True)
            # One pre-token without end is looked at a logarithmic number of times.
            step = step * 2 if reached == 0 else PART
            rest = rest[reached:]
        return rest

    def _by_regex(self, text: Text) -> int:
        size = len(text)
        text = text.decode("utf-8") if isinstance(text, bytes) else text
        for offset, piece in self._pieces(text):
            for at in range(0, len(piece), PART):
                self._encoded(text, offset + at, piece[at : at + PART])
            pieces = iter([self.normalize(piece) if self.normalize is not None else piece])
            for stage in self.pretokenizer.stages:
                pieces = chain.from_iterable(map(partial(split_one, stage), pieces))
            while block := [one.encode("utf-8") for one in islice(pieces, PIECES)]:
                self.counters[0].count_ends(b"".join(block), array("q", accumulate(map(len, block))))
        return size


def _moved(error: UnicodeEncodeError, text: str, offset: int) -> UnicodeEncodeError:
    """The error of a piece as one of the text it begins in at `offset`."""
    return UnicodeEncodeError("utf-8", text, offset + error.start, offset + error.end, error.reason)


def _count_batch(batch: list[Text], size: int, first: int | None) -> Job:
    def count(counter: TextCounter) -> int:
        counter.count_documents(batch, first)
        return size

    return count


def _put_right(text: Text, ranges: list[tuple[int, int, int]], counter: TextCounter) -> None:
    """Make the counts of ranges that each began at a guess those of one scan.

    IN: ranges of (start, stop, reached) in order, each one's stop the next one's start. A range whose start is not
    where the scan before it came is taken back, and counted again from there.
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
        # A pre-token longer than a part is looked for ever less often.
        skip, skipped = (2 * skip + 1, 0) if reached == true_start else (0, 0)
        true_start = None if reached == stop else reached


def _normal_cut(text: str, at: int) -> int:
    """The first place from `at` on where normalizing the two sides apart gives the same: before an ASCII character."""
    found = _ASCII.search(text, at)
    return found.start() if found and at < len(text) else len(text)


_ASCII = re.compile(r"[\x00-\x7f]")


def _in_order(jobs: Iterator[Job], counters: list[TextCounter]) -> Iterator[int]:
    """Run jobs, each with a counter that nothing else uses meanwhile; yields their results in order."""
    first = next(jobs, None)
    second = next(jobs, None) if len(counters) > 1 else None
    if first is None:
        return
    if second is None:
        for job in chain([first], jobs):
            yield job(counters[0])
        return
    free: SimpleQueue[TextCounter] = SimpleQueue()
    for counter in counters:
        free.put(counter)

    def run(job: Job) -> int:
        counter = free.get()
        try:
            return job(counter)
        finally:
            free.put(counter)

    pending: deque[Future[int]] = deque()
    with ThreadPoolExecutor(len(counters), thread_name_prefix="bpetite-count") as pool:
        try:
            for job in chain([first, second], jobs):
                pending.append(pool.submit(run, job))
                if len(pending) > 2 * len(counters):
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            for waiting in pending:
                waiting.cancel()
