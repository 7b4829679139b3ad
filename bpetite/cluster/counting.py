"""Pre-tokens of a corpus counted on a cluster: each task counts a share into a table, and the tables are added up."""
from __future__ import annotations

import math
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Unpack

from ..corpus import Input, Share, read_documents, shares
from ..corpus.api import SourcesLike, checked_inputs
from ..corpus.options import ReadingOptions
from ..corpus.read.pieces import Reading, text_in_shares, text_of
from ..corpus.run import ignore
from ..corpus.training import reading_for, reading_options
from ..corpus.write.manifest import digest, libraries
from ..errors import check_integer
from ..patterns import PatternLike
from ..training.counting.count_file import MAGIC
from ..training.counting.count_pretokens import count_pretokens as count_here
from ..training.counting.counts import CountFile, merge_count_files
from ..training.counting.cutting import Cutting, SpecialLiterals
from .encoding import TASK_BYTES, Map

#: Tables that are added up at a time.
FAN_IN = 64


def _count(
    inputs: tuple[Input, ...], reading: Reading, on_error: str, cutting: Cutting, threads: int, job: tuple[Share, str]
) -> list[str]:
    """Count a share into a table, unless the table exists; returns messages for people."""
    share, table = job
    messages: list[str] = []
    if not os.path.exists(table):
        documents = read_documents(inputs, reading, share=share, on_error=on_error, log=messages.append)
        count_here(documents, **vars(cutting), num_threads=threads).save(table, overwrite=True)
    return messages


def _add_up(job: tuple[list[str], str]) -> None:
    tables, out = job
    if not os.path.exists(out):
        merge_count_files(tables, out, overwrite=True)


def count_pretokens(
    mapped: Map,
    sources: SourcesLike,
    *,
    work: str | os.PathLike[str],
    task_bytes: int = TASK_BYTES,
    threads: int = 1,
    progress: Callable[[int], object] | None = None,
    log: Callable[[str], None] | None = None,
    pattern: PatternLike = "gpt2",
    special_tokens: SpecialLiterals = ("<|endoftext|>",),
    normalization: str | None = None,
    **options: Unpack[ReadingOptions],
) -> CountFile:
    """Count the pre-tokens of a corpus, as `bpetite.count_pretokens` counts them in its documents.

    `bpetite.Tokenizer.train_from_counts` reads the result as a stream. Called again after it was killed, it counts only
    the shares that had not been counted; called again with the same inputs and options, it gives the same file.

    Args:
        mapped: ``map(function, items)`` of a cluster.
        sources: Files, folders, glob patterns.
        work: A folder with the same path on all workers and here, created if missing. The counts stay there; delete it
            when they have been used.
        task_bytes: Input of one task; the counts do not depend on it.
        threads: Threads of a task.
        progress: Called with the bytes of input that have been counted since the last call.
        log: Called with messages for people.
        pattern, special_tokens, normalization: As for `bpetite.count_pretokens`.
        options: Of reading, see `bpetite.corpus.Options`; the separator is "<|endoftext|>" unless given.

    Raises:
        TypeError: There is no such option.
        RecordError: A record has a problem and ``on_error`` is "fail"; the message has file and line.
        ValueError: An option is out of range.
        OSError: A file cannot be read or written.
    """
    progress, log = progress or ignore, log or ignore
    check_integer("task_bytes", task_bytes, 1)
    check_integer("threads", threads, 1)
    cutting = Cutting.of(pattern=pattern, special_tokens=special_tokens, normalization=normalization)
    settings = reading_options(options)
    inputs, reading = checked_inputs(sources, settings), reading_for(cutting, settings)
    count_here([], **vars(cutting))  # finds a pattern that is no regular expression
    count = max(1, math.ceil(sum(map(text_of, inputs)) / task_bytes))
    cut = shares(inputs, count)
    folder = Path(work)
    folder.mkdir(parents=True, exist_ok=True)
    identity = digest([
        MAGIC.decode(), [source.describe() for source in inputs], count, reading.separator.decode(), settings.text_key,
        settings.on_error, settings.max_document_bytes, vars(cutting), libraries(inputs),
    ])  # fmt: skip
    prefix = f"counts-{identity[:16]}"
    whole = folder / f"{prefix}.table"
    if whole.exists():
        return CountFile(whole)
    tables = [str(folder / f"{prefix}-{number:05d}of{count:05d}.table") for number in range(count)]
    counted = mapped(partial(_count, inputs, reading, settings.on_error, cutting, threads), list(zip(cut, tables)))
    for size, messages in zip(text_in_shares(inputs, cut), counted, strict=True):
        for message in messages:
            log(message)
        progress(size)
    level = 0
    while tables != [str(whole)]:
        groups = [tables[at : at + FAN_IN] for at in range(0, len(tables), FAN_IN)]
        outs = [str(folder / f"{prefix}-level{level}-{number:05d}.table") for number in range(len(groups))]
        tables = outs if len(groups) > 1 else [str(whole)]
        list(mapped(_add_up, list(zip(groups, tables))))
        level += 1
    for path in [*folder.glob(f"{prefix}-*"), *folder.glob(f".{prefix}*")]:
        path.unlink(missing_ok=True)
    return CountFile(whole)
