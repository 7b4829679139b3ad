"""Pre-tokens of a corpus counted on a cluster.

Each task counts its share of the corpus into a sorted table file, and the tables are added up as streams. Counts add up
exactly, so their merges are the same as from one process that reads the whole corpus.
"""
from __future__ import annotations

import math
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Unpack

from ..corpus import Piece, read_documents, shares
from ..corpus.api import SourcesLike, as_sources
from ..corpus.output.manifest import digest, libraries
from ..corpus.reading.blocks import Reading
from ..corpus.reading.cutting import overlaps_itself
from ..corpus.run.assembly import Map
from ..corpus.run.corpus_options import Options, ReadingOptions, parted, refuse_unknown
from ..corpus.sources.share import TASK_BYTES
from ..errors import check_integer
from ..training.counting.count_options import CountOptions, Cutting
from ..training.counting.counts import CountFile, merge_count_files
from ..training.counting.texts import count_pretokens as count_here

__all__ = ["CountingOptions", "count_pretokens"]

#: Tables that are added up at a time.
FAN_IN = 64


class CountingOptions(ReadingOptions, CountOptions, total=False):
    """The options of :func:`count_pretokens`.

    Keys: options of reading, see `bpetite.corpus.Options`, of counting, as for `bpetite.count_pretokens`, and
        task_bytes: Input of one task; the counts do not depend on it.
        threads: Threads of a task.
        progress: Called with the bytes of input that have been counted since the last call.
        log: Called with messages for people.
    """

    task_bytes: int
    threads: int
    progress: Callable[[int], object] | None
    log: Callable[[str], None] | None


def _count(
    reading: Reading, on_error: str, cutting: Cutting, threads: int, job: tuple[tuple[Piece, ...], str]
) -> list[str]:
    """The call of a task: a share counted into a table, unless it exists; returns messages for people."""
    pieces, table = job
    messages: list[str] = []
    if not os.path.exists(table):
        documents = read_documents(pieces, reading, on_error=on_error, log=messages.append)
        count_here(documents, **vars(cutting), num_threads=threads).save(table, overwrite=True)
    return messages


def _add_up(job: tuple[list[str], str]) -> None:
    """The call of a task: some tables added up into one, unless it exists."""
    tables, out = job
    if not os.path.exists(out):
        merge_count_files(tables, out, overwrite=True)


def count_pretokens(
    mapped: Map,
    sources: SourcesLike,
    *,
    work: str | os.PathLike[str],
    **options: Unpack[CountingOptions],
) -> CountFile:
    """Count the pre-tokens of a corpus, as `bpetite.count_pretokens` counts them in its documents.

    `bpetite.Tokenizer.train_from_counts` reads the result as a stream. Called again after it was killed, it counts only
    the shares that had not been counted; called again with the same inputs and options, it gives the same file.

    Args:
        mapped: ``map(function, items)`` of a cluster.
        sources: Files, folders, glob patterns.
        work: A folder with the same path on all workers and here, made if there is none. The counts stay there; delete
            it when they have been used.
        options: See `CountingOptions`; the separator is "<|endoftext|>" unless given.

    Raises:
        TypeError: There is no such option.
        RecordError: A record has a problem and ``on_error`` is "fail"; the message has file and line.
        ValueError: An option is out of range.
        OSError: A file cannot be read or written.
    """
    refuse_unknown("count_pretokens", options, CountingOptions)
    task_bytes, threads = options.get("task_bytes", TASK_BYTES), options.get("threads", 1)
    progress, log = options.get("progress"), options.get("log")
    check_integer("task_bytes", task_bytes, 1)
    check_integer("threads", threads, 1)
    cutting = Cutting.of(**parted(options, CountOptions)[0])
    settings = Options(**parted(options, ReadingOptions)[0])
    settings.check()
    pieces, reading = as_sources(sources, settings).pieces, settings.reading()
    count_here([], **vars(cutting))  # finds a pattern that is no regular expression
    count = max(1, math.ceil(sum(piece.raw_bytes for piece in pieces) / task_bytes))
    cut = list(shares(pieces, count, cut_files=not overlaps_itself(reading.separator)))
    folder = Path(work)
    folder.mkdir(parents=True, exist_ok=True)
    identity = digest([
        [piece.describe() for piece in pieces], count, reading.separator.decode(), settings.text_key,
        settings.on_error, settings.max_document_bytes, vars(cutting), libraries(pieces),
    ])  # fmt: skip
    prefix = f"counts-{identity[:16]}"
    whole = folder / f"{prefix}.table"
    if whole.exists():
        return CountFile(whole)
    tables = [str(folder / f"{prefix}-{number:05d}of{count:05d}.table") for number in range(count)]
    call = partial(_count, reading, settings.on_error, cutting, threads)
    for share, messages in zip(cut, mapped(call, list(zip(cut, tables, strict=True))), strict=True):
        if log is not None:
            for message in messages:
                log(message)
        if progress is not None:
            progress(sum(piece.raw_bytes for piece in share))
    level = 0
    while tables != [str(whole)]:
        groups = [tables[at : at + FAN_IN] for at in range(0, len(tables), FAN_IN)]
        tables = [str(folder / f"{prefix}-level{level}-{number:05d}.table") for number in range(len(groups))]
        if len(groups) == 1:
            tables = [str(whole)]
        for _ in mapped(_add_up, list(zip(groups, tables, strict=True))):
            pass
        level += 1
    for path in [*folder.glob(f"{prefix}-*"), *folder.glob(f".{prefix}*")]:
        path.unlink(missing_ok=True)
    return CountFile(whole)
