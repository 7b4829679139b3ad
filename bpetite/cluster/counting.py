"""Pre-tokens of a corpus counted on a cluster, and a tokenizer learned from the counts.

Each task counts its share of the corpus into a sorted table file; the tables are added up as streams, and learning
reads the sum as a stream too, here, on one thread. Counts add up exactly, so the merges are those of one process that
reads the whole corpus.
"""
from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import patterns
from ..corpus import Piece, read_documents, shares
from ..corpus.api import SourcesLike, as_sources
from ..corpus.output.manifest import digest
from ..corpus.reading.cutting import overlaps_itself
from ..corpus.reading.readers import Reading
from ..corpus.run.options import Options, ReadingOptions, refuse_unknown
from ..corpus.sources.share import TASK_BYTES
from ..patterns import Pattern
from ..tokenizer import Tokenizer
from ..training.counting import count_pretokens
from ..training.counts import PretokenCounts, merge_count_files
from ..training.options import TrainingOptions
from ..training.spilled import CountFile
from ..training.train import rehearse, train_from_counts
from .executor import Executor, Report, check_positive, run_all
from .options import ClusterTrainOptions
from .parcel import Parcel

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["count_corpus", "train"]

#: Tables that are added up at a time.
FAN_IN = 64


@dataclass(frozen=True)
class _Shared:
    """What all tasks of a count have in common."""

    reading: Reading
    on_error: str
    counting: dict[str, Any]  # what `count_pretokens` takes
    threads: int


def count_corpus(
    executor: Executor,
    sources: SourcesLike,
    *,
    work: str | os.PathLike[str],
    pattern: Pattern = patterns.GPT2,
    special_tokens: Sequence[str] = ("<|endoftext|>",),
    normalization: str | None = None,
    unicode: str | None = None,
    task_bytes: int = TASK_BYTES,
    threads: int = 1,
    progress: Callable[[int], object] | None = None,
    log: Callable[[str], None] | None = None,
    **options: Unpack[ReadingOptions],
) -> PretokenCounts:
    """Count the pre-tokens of a corpus, as `bpetite.count_pretokens` counts them in its documents.

    Called again after it was killed, it counts only the shares that had not been counted.

    Args:
        executor: Runs the tasks.
        sources: Files, folders, glob patterns.
        work: A folder with the same path on all workers and here, made if there is none; tables of counts are there
            until the end.
        pattern, special_tokens, normalization, unicode: As for `bpetite.count_pretokens`.
        task_bytes: Input of one task.
        threads: Threads of a task.
        progress: Called with the bytes of input that have been counted since the last call.
        log: Called with messages for people.
        options: How to read: separator ("<|endoftext|>" unless given), text_key, input_kind, whole_files, on_error and
            max_document_bytes, see `bpetite.corpus.Options`.

    Raises:
        TypeError: There is no such option.
        RecordError: A record has a problem and ``on_error`` is "fail"; the message has file and line.
        ValueError: An option is out of range.
        OSError: A file cannot be read or written.
    """
    refuse_unknown("count_corpus", options, ReadingOptions)
    counting = {
        "pattern": pattern, "special_tokens": special_tokens, "normalization": normalization, "unicode": unicode,
    }  # fmt: skip
    table = _count_to_table(executor, sources, Path(work), counting, task_bytes=task_bytes, threads=threads,
                            progress=progress, log=log, **options)  # fmt: skip
    counts = PretokenCounts.load(table)
    _clean(table)
    return counts


def _count_to_table(
    executor: Executor,
    sources: SourcesLike,
    folder: Path,
    counting: dict[str, Any],
    *,
    task_bytes: int = TASK_BYTES,
    threads: int = 1,
    progress: Callable[[int], object] | None = None,
    log: Callable[[str], None] | None = None,
    **options: Unpack[ReadingOptions],
) -> Path:
    """What :func:`count_corpus` does, into a table file; `_clean` deletes it and what it was made of.

    Args:
        counting: What ``bpetite.count_pretokens`` takes.
    """
    check_positive(task_bytes=task_bytes, threads=threads)
    settings = Options(**options)
    settings.check()
    settings.check_together()
    sources = as_sources(sources, kind=settings.input_kind, whole_files=settings.whole_files)
    separator, text_key, on_error = settings.separator or "<|endoftext|>", settings.text_key, settings.on_error
    reading = Reading(separator.encode("utf-8"), text_key, max_document=settings.max_document_bytes)
    # A mistake in the options is found here.
    counting = counting | {"special_tokens": count_pretokens([], **counting).special_tokens}
    shared = _Shared(reading, on_error, counting, threads)
    count = max(1, math.ceil(sum(piece.size for piece in sources.pieces) / task_bytes))
    cut = list(shares(sources.pieces, count, cut_files=not overlaps_itself(reading.separator)))
    folder.mkdir(parents=True, exist_ok=True)
    identity = digest(
        [[piece.describe() for piece in sources.pieces], count, separator, text_key, on_error, counting["pattern"],
         counting["special_tokens"], counting["normalization"], counting["unicode"], settings.max_document_bytes]
    )
    prefix = f"counts-{identity[:16]}"
    tables = [str(folder / f"{prefix}-{number:05d}of{count:05d}.table") for number in range(count)]
    jobs = [(pieces, table) for pieces, table in zip(cut, tables, strict=True)]

    def done(number: int, messages: list[str]) -> None:
        if log is not None:
            for message in messages:
                log(message)
        if progress is not None:
            progress(sum(piece.raw_bytes for piece in cut[number]))

    run_all(executor, _count_share, Parcel(shared), jobs, on_result=done)
    level = 0
    while len(tables) > 1:
        groups = [tables[at : at + FAN_IN] for at in range(0, len(tables), FAN_IN)]
        tables = [str(folder / f"{prefix}-level{level}-{number:05d}.table") for number in range(len(groups))]
        merges = list(zip(groups, tables, strict=True))
        if len(merges) == 1:
            _add_up(None, merges[0], None)
        else:
            run_all(executor, _add_up, Parcel(None), merges)
        level += 1
    return Path(tables[0])


def _clean(table: Path) -> None:
    """Delete a table of `_count_to_table`, what it was made of, and the folder if nothing else is there."""
    prefix = table.name[: len("counts-") + 16]
    for path in [*table.parent.glob(f"{prefix}*"), *table.parent.glob(f".{prefix}*")]:
        path.unlink(missing_ok=True)
    if not any(table.parent.iterdir()):
        table.parent.rmdir()


def train(
    executor: Executor,
    sources: SourcesLike,
    vocab_size: int,
    *,
    work: str | os.PathLike[str],
    **options: Unpack[ClusterTrainOptions],
) -> Tokenizer:
    """Learn a tokenizer from a corpus counted on a cluster: the same one as `bpetite.Tokenizer.train` learns.

    The counts are read as a stream. When learning fails they stay in `work`, and a second call takes them from there.

    Args:
        executor, sources, work: As for :func:`count_corpus`.
        vocab_size: As for `bpetite.Tokenizer.train`.
        options: Those of :func:`count_corpus` and of `bpetite.Tokenizer.train_from_counts`.

    Raises:
        TypeError, RecordError, ValueError, OSError: As for :func:`count_corpus` and `bpetite.Tokenizer.train`.
    """
    refuse_unknown("train", options, ClusterTrainOptions)
    known = {field.name for field in fields(TrainingOptions)}
    learning: dict[str, Any] = {name: value for name, value in options.items() if name in known}
    reading: dict[str, Any] = {name: value for name, value in options.items() if name not in known}
    chosen = TrainingOptions(vocab_size, **learning)
    rehearse(chosen)
    table = _count_to_table(executor, sources, Path(work), chosen.counting(), **reading)
    with CountFile(table) as counts:
        vocab = train_from_counts(counts, chosen)
    _clean(table)
    return Tokenizer.from_vocab(vocab)


def _count_share(shared: _Shared, job: tuple[tuple[Piece, ...], str], report: Report) -> list[str]:
    """What a worker does: count into one table, unless it exists. Returns messages for people."""
    pieces, table = job
    messages: list[str] = []
    if not os.path.exists(table):
        counts = count_pretokens(
            read_documents(pieces, shared.reading, on_error=shared.on_error, log=messages.append),
            **shared.counting,
            num_threads=shared.threads,
        )
        counts.save(table, overwrite=True)
    return messages


def _add_up(_: None, job: tuple[list[str], str], report: Report | None) -> None:
    """What a worker does: add some tables up into one, unless it exists."""
    tables, out = job
    if not os.path.exists(out):
        merge_count_files(tables, out, overwrite=True)
