"""Texts in, pre-token counts out: batches, threads and the ways to split that are not compiled."""
from __future__ import annotations

import os
import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, chain, islice
from queue import SimpleQueue
from typing import Any, overload

from .. import patterns
from ..core._special import Specials
from ..core._threads import in_order, thread_count
from ..engine.assembly import parts_of
from ..engine.pipeline import Pipeline
from ..patterns import PatternLike
from ..splitting.pretokenizer import Pretokenizer, pretokenizer, split_one
from ..steps.normalizers import normalizer
from ..vocabulary.vocab import Vocab
from ._count_table import CountTable
from ._text_counter import TextCounter, batches
from .counts import PretokenCounts
from .options import check_normalization, distinct_literals
from .spilled import LEAST_MEMORY, CountFile, Runs, memory_bytes

__all__ = ["Progress", "count_as", "count_pretokens"]

#: Called as progress(stage, done, total): "count" with characters of str and bytes of bytes, total None where the
#: number of texts is not known beforehand; "merge" with learned tokens. Always from the thread that called.
Progress = Callable[[str, int, int | None], object]

PART = 1 << 20  # characters (bytes of bytes) counted in one job
PIECES = 1 << 14  # pre-tokens counted at a time where `regex` splits

Text = str | bytes
#: Counts something with a counter that no other job uses meanwhile. Returns the size of the texts that are done.
Job = Callable[[TextCounter], int]


@overload
def count_pretokens(
    texts: Text | Iterable[Text],
    *,
    pattern: PatternLike = ...,
    special_tokens: Sequence[str] = ...,
    normalization: str | None = ...,
    unicode: str | None = ...,
    num_threads: int | None = ...,
    progress: Progress | None = ...,
    memory: None = None,
    spill_to: None = None,
) -> PretokenCounts: ...


@overload
def count_pretokens(
    texts: Text | Iterable[Text],
    *,
    pattern: PatternLike = ...,
    special_tokens: Sequence[str] = ...,
    normalization: str | None = ...,
    unicode: str | None = ...,
    num_threads: int | None = ...,
    progress: Progress | None = ...,
    memory: str | int,
    spill_to: str | os.PathLike[str] | None = ...,
) -> CountFile: ...


def count_pretokens(
    texts: Text | Iterable[Text],
    *,
    pattern: PatternLike = patterns.GPT2,
    special_tokens: Sequence[str] = (),
    normalization: str | None = None,
    unicode: str | None = None,
    num_threads: int | None = None,
    progress: Progress | None = None,
    memory: str | int | None = None,
    spill_to: str | os.PathLike[str] | None = None,
) -> PretokenCounts | CountFile:
    """Count the pre-tokens of texts.

    The texts are read once, a bounded number of them at a time; threads share one long text too. The result does not
    depend on the number of threads.

    Args:
        texts: Documents, str or UTF-8 bytes; no pre-token spans two. A single str or bytes is one document.
        pattern: The split pattern, see :func:`bpetite.patterns.resolve`. What `regex` itself has to split runs on one
            thread.
        special_tokens: Literals that cut the text and are not counted.
        normalization: "NFC", "NFD", "NFKC", "NFKD" or None; applied to the text between special tokens.
        unicode: The version of Unicode, see :class:`bpetite.Vocab`.
        num_threads: Threads to count on; one for each usable processor when None, and never more.
        progress: Called as ``progress("count", done, total)`` now and then, see :data:`Progress`.
        memory: What counting may hold beside the texts in work, as bytes or such as "1GB" (at least 1 MB). Counts
            beyond that go to disk, and the result, a :class:`bpetite.CountFile`, stays there. None for no bound.
        spill_to: The folder of the temporary files; None for the system's, which may be in memory itself. They have no
            names: nothing is left of them, even by a process that is killed.

    Raises:
        TypeError: A text that is neither str nor bytes.
        ValueError: A `memory` that is no size, `spill_to` without it.
        UnicodeEncodeError: A str holds a lone surrogate.
        UnicodeDecodeError: bytes are not UTF-8.
        OSError: A temporary file cannot be written; the message names the folder.

    >>> dict(count_pretokens(["the cat", "the dog"]))
    {b' cat': 1, b' dog': 1, b'the': 2}
    """
    preparation, made_with = _prepared(pattern, special_tokens, normalization, unicode)
    if memory is None:
        if spill_to is not None:
            raise ValueError("spill_to goes with memory, which says when to")
        return _counted(texts, preparation, made_with, num_threads, progress)
    runs = Runs(memory_bytes(memory), spill_to)
    threads = min(thread_count(num_threads), max(1, memory_bytes(memory) // LEAST_MEMORY))
    counters = preparation.counters(threads, runs.table_bytes(threads))
    documents = _count(texts, preparation, counters, progress, runs)
    for _ in in_order(runs.add, (counter.table for counter in counters), len(counters)):
        pass
    return runs.result(made_with, documents)


def count_as(
    vocab: Vocab, texts: Text | Iterable[Text], *, num_threads: int | None = None, progress: Progress | None = None
) -> PretokenCounts:
    """Count the pre-tokens that a tokenizer cuts texts into, with all steps that its tokenizer.json declares; those run
    on one thread.

    Args:
        vocab: The tokenizer's vocabulary.
        texts, num_threads, progress: As for :func:`count_pretokens`, and so is what is raised.
    """
    cutter, _, pipeline = parts_of(vocab)
    if pipeline is None:
        plain: Any = vocab.normalization  # without a pipeline
        prepared = _prepared(cutter.pattern, tuple(vocab.special_tokens), plain, vocab.unicode)
        return _counted(texts, *prepared, num_threads, progress)
    preparation = _Preparation(cutter, Specials({}), None, (pipeline, tuple(vocab.special_tokens)))
    return _counted(texts, preparation, {"unicode": vocab.unicode}, num_threads, progress)


def _counted(
    texts: Text | Iterable[Text],
    preparation: _Preparation,
    made_with: Mapping[str, Any],
    num_threads: int | None,
    progress: Progress | None,
) -> PretokenCounts:
    counters = preparation.counters(thread_count(num_threads))
    documents = _count(texts, preparation, counters, progress, None)
    return PretokenCounts.from_table(_added_up([counter.table for counter in counters]), made_with, documents)


def _count(
    texts: Text | Iterable[Text],
    preparation: _Preparation,
    counters: list[TextCounter],
    progress: Progress | None,
    runs: Runs | None,
) -> int:
    """Count into the tables of counters and, where they are full, into runs. Returns the number of texts."""
    if isinstance(texts, (str, bytes)):
        texts = [texts]
    elif not isinstance(texts, Iterable):
        raise TypeError(f"texts are str, bytes or an iterable of them, not {type(texts).__name__}")
    total = None if progress is None else _total(texts)
    documents = _Documents(texts, _batch_size(texts, len(counters)))
    done = 0
    for size in _in_order(_jobs(documents, preparation), counters, runs):
        done += size
        if progress is not None and size:
            progress("count", done, total)
    return documents.read


def _total(texts: Iterable[Text]) -> int | None:
    if not isinstance(texts, (list, tuple)):
        return None
    return sum(map(len, texts)) if all(isinstance(text, (str, bytes)) for text in texts) else None


def _batch_size(texts: Iterable[Text], threads: int) -> int:
    """PART, or more of texts that are there already, as long as that leaves many jobs for each thread.

    What a job takes of the calling thread no other thread can share.
    """
    if not isinstance(texts, (list, tuple)):
        return PART
    some = texts[:: len(texts) // 64 + 1]
    size = sum(len(text) for text in some if isinstance(text, (str, bytes))) * len(texts) // max(1, len(some))
    return min(max(size // (8 * threads), PART), 4 * PART)


class _Documents:
    """Batches of texts of about `size`; a text longer than that is alone in its batch. `read` counts the texts."""

    def __init__(self, texts: Iterable[Text], size: int) -> None:
        self.texts = texts
        self.size = size
        self.read = 0

    def __iter__(self) -> Iterator[tuple[int, list[Text], int]]:
        for first, batch, size in batches(self.texts, self.size):
            self.read = first + len(batch)
            yield first, batch, size


@dataclass(frozen=True)
class _Preparation:
    """What happens to a text before its pre-tokens are counted; the same for all jobs of a call."""

    pretokenizer: Pretokenizer
    specials: Specials
    normalize: Callable[[str], str] | None
    #: What does all of this instead, and the special tokens that it recognises.
    pipeline: tuple[Pipeline, tuple[str, ...]] | None = None

    @property
    def by_regex(self) -> bool:
        return self.pretokenizer.scanner_kind == "regex"

    @property
    def one_stage(self) -> bool:
        """Whether a text can be cut where a pre-token ends.

        With one pattern a pre-token depends on nothing before it. With several, an end of a later one may lie inside a
        match of an earlier one.
        """
        stages = self.pretokenizer.pattern
        return self.pretokenizer.scanner is not None and (isinstance(stages, str) or len(stages or ()) == 1)

    def counters(self, threads: int, table_bytes: int = 0) -> list[TextCounter]:
        # Where `pieces` cuts out the special tokens, the counters have none to find.
        specials = Specials({}) if self.by_regex or self.normalize is not None else self.specials
        in_python = self.by_regex or self.pipeline is not None
        number = 1 if in_python else threads
        return [TextCounter(self.pretokenizer.scanner, specials, table_bytes) for _ in range(number)]

    def pieces(self, text: str) -> Iterator[str]:
        """What lies between special tokens.

        Raises:
            UnicodeEncodeError: At a lone surrogate, before the piece that holds it.
        """
        begin = 0
        for start, end in _special_spans(text, self.specials):
            if start > begin:
                yield text[begin:start]
            begin = end
        if begin < len(text):
            yield text[begin:]


def _special_spans(text: str, specials: Specials) -> Iterator[tuple[int, int]]:
    """(start, end) of special tokens in characters, found in one window of UTF-8 after the other.

    Windows overlap by the longest special token, so one that begins in the first PART characters is found whole.
    """
    begin = 0
    while begin < len(text):
        try:
            spans = specials.spans(text[begin : begin + PART + specials.longest])
        except UnicodeEncodeError as bad:
            raise UnicodeEncodeError("utf-8", text, begin + bad.start, begin + bad.end, bad.reason) from None
        at = begin
        for start, end, _ in spans:
            if start >= PART:
                break
            at = begin + end
            yield begin + start, at
        begin = max(begin + PART, at)


def _prepared(
    pattern: PatternLike, special_tokens: Sequence[str], normalization: str | None, unicode: str | None
) -> tuple[_Preparation, dict[str, Any]]:
    """What the options of :func:`count_pretokens` ask for, and the settings of the counts."""
    split = patterns.resolve(pattern)
    literals = distinct_literals(special_tokens)
    check_normalization(normalization, unicode)
    preparation = _Preparation(
        pretokenizer(split, unicode=unicode),
        Specials(dict.fromkeys(literals, 0)),
        normalizer(normalization, unicode),
    )
    return preparation, {
        "pattern": split, "normalization": normalization, "special_tokens": literals, "unicode": unicode,
    }  # fmt: skip


def _jobs(documents: _Documents, preparation: _Preparation) -> Iterator[Job]:
    scanner = preparation.pretokenizer.scanner
    for first, batch, size in documents:
        text, alone = batch[0], len(batch) == 1
        if preparation.pipeline is not None:
            yield partial(_count_piped, batch, size, *preparation.pipeline)
        elif preparation.by_regex:
            yield partial(_count_by_regex, batch, size, preparation)
        elif preparation.normalize is not None:
            yield partial(_count_normalized, batch, size, preparation, preparation.normalize)
        elif alone and len(text) > 2 * PART and preparation.one_stage:
            yield from _LongText(text).jobs()
        elif alone and len(text) > PART and scanner is not None and isinstance(text, str) and not text.isascii():
            yield partial(_count_stream, text, preparation)
        else:
            yield partial(_count_batch, batch, size, first)


def _count_batch(batch: list[Text], size: int, first: int, counter: TextCounter) -> int:
    counter.count_documents(batch, first)
    return size


def _count_stream(text: str, preparation: _Preparation, counter: TextCounter) -> int:
    """Count a long text that one thread must read as one scan, without writing all of it as UTF-8."""
    for piece in preparation.pieces(text) if preparation.specials.size else [text]:
        counter.count_stream(piece)
    return len(text)


def _count_by_regex(batch: list[Text], size: int, preparation: _Preparation, counter: TextCounter) -> int:
    for text in batch:
        for piece in preparation.pieces(_decoded(text)):
            parts = iter([piece if preparation.normalize is None else preparation.normalize(piece)])
            for stage in preparation.pretokenizer.stages:
                parts = chain.from_iterable(map(partial(split_one, stage), parts))
            while block := [part.encode("utf-8") for part in islice(parts, PIECES)]:
                counter.count_ends(b"".join(block), array("q", accumulate(map(len, block))))
    return size


def _count_piped(
    batch: list[Text], size: int, pipeline: Pipeline, literals: tuple[str, ...], counter: TextCounter
) -> int:
    for text in batch:
        for item in pipeline.items(_decoded(text), literals):
            if isinstance(item, bytes):
                counter.count_ends(item, pipeline.pretokenizer.ends(item))
            elif not isinstance(item, int):
                counter.count_ends(*item)
    return size


def _count_normalized(
    batch: list[Text],
    size: int,
    preparation: _Preparation,
    normalize: Callable[[str], str],
    counter: TextCounter,
) -> int:
    def normalized() -> Iterator[str]:
        for text in batch:
            for piece in preparation.pieces(_decoded(text)):
                if len(piece) <= 2 * PART or not preparation.one_stage:
                    yield normalize(piece)
                else:
                    yield _count_all_but_the_end(piece, normalize, counter)

    for _, pieces, _ in batches(normalized(), PART):
        counter.count_documents(pieces)
    return size


def _count_all_but_the_end(piece: str, normalize: Callable[[str], str], counter: TextCounter) -> str:
    """Count a long piece except for its last part, which is returned, normalized; never hold all of it normalized."""
    rest, at, step = "", 0, PART
    while at < len(piece):
        stop = _normal_cut(piece, min(at + step, len(piece)))
        rest += normalize(piece[at:stop])
        at = stop
        _, _, reached = counter.count_part(rest, 0, len(rest), more=True)
        # One pre-token without end is scanned a logarithmic number of times.
        step = step * 2 if reached == 0 else PART
        rest = rest[reached:]
    return rest


def _normal_cut(text: str, at: int) -> int:
    """The first offset from `at` on where text may be normalized in two halves: before an ASCII character."""
    found = _ASCII.search(text, at)
    return found.start() if found and at < len(text) else len(text)


_ASCII = re.compile(r"[\x00-\x7f]")


def _decoded(text: Text) -> str:
    return text.decode("utf-8") if isinstance(text, bytes) else text


class _LongText:
    """One text in ranges, a job each, and a last job that waits for them and corrects those that began wrongly."""

    def __init__(self, text: Text) -> None:
        self.text = text
        self.starts = range(0, len(text), PART)
        #: (start, stop, reached) of each range that was counted, see `TextCounter.count_part`.
        self.ranges: list[tuple[int, int, int] | None] = [None] * len(self.starts)
        self.ended = SimpleQueue[None]()

    def jobs(self) -> Iterator[Job]:
        for number in range(len(self.starts)):
            yield partial(self._count, number)
        yield self._correct

    def _count(self, number: int, counter: TextCounter) -> int:
        try:
            start = self.starts[number]
            stop = min(start + PART, len(self.text))
            self.ranges[number] = counter.count_part(self.text, start, stop, settle=True)
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
    """Make the counts of ranges that each began at a guess those of one scan.

    IN: ranges of (start, stop, reached) in order, each one's stop the next one's start. A range whose start is not
    what the scan before it reached is taken back, and counted again from there.
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


def _added_up(tables: list[CountTable]) -> CountTable:
    """The first table, with the counts of all others. Threads add them in pairs: one thread alone would take longer to
    add the tables of 192 than they take to count."""
    while len(tables) > 1:
        half = (len(tables) + 1) // 2
        pairs = list(zip(tables, tables[half:]))
        for _ in in_order(lambda pair: pair[0].update(pair[1]), pairs, len(pairs)):
            pass
        tables = tables[:half]
    return tables[0]


def _in_order(jobs: Iterator[Job], counters: list[TextCounter], runs: Runs | None) -> Iterator[int]:
    """Run jobs, each with a counter that nothing else uses meanwhile; yields their results in order.

    A table that is full after a job goes to `runs`.
    """
    free: SimpleQueue[TextCounter] = SimpleQueue()
    for counter in counters:
        free.put(counter)

    def run(job: Job) -> int:
        counter = free.get()
        try:
            size = job(counter)
            if runs is not None and counter.table.full:
                runs.add(counter.table)
            return size
        finally:
            free.put(counter)

    def stop() -> None:
        for counter in counters:
            counter.stop()

    yield from in_order(run, jobs, len(counters), stop=stop)
