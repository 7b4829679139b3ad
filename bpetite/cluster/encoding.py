"""A corpus to token files on a cluster: parts encoded by tasks, then shards assembled by tasks.

Tasks are what ranks of a job array run: a task that lost its worker is started again elsewhere and goes on from its
journal, and so does a driver that is started again.
"""
from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Unpack

from ..corpus import Part, make_part, merge_outputs, shares
from ..corpus.api import SourcesLike
from ..corpus.output.manifest import read_manifest
from ..corpus.output.upload import begin_staging
from ..corpus.run.assembly import PATIENCE, Map, check_room, delete_parts, when_unlocked
from ..corpus.run.corpus_options import EncodeOptions, split_options
from ..corpus.run.outputs import begun_at
from ..corpus.run.part import Progress, finished, ignore, remove, summary_of
from ..corpus.sources.share import TASK_BYTES
from ..errors import FormatError, check_integer

__all__ = ["encode_corpus"]

#: The most messages of tasks that are passed on.
MESSAGES = 20


def encode_corpus(
    mapped: Map,
    sources: SourcesLike,
    sink: str | os.PathLike[str],
    tokenizer: Any,
    *,
    task_bytes: int = TASK_BYTES,
    threads: int = 1,
    progress: Progress | None = None,
    log: Callable[[str], None] | None = None,
    **options: Unpack[EncodeOptions],
) -> dict[str, Any]:
    """Turn a corpus into token files on a cluster; `bpetite.corpus.encode_corpus` does it in one process.

    The output is the same byte for byte, manifest included. Inputs and output must have the same paths, or URLs, on all
    workers and here. Until the end, the tokens need space twice.

    Args:
        mapped: ``map(function, items)`` of a cluster: picklable calls, results in order.
        sources, sink, tokenizer, options: As for `bpetite.corpus.encode_corpus`.
        task_bytes: Input of one task: the most work that a lost worker costs. The output does not depend on it.
        threads: Threads of a task.
        progress: Called after each task, as by `bpetite.corpus.encode_corpus`.
        log: Called with messages for people.

    Returns:
        As `bpetite.corpus.encode_corpus`.

    Raises:
        RecordError: A record has a problem and ``on_error`` is "fail": the first in the order of the corpus.
        TypeError, ValueError, OSError: As `bpetite.corpus.encode_corpus`.
    """
    check_integer("task_bytes", task_bytes, 1)
    check_integer("threads", threads, 1)
    chosen, task = split_options("encode_corpus", options)
    whole = make_part(sources, sink, tokenizer, options=chosen, **task)
    began, log, progress = time.perf_counter(), log or ignore, progress or ignore
    begun = begun_at(sink)  # by a call that was killed, whatever its task_bytes were
    count = (begun and begun[2]) or max(1, math.ceil(sum(piece.raw_bytes for piece in whole.inputs) / task_bytes))
    # before a file is touched: the digest finds every mistake in the options
    shared = replace(whole, known_digest=whole.of(0, count).run_digest, overwrite=False)
    done = None if whole.overwrite else finished(whole)
    parts = [whole.names_of_part(rank, count) for rank in range(count)]
    if done is None:
        begin_staging(whole.names)
        for names in (whole.names, *parts) if whole.overwrite else ():
            remove(names)
        if count > 1:
            check_room(whole.names, whole.streams)
        if begun is not None:
            log(f"going on: {sum(names.manifest.exists() for names in parts)} of {count} parts are finished")
        _encode_parts(mapped, shared, count, threads, progress, log)
        if count > 1:
            done = merge_outputs(whole.output, [str(names.manifest) for names in parts], mapped=mapped)
        else:
            done = read_manifest(whole.names.manifest)
        if done is None:
            raise FormatError(f"{whole.output}: a shard has been deleted while others were made; the same call goes on")
    left = [names.manifest for names in parts if count > 1 and names.manifest.exists()]
    delete_parts([(path, read_manifest(path)) for path in left])
    return summary_of(whole, done, time.perf_counter() - began, 0)


def _encode_parts(
    mapped: Map,
    whole: Part,
    count: int,
    threads: int,
    progress: Progress,
    log: Callable[[str], None],
) -> None:
    """Have all parts encoded; messages of tasks that are equal are told once."""
    tokens = documents = 0
    told: set[str] = set()
    cut = shares(whole.inputs, count, cut_files=whole.cuts_files)
    for pieces, (summary, said) in zip(cut, mapped(partial(_encode, whole, threads, count), range(count)), strict=True):
        tokens, documents = tokens + summary["tokens"], documents + summary["documents"]
        for message in said:
            if message not in told and len(told) < MESSAGES:
                log(message)
                told.add(message)
        progress(sum(piece.raw_bytes for piece in pieces), tokens, documents)


def _encode(whole: Part, threads: int, count: int, rank: int) -> tuple[dict[str, Any], list[str]]:
    """The call of a task: one part, from where an earlier worker stopped; returns its summary and its messages."""
    messages: list[str] = []
    part = whole.of(rank, count)
    return when_unlocked(partial(part.run, jobs=threads, log=messages.append), PATIENCE), messages
