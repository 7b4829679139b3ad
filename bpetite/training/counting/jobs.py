"""The work of counting: texts become jobs, which threads take, each with a table of its own."""
from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, chain, islice
from operator import methodcaller
from queue import SimpleQueue

from ...core._special import Specials
from ...core._threads import in_order
from ...engine.pipeline import Pipeline
from ...splitting.certain_cuts import CertainCuts, certain_cuts
from ...splitting.pretokenizer import Pretokenizer, pretokenizer, split_one
from ...steps.normalizers import normalizer
from ._count_table import CountTable
from ._text_counter import TextCounter, batches
from .cutting import Cutting
from .documents import Continued, Text
from .spilling import Partitions

#: Called as progress(stage, done, total): "count" with characters of str and bytes of bytes, total None where the
#: number of texts is not known beforehand; "merge" with learned tokens. Always from the thread that called.
Progress = Callable[[str, int, int | None], object]
#: Counts something with a counter of its own while it runs. Returns the size of the texts that are done.
Job = Callable[[TextCounter], int]

JOB_SIZE = 1 << 20  # characters (bytes of bytes) counted in one job
LOOK = 512  # characters in which a place to cut a long text is looked for
PRETOKENS = 1 << 14  # counted at a time where `regex` splits


@dataclass(frozen=True)
class Preparation:
    """The steps before pre-tokens are counted; the same for all jobs of a call."""

    pretokenizer: Pretokenizer
    specials: Specials
    normalize: Callable[[str], str] | None
    cuts: CertainCuts | None = None
    #: For tokenizers with further steps: the pipeline that replaces all of the above, and its special tokens.
    pipeline: tuple[Pipeline, Specials] | None = None

    @classmethod
    def of(cls, cutting: Cutting) -> Preparation:
        cutter = pretokenizer(cutting.pattern)
        specials = Specials(dict.fromkeys(cutting.special_tokens, 0))
        cuts = certain_cuts(cutter, cutting.special_tokens, normalized=False)
        return cls(cutter, specials, normalizer(cutting.normalization), cuts)

    @property
    def by_regex(self) -> bool:
        return self.pretokenizer.scanner_name == "regex"

    def counters(self, threads: int, table_bytes: int = 0) -> list[TextCounter]:
        # Where `ordinary_texts` cuts out the special tokens, the counters have none to find.
        specials = Specials({}) if self.by_regex or self.normalize is not None else self.specials
        in_python = self.by_regex or self.pipeline is not None
        number = 1 if in_python else threads
        return [TextCounter(self.pretokenizer.scanner, specials, table_bytes) for _ in range(number)]

    def ordinary_texts(self, text: str) -> Iterator[str]:
        """The text between special tokens.

        Raises:
            UnicodeEncodeError: The text holds a lone surrogate; ordinary texts before it have been yielded.
        """
        begin = 0
        for start, end, _ in self.specials.spans(text):
            if start > begin:
                yield text[begin:start]
            begin = end
        if begin < len(text):
            yield text[begin:]


def count_texts(
    texts: Text | Iterable[Text],
    preparation: Preparation,
    counters: list[TextCounter],
    progress: Progress | None,
    spilled: Partitions | None,
) -> int:
    """Count into the tables of counters; full ones go to `spilled`. Returns the number of documents."""
    if isinstance(texts, (str, bytes)):
        texts = [texts]
    elif not isinstance(texts, Iterable):
        raise TypeError(f"texts are str, bytes or an iterable of them, not {type(texts).__name__}")
    total = None if progress is None else _total(texts)
    documents = done = 0

    def jobs() -> Iterator[Job]:
        nonlocal documents
        for first, batch, size in batches(texts, _batch_size(texts, len(counters))):
            documents += len(batch) - sum(isinstance(text, Continued) for text in batch)
            yield from _jobs(first, batch, size, preparation)

    for size in _in_order(jobs(), counters, spilled):
        done += size
        if progress is not None and size:
            progress("count", done, total)
    return documents


def _total(texts: Iterable[Text]) -> int | None:
    if not isinstance(texts, (list, tuple)):
        return None
    return sum(map(len, texts)) if all(isinstance(text, (str, bytes)) for text in texts) else None


def _batch_size(texts: Iterable[Text], threads: int) -> int:
    """JOB_SIZE, or more of texts that are there already, as long as that leaves many jobs for each thread.

    The calling thread prepares each job alone, so jobs must not be too small.
    """
    if not isinstance(texts, (list, tuple)):
        return JOB_SIZE
    some = texts[:: len(texts) // 64 + 1]
    size = sum(len(text) for text in some if isinstance(text, (str, bytes))) * len(texts) // max(1, len(some))
    return min(max(size // (8 * threads), JOB_SIZE), 4 * JOB_SIZE)


def _jobs(first: int, batch: list[Text], size: int, preparation: Preparation) -> Iterator[Job]:
    if preparation.pipeline is not None:
        yield partial(_count_piped, batch, size, *preparation.pipeline)
    elif preparation.by_regex or preparation.normalize is not None:
        yield partial(_count_prepared, batch, size, preparation)
    elif size > 2 * JOB_SIZE and len(batch) == 1 and preparation.cuts is not None:
        yield from (methodcaller("count_range", batch[0], *ends) for ends in _ranges(batch[0], preparation.cuts))
    else:
        yield methodcaller("count_documents", batch, first)


def _ranges(text: Text, cuts: CertainCuts) -> Iterator[tuple[int, int]]:
    """Ranges of JOB_SIZE characters or more, between places where the text shows a certain cut."""
    start, at = 0, JOB_SIZE
    while at < len(text):
        before, after = _utf8(text[max(0, at - cuts.margin) : at]), _utf8(text[at : at + LOOK + cuts.margin])
        cut = cuts.first(before + after, len(before)) - len(before)
        if cut >= 0:
            at += cut if isinstance(text, bytes) else len(after[:cut].decode("utf-8", "surrogatepass"))
            yield start, at
            start = at
        at += JOB_SIZE
    yield start, len(text)


def _utf8(text: Text) -> bytes:
    return text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text


def _count_prepared(batch: list[Text], size: int, preparation: Preparation, counter: TextCounter) -> int:
    parts: Iterator[str] = chain.from_iterable(map(preparation.ordinary_texts, map(_decoded, batch)))
    if preparation.normalize is not None:
        parts = map(preparation.normalize, parts)
    if not preparation.by_regex:
        for _, normalized, _ in batches(parts, JOB_SIZE):
            counter.count_documents(normalized)
        return size
    for matcher in preparation.pretokenizer.matchers:
        parts = chain.from_iterable(map(partial(split_one, matcher), parts))
    while block := [part.encode("utf-8") for part in islice(parts, PRETOKENS)]:
        counter.count_ends(b"".join(block), array("q", accumulate(map(len, block))))
    return size


def _count_piped(
    batch: list[Text], size: int, pipeline: Pipeline, specials: Specials, counter: TextCounter
) -> int:
    for text in batch:
        for item in pipeline.items(_decoded(text), specials):
            if isinstance(item, bytes):
                counter.count_ends(item, pipeline.pretokenizer.ends(item))
            elif not isinstance(item, int):
                counter.count_ends(*item)
    return size


def _decoded(text: Text) -> str:
    return text.decode("utf-8") if isinstance(text, bytes) else text


def _in_order(jobs: Iterator[Job], counters: list[TextCounter], spilled: Partitions | None) -> Iterator[int]:
    """Run jobs, each with a counter of its own while it runs; yields their results in order.

    A table that is full after a job goes to `spilled`.
    """
    free: SimpleQueue[TextCounter] = SimpleQueue()
    for counter in counters:
        free.put(counter)

    def run(job: Job) -> int:
        counter = free.get()
        try:
            size = job(counter)
            if spilled is not None and counter.table.full:
                spilled.add(counter.table)
            return size
        finally:
            free.put(counter)

    def stop() -> None:
        for counter in counters:
            counter.stop()

    yield from in_order(run, jobs, len(counters), stop=stop)


def sum_of(tables: list[CountTable]) -> CountTable:
    """The first table, with the counts of all others. Threads add them in pairs: one thread alone would take longer to
    add the tables of 192 than they take to count."""
    while len(tables) > 1:
        half = (len(tables) + 1) // 2
        pairs = list(zip(tables, tables[half:]))
        for _ in in_order(lambda pair: pair[0].update(pair[1]), pairs, len(pairs)):
            pass
        tables = tables[:half]
    return tables[0]
