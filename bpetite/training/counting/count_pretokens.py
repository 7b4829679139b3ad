"""Counting the pre-tokens of texts, as options say or as a tokenizer cuts them."""
from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, overload

from ...core._special import Specials
from ...core._threads import thread_count
from ...engine.choice import engine_parts
from ...vocabulary.vocab import Vocab
from .counts import CountFile, Counts, PretokenCounts, check_min_count
from .cutting import CountOptions, Cutting
from .documents import Text, texts_not_paths
from .jobs import Preparation, Progress, count_texts, sum_of
from .spilling import LEAST_MEMORY, Partitions, memory_bytes

if TYPE_CHECKING:
    from typing_extensions import Unpack

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
        ValueError: Paths in place of texts; a `memory` that is no size, `spill_to` or `min_count` without it.
        UnicodeEncodeError: A str holds a lone surrogate.
        UnicodeDecodeError: bytes are not UTF-8.
        OSError: A temporary file cannot be written; the message names the folder.

    >>> dict(count_pretokens(["the cat", "the dog"]))
    {b' cat': 1, b' dog': 1, b'the': 2}
    """
    cutting = Cutting.of(**options)
    texts = texts_not_paths(texts)
    preparation = Preparation.of(cutting)
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
    documents = count_texts(texts, preparation, counters, progress, spilled)
    tables = [counter.table for counter in counters]
    counters.clear()  # the tables are the result's to free
    if 2 * sum(table.allocated for table in tables) < limit:
        tables = [sum_of(tables)]
    return spilled.result(tables, cutting, documents, least)


def count_as(
    vocab: Vocab, corpus: Corpus, num_threads: int | None = None, progress: Progress | None = None,
    literals: Iterable[str] = (),
) -> Mapping[bytes, int] | CountFile:
    """Count the pre-tokens that a tokenizer cuts texts into, with all steps that its tokenizer.json declares; those run
    on one thread. `literals` are special tokens that it will have. Counts are returned unchanged; an error if their
    options differ from the tokenizer's.

    Raises:
        ValueError: The options that counts were made with contradict the tokenizer, or it has steps that counting does
            not have. As :func:`count_pretokens` otherwise.
    """
    cutter, _, pipeline = engine_parts(vocab)
    special_tokens = dict.fromkeys(literals, 0) | vocab.special_tokens
    plain: Any = vocab.normalization  # without a pipeline
    cutting = Cutting(cutter.pattern, tuple(special_tokens), None if pipeline else plain)
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
        preparation = Preparation.of(cutting)
    else:
        preparation = Preparation(cutter, Specials({}), None, None, (pipeline, Specials(special_tokens)))
    return _counted(texts_not_paths(corpus), preparation, cutting, num_threads, progress)


def _counted(
    texts: Text | Iterable[Text],
    preparation: Preparation,
    cutting: Cutting,
    num_threads: int | None,
    progress: Progress | None,
) -> PretokenCounts:
    counters = preparation.counters(thread_count(num_threads))
    documents = count_texts(texts, preparation, counters, progress, None)
    return PretokenCounts.from_table(sum_of([counter.table for counter in counters]), cutting, documents)
