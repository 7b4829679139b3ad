"""Texts in, counts of pre-tokens out: batches, threads and the ways to split that are not compiled."""
from __future__ import annotations

import os
import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, chain, islice
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, overload

from ...core._special import Specials
from ...core._threads import in_order, thread_count
from ...engine.choice import engine_parts
from ...engine.pipeline import Pipeline
from ...splitting.pretokenizer import Pretokenizer, pretokenizer, split_one
from ...steps.normalizers import normalizer
from ...vocabulary.vocab import Vocab
from ._count_table import CountTable
from ._text_counter import TextCounter, batches
from .count_options import CountOptions, Cutting
from .counts import CountFile, Counts, PretokenCounts, check_min_count
from .long_text import Job, LongText, Text
from .spilling import LEAST_MEMORY, Partitions, memory_bytes

if TYPE_CHECKING:
    from typing_extensions import Unpack

#: Called as progress(stage, done, total): "count" with characters of str and bytes of bytes, total None where the
#: number of texts is not known beforehand; "merge" with learned tokens. Always from the thread that called.
Progress = Callable[[str, int, int | None], object]

PART = 1 << 20  # characters (bytes of bytes) counted in one job
PRETOKENS = 1 << 14  # counted at a time where `regex` splits


#: Texts, or counts of their pre-tokens.
Corpus = Text | Iterable[Text] | Mapping[bytes, int] | CountFile


@overload
def count_pretokens(
    texts: Text | Iterable[Text],
    *,
    num_threads: int | None = ...,
    progress: Progress | None = ...,
    memory: None = None,
    spill_to: None = None,
    min_count: None = None,
    **options: Unpack[CountOptions],
) -> PretokenCounts: ...


@overload
def count_pretokens(
    texts: Text | Iterable[Text],
    *,
    num_threads: int | None = ...,
    progress: Progress | None = ...,
    memory: str | int,
    spill_to: str | os.PathLike[str] | None = ...,
    min_count: int | None = ...,
    **options: Unpack[CountOptions],
) -> CountFile: ...


def count_pretokens(
    texts: Text | Iterable[Text],
    *,
    num_threads: int | None = None,
    progress: Progress | None = None,
    memory: str | int | None = None,
    spill_to: str | os.PathLike[str] | None = None,
    min_count: int | None = None,
    **options: Unpack[CountOptions],
) -> PretokenCounts | CountFile:
    """Count the pre-tokens of texts.

    The texts are read once, a bounded number of them at a time; threads share one long text too. The result does not
    depend on the number of threads.

    Args:
        texts: Documents, str or UTF-8 bytes; no pre-token spans two. A single str or bytes is one document.
        num_threads: Threads to count on; one for each usable processor when None, and never more.
        progress: Called as ``progress("count", done, total)`` now and then, see :data:`Progress`.
        memory: A bound for the memory of the counts, in bytes or such as "1GB" (at least 1 MB). Counts beyond it go to
            disk, and the result, a :class:`bpetite.CountFile`, stays there. None for no bound.
        spill_to: The folder of the temporary files; None for the system's, which may be in memory itself. They have no
            names: nothing is left of them, even by a process that is killed.
        min_count: With `memory`: pre-tokens that occur less often in all texts are left out.
        options: The way the text is cut: ``pattern``, the split pattern, see :func:`bpetite.patterns.resolve` (one that
            `regex` itself has to split runs on one thread); ``special_tokens``, literals that cut the text and are not
            counted; ``normalization``, "NFC", "NFD", "NFKC", "NFKD" or None, applied to the text between special
            tokens.

    Raises:
        TypeError: A text that is neither str nor bytes.
        ValueError: A `memory` that is no size, `spill_to` or `min_count` without it.
        UnicodeEncodeError: A str holds a lone surrogate.
        UnicodeDecodeError: bytes are not UTF-8.
        OSError: A temporary file cannot be written; the message names the folder.

    >>> dict(count_pretokens(["the cat", "the dog"]))
    {b' cat': 1, b' dog': 1, b'the': 2}
    """
    cutting = Cutting.of(**options)
    preparation = _prepared(cutting)
    if memory is None:
        for name, value in (("spill_to", spill_to), ("min_count", min_count)):
            if value is not None:
                raise ValueError(f"{name} goes with memory, which sends counts to disk")
        return _counted(texts, preparation, cutting, num_threads, progress)
    least = 1 if min_count is None else check_min_count(min_count)
    limit = memory_bytes(memory)
    spilled = Partitions(limit, spill_to)
    threads = min(thread_count(num_threads), max(1, limit // LEAST_MEMORY))
    counters = preparation.counters(threads, spilled.table_bytes(threads))
    documents = _count(texts, preparation, counters, progress, spilled)
    tables = [counter.table for counter in counters]
    counters.clear()  # the tables are the result's to free
    if 2 * sum(table.bytes for table in tables) < limit:
        tables = [_sum_of(tables)]
    return spilled.result(tables, cutting, documents, least)


def count_as(
    vocab: Vocab, corpus: Corpus, num_threads: int | None = None, progress: Progress | None = None
) -> Mapping[bytes, int] | CountFile:
    """Count the pre-tokens that a tokenizer cuts texts into, with all steps that its tokenizer.json declares; those run
    on one thread. Counts are taken as they are, if they can be of these pre-tokens.

    Raises:
        ValueError: The options that counts were made with contradict the tokenizer, or it has steps that counting does
            not have. As :func:`count_pretokens` otherwise.
    """
    cutter, _, pipeline = engine_parts(vocab)
    literals = tuple(vocab.special_tokens)
    plain: Any = vocab.normalization  # without a pipeline
    cutting = Cutting(cutter.pattern, literals, None if pipeline else plain)
    if isinstance(corpus, Counts):
        if pipeline is not None:
            raise ValueError(
                "these counts, made with a pattern, are not of the pre-tokens that this tokenizer cuts: it has steps "
                "that counting does not have. Give the texts"
            )
        if name := corpus.cutting.difference(cutting):
            raise ValueError(f"these counts, made with {name}={getattr(corpus, name)!r}, contradict the tokenizer, "
                             f"which has {name}={getattr(cutting, name)!r}")  # fmt: skip
    if isinstance(corpus, (Mapping, CountFile)):
        return corpus
    if pipeline is None:
        preparation = _prepared(cutting)
    else:
        preparation = _Preparation(cutter, Specials({}), None, (pipeline, Specials(vocab.special_tokens)))
    return _counted(texts_not_paths(corpus), preparation, cutting, num_threads, progress)


#: A text of one word with a suffix that files have.
_FILE_NAME = re.compile(r"\S+\.(txt|text|md|csv|tsv|jsonl?|parquet|gz|zst|bz2|xz)")


class Part(bytes):
    """A part of a document, cut where its pattern certainly cuts: the document goes on in the next text."""


class Repeated:
    """An iterable that calls a function for its iterator, each time anew."""

    def __init__(self, start: Callable[[], Iterator[Any]]) -> None:
        self.start = start

    def __iter__(self) -> Iterator[Any]:
        return self.start()


def texts_not_paths(corpus: Any) -> Any:
    """The corpus, unless it holds paths instead of texts: it is one, or its first documents all are."""
    if isinstance(corpus, (str, os.PathLike)):
        if _is_path(corpus):
            raise ValueError(f"the corpus is {corpus!r}, the path of a file: train_from_files reads files")
        if _FILE_NAME.fullmatch(os.fspath(corpus)):
            raise ValueError(f"the corpus is {corpus!r}, and no file has this name; [text] makes a corpus of it")
        return corpus
    if isinstance(corpus, (bytes, Repeated)) or not isinstance(corpus, Iterable):
        return corpus
    first = []
    documents = iter(corpus)
    for document in islice(documents, 100):
        first.append(document)
        if not _is_path(document):
            break
    else:
        if first:
            raise ValueError(f"the corpus holds paths of files, {first[0]!r} first: train_from_files reads files")
    return chain(first, documents) if isinstance(corpus, Iterator) else corpus


def _is_path(document: object) -> bool:
    if isinstance(document, str):
        return len(document) < 4096 and not {"\n", "\0"} & set(document) and os.path.isfile(document)
    return isinstance(document, os.PathLike)


def _counted(
    texts: Text | Iterable[Text],
    preparation: _Preparation,
    cutting: Cutting,
    num_threads: int | None,
    progress: Progress | None,
) -> PretokenCounts:
    counters = preparation.counters(thread_count(num_threads))
    documents = _count(texts, preparation, counters, progress, None)
    return PretokenCounts.from_table(_sum_of([counter.table for counter in counters]), cutting, documents)


def _count(
    texts: Text | Iterable[Text],
    preparation: _Preparation,
    counters: list[TextCounter],
    progress: Progress | None,
    spilled: Partitions | None,
) -> int:
    """Count into the tables of counters and, where they are full, into spilled. Returns the number of texts."""
    if isinstance(texts, (str, bytes)):
        texts = [texts]
    elif not isinstance(texts, Iterable):
        raise TypeError(f"texts are str, bytes or an iterable of them, not {type(texts).__name__}")
    total = None if progress is None else _total(texts)
    documents = done = 0

    def jobs() -> Iterator[Job]:
        nonlocal documents
        for first, batch, size in batches(texts, _batch_size(texts, len(counters))):
            documents += len(batch) - sum(isinstance(text, Part) for text in batch)
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
    """PART, or more of texts that are there already, as long as that leaves many jobs for each thread.

    The calling thread prepares each job alone, so jobs must not be too small.
    """
    if not isinstance(texts, (list, tuple)):
        return PART
    some = texts[:: len(texts) // 64 + 1]
    size = sum(len(text) for text in some if isinstance(text, (str, bytes))) * len(texts) // max(1, len(some))
    return min(max(size // (8 * threads), PART), 4 * PART)


@dataclass(frozen=True)
class _Preparation:
    """The steps before pre-tokens are counted; the same for all jobs of a call."""

    pretokenizer: Pretokenizer
    specials: Specials
    normalize: Callable[[str], str] | None
    #: Does all of this instead, with the special tokens that it recognises.
    pipeline: tuple[Pipeline, Specials] | None = None

    @property
    def by_regex(self) -> bool:
        return self.pretokenizer.scanner_kind == "regex"

    def counters(self, threads: int, table_bytes: int = 0) -> list[TextCounter]:
        # Where `ordinary_texts` cuts out the special tokens, the counters have none to find.
        specials = Specials({}) if self.by_regex or self.normalize is not None else self.specials
        in_python = self.by_regex or self.pipeline is not None
        number = 1 if in_python else threads
        return [TextCounter(self.pretokenizer.scanner, specials, table_bytes) for _ in range(number)]

    def ordinary_texts(self, text: str) -> Iterator[str]:
        """The text between special tokens.

        Raises:
            UnicodeEncodeError: At a lone surrogate, before the ordinary text that holds it.
        """
        begin = 0
        for start, end, _ in self.specials.spans(text):
            if start > begin:
                yield text[begin:start]
            begin = end
        if begin < len(text):
            yield text[begin:]


def _prepared(cutting: Cutting) -> _Preparation:
    return _Preparation(
        pretokenizer(cutting.pattern),
        Specials(dict.fromkeys(cutting.special_tokens, 0)),
        normalizer(cutting.normalization),
    )


def _jobs(first: int, batch: list[Text], size: int, preparation: _Preparation) -> Iterator[Job]:
    if preparation.pipeline is not None:
        yield partial(_count_piped, batch, size, *preparation.pipeline)
    elif preparation.by_regex or preparation.normalize is not None:
        yield partial(_count_prepared, batch, size, preparation)
    elif size > 2 * PART and len(batch) == 1 and preparation.pretokenizer.scanner is not None:
        yield from LongText(batch[0], PART).jobs()
    else:
        yield partial(_count_batch, batch, size, first)


def _count_batch(batch: list[Text], size: int, first: int, counter: TextCounter) -> int:
    counter.count_documents(batch, first)
    return size


def _count_prepared(batch: list[Text], size: int, preparation: _Preparation, counter: TextCounter) -> int:
    parts: Iterator[str] = chain.from_iterable(map(preparation.ordinary_texts, map(_decoded, batch)))
    if preparation.normalize is not None:
        parts = map(preparation.normalize, parts)
    if not preparation.by_regex:
        for _, normalized, _ in batches(parts, PART):
            counter.count_documents(normalized)
        return size
    for stage in preparation.pretokenizer.stages:
        parts = chain.from_iterable(map(partial(split_one, stage), parts))
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


def _sum_of(tables: list[CountTable]) -> CountTable:
    """The first table, with the counts of all others. Threads add them in pairs: one thread alone would take longer to
    add the tables of 192 than they take to count."""
    while len(tables) > 1:
        half = (len(tables) + 1) // 2
        pairs = list(zip(tables, tables[half:]))
        for _ in in_order(lambda pair: pair[0].update(pair[1]), pairs, len(pairs)):
            pass
        tables = tables[:half]
    return tables[0]


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
