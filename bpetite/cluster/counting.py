"""Pre-tokens of a corpus counted on a cluster, and a tokenizer learned from the counts.

Each task counts its share of the corpus into a sorted table file; the tables are added up as streams, and learning
reads the sum as a stream too, here, on one thread. Counts add up exactly, so the merges are those of one process that
reads the whole corpus.
"""
from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..corpus import Piece, read_documents, shares
from ..corpus.api import SourcesLike, as_sources
from ..corpus.output.manifest import digest, libraries
from ..corpus.reading.cutting import overlaps_itself
from ..corpus.reading.readers import Reading
from ..corpus.run.assembly import Map
from ..corpus.run.options import Options, ReadingOptions, parted, refuse_unknown
from ..corpus.sources.share import TASK_BYTES
from ..tokenizer import Tokenizer
from ..training.counting.counts import CountFile, PretokenCounts, merge_count_files
from ..training.counting.cutting import CountOptions, Cutting
from ..training.counting.texts import count_pretokens as count_here
from ..training.options import LearningOptions, chosen_options
from ..training.train import check_trainable, train_from_counts
from .calls import check_positive

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["CountingOptions", "count_pretokens", "train"]

#: Tables that are added up at a time.
FAN_IN = 64


class CountingOptions(ReadingOptions, CountOptions, total=False):
    """The options of :func:`count_pretokens`.

    Keys: those of reading, see `bpetite.corpus.Options`, and of counting, as for `bpetite.count_pretokens`, and
        task_bytes: Input of one task; the counts do not depend on it.
        threads: Threads of a task.
        progress: Called with the bytes of input that have been counted since the last call.
        log: Called with messages for people.
    """

    task_bytes: int
    threads: int
    progress: Callable[[int], object] | None
    log: Callable[[str], None] | None


class _TrainOptions(CountingOptions, LearningOptions, total=False):
    """Keys: those of both."""


def count_pretokens(
    run: Map,
    sources: SourcesLike,
    *,
    work: str | os.PathLike[str],
    **options: Unpack[CountingOptions],
) -> PretokenCounts:
    """Count the pre-tokens of a corpus, as `bpetite.count_pretokens` counts them in its documents.

    Called again after it was killed, it counts only the shares that had not been counted.

    Args:
        run: ``map(function, items)`` of a cluster.
        sources: Files, folders, glob patterns.
        work: A folder with the same path on all workers and here, made if there is none; tables of counts are there
            until the end.
        options: See `CountingOptions`; the separator is "<|endoftext|>" unless given.

    Raises:
        TypeError: There is no such option.
        RecordError: A record has a problem and ``on_error`` is "fail"; the message has file and line.
        ValueError: An option is out of range.
        OSError: A file cannot be read or written.
    """
    refuse_unknown("count_pretokens", options, CountingOptions)
    counting, reading = parted(options, CountOptions)
    table = _count_to_table(run, sources, Path(work), Cutting.of(**counting), **reading)
    counts = PretokenCounts.load(table)
    _clean(table)
    return counts


@dataclass(frozen=True)
class _Count:
    """The call of a task: a share counted into a table, unless it exists; returns messages for people."""

    reading: Reading
    on_error: str
    cutting: Cutting
    threads: int

    def __call__(self, job: tuple[tuple[Piece, ...], str]) -> list[str]:
        pieces, table = job
        messages: list[str] = []
        if not os.path.exists(table):
            documents = read_documents(pieces, self.reading, on_error=self.on_error, log=messages.append)
            counts = count_here(documents, **vars(self.cutting), num_threads=self.threads)
            counts.save(table, overwrite=True)
        return messages


def _add_up(job: tuple[list[str], str]) -> None:
    """The call of a task: some tables added up into one, unless it exists."""
    tables, out = job
    if not os.path.exists(out):
        merge_count_files(tables, out, overwrite=True)


def _count_to_table(
    run: Map,
    sources: SourcesLike,
    folder: Path,
    cutting: Cutting,
    *,
    task_bytes: int = TASK_BYTES,
    threads: int = 1,
    progress: Callable[[int], object] | None = None,
    log: Callable[[str], None] | None = None,
    **options: Unpack[ReadingOptions],
) -> Path:
    """The counts as a table file; `_clean` deletes it and the tables that it was made of."""
    check_positive(task_bytes=task_bytes, threads=threads)
    settings = Options(**options)
    settings.check()
    pieces = as_sources(sources, kind=settings.input_kind, whole_files=settings.whole_files).pieces
    separator = (settings.separator or "<|endoftext|>").encode("utf-8")
    reading = Reading(separator, settings.text_key, max_document=settings.max_document_bytes)
    count_here([], **vars(cutting))  # finds a pattern that is no regular expression
    count = max(1, math.ceil(sum(piece.raw_bytes for piece in pieces) / task_bytes))
    cut = list(shares(pieces, count, cut_files=not overlaps_itself(separator)))
    folder.mkdir(parents=True, exist_ok=True)
    identity = digest([
        [piece.describe() for piece in pieces], count, separator.decode(), settings.text_key, settings.on_error,
        settings.max_document_bytes, vars(cutting), libraries(pieces),
    ])  # fmt: skip
    prefix = f"counts-{identity[:16]}"
    tables = [str(folder / f"{prefix}-{number:05d}of{count:05d}.table") for number in range(count)]
    call = _Count(reading, settings.on_error, cutting, threads)
    for share, messages in zip(cut, run(call, list(zip(cut, tables, strict=True))), strict=True):
        if log is not None:
            for message in messages:
                log(message)
        if progress is not None:
            progress(sum(piece.raw_bytes for piece in share))
    level = 0
    while len(tables) > 1:
        groups = [tables[at : at + FAN_IN] for at in range(0, len(tables), FAN_IN)]
        tables = [str(folder / f"{prefix}-level{level}-{number:05d}.table") for number in range(len(groups))]
        for _ in run(_add_up, list(zip(groups, tables, strict=True))):
            pass
        level += 1
    return Path(tables[0])


def _clean(table: Path) -> None:
    """Delete a table of `_count_to_table`, the tables that it was made of, and the folder if nothing else is there."""
    prefix = table.name[: len("counts-") + 16]
    for path in [*table.parent.glob(f"{prefix}*"), *table.parent.glob(f".{prefix}*")]:
        path.unlink(missing_ok=True)
    if not any(table.parent.iterdir()):
        table.parent.rmdir()


def train(
    run: Map,
    sources: SourcesLike,
    vocab_size: int,
    *,
    work: str | os.PathLike[str],
    **options: Unpack[_TrainOptions],
) -> Tokenizer:
    """Learn a tokenizer from a corpus counted on a cluster: the same one as `bpetite.Tokenizer.train` learns.

    The counts are read as a stream. When learning fails they stay in `work`, and a second call takes them from there.

    Args:
        run, sources, work: As for :func:`count_pretokens`.
        vocab_size: As for `bpetite.Tokenizer.train`.
        options: Those of :func:`count_pretokens` and of `bpetite.Tokenizer.train_from_counts`.

    Raises:
        TypeError, RecordError, ValueError, OSError: As for :func:`count_pretokens` and `bpetite.Tokenizer.train`.
    """
    refuse_unknown("train", options, _TrainOptions)
    learning, reading = parted(options, LearningOptions)
    chosen = chosen_options(vocab_size, learning)
    check_trainable(chosen)
    table = _count_to_table(run, sources, Path(work), chosen.cutting, **reading)
    with CountFile(table) as counts:
        vocab = train_from_counts(counts, chosen)
    _clean(table)
    return Tokenizer.from_vocab(vocab)
