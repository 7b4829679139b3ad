"""A corpus to token files on a cluster: each task is a rank, which goes on from its state, and outputs are merged."""
from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from ..corpus import Options, Plan, make_plan, merge_outputs
from ..corpus.api import SourcesLike
from ..corpus.read.pieces import shares, text_in_shares, text_of
from ..corpus.read.stores import names_in
from ..corpus.run import Progress, finished, ignore, run, summary_of
from ..corpus.write.partial import clean_up
from ..errors import check_integer

#: ``map(function, items)``: the results in order, made anywhere, by picklable calls.
Map: TypeAlias = Callable[[Callable[[Any], Any], Sequence[Any]], Iterable[Any]]

#: Bytes of text of a task, unless told otherwise.
TASK_BYTES = 256 << 20


def encode_corpus(
    mapped: Map,
    sources: SourcesLike,
    output: str | os.PathLike[str],
    tokenizer: Any,
    *,
    task_bytes: int | None = None,
    threads: int = 1,
    progress: Progress | None = None,
    log: Callable[[str], None] | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Turn a corpus into token files on a cluster, by ranks and `bpetite.corpus.merge_outputs`. Inputs and output must
    have the same paths, or URLs, on all workers and here.

    Args:
        mapped: ``map(function, items)`` of a cluster: picklable calls, results in order.
        sources, output, tokenizer, options: As for `bpetite.corpus.encode_corpus`.
        task_bytes: Bytes of text of one task, about: the most work that a lost worker costs. Where ranks keep shards of
            their own, the output depends on it. By default 256 MiB, or as many as a full shard takes.
        threads: Threads of a task.
        progress: Called after each task, as by `bpetite.corpus.encode_corpus`.
        log: Called with messages for people.

    Returns:
        As `bpetite.corpus.encode_corpus`.

    Raises:
        RecordError: A record has a problem and ``on_error`` is "fail": the first in the order of the corpus.
        TypeError, ValueError, OSError: As `bpetite.corpus.encode_corpus`.
    """
    check_integer("threads", threads, 1)
    if task_bytes is not None:
        check_integer("task_bytes", task_bytes, 1)
    began, log, progress = time.perf_counter(), log or ignore, progress or ignore
    whole = make_plan(sources, output, tokenizer, Options(**options), log=log)
    size = task_bytes or max(TASK_BYTES, 5 * (whole.shard_tokens or 0))  # a token has some four bytes of text
    count = max(1, math.ceil(sum(map(text_of, whole.inputs)) / size))
    known = whole.of(0, count).run_digest  # this finds every mistake in the options before a file is touched
    shared = whole.of(0, count)  # without the values that the digest has made, because workers get it
    manifests = [shared.of(rank, count).names.manifest for rank in range(count)]
    done = None if whole.options.overwrite else finished(whole)
    if done is None:
        local = count > 1 and isinstance(whole.names.place, Path) and not whole.options.overwrite
        # a merge that was killed has its folder and maybe files in place; it goes on
        if local and whole.layout.joins and whole.shard_tokens is None and not whole.names.folder.exists():
            whole.names.refuse_existing(whole.splits)
        cut = shares(whole.inputs, count, whole=whole.layout.meta)
        sizes = text_in_shares(whole.inputs, cut, whole=whole.layout.meta)
        tokens = documents = 0
        told: set[str] = set()
        for read, (summary, said) in zip(sizes, mapped(partial(_encode, shared, known, threads, count), range(count))):
            tokens, documents = tokens + summary["tokens"], documents + summary["documents"]
            for message in said:
                if message not in told and len(told) < 20:
                    log(message)
                    told.add(message)
            progress(read, tokens, documents)
        done = merge_outputs(whole.output, manifests, overwrite=whole.options.overwrite, delete=count > 1)
    else:
        clean_up(whole.names, done["run"])
        there = names_in(whole.names.place)
        if left := [path for path in manifests if count > 1 and path.name in there]:
            merge_outputs(whole.output, left, delete=True)  # killed while they were deleted
    return summary_of(whole, done, time.perf_counter() - began, 0)


def _encode(plan: Plan, known: str, threads: int, count: int, rank: int) -> tuple[dict[str, Any], list[str]]:
    """Encode a rank, from where an earlier worker stopped; returns its summary and its messages. ``known``: the digest
    of the run where the plan was made."""
    plan = plan.of(rank, count)
    if plan.run_digest != known:
        raise ValueError("this worker would write another output than the plan says: versions here are "
                         f"{plan.identity['libraries']}; install the same everywhere")
    messages: list[str] = []
    began = time.monotonic()
    while True:
        try:
            return run(plan, jobs=threads, log=messages.append), messages
        except BlockingIOError:  # a worker that the cluster gave up may hold the lock for some seconds
            if time.monotonic() - began >= 60:
                raise
            time.sleep(0.2)
