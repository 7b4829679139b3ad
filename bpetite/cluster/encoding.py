"""A corpus to token files on a cluster: parts encoded by tasks, then shards assembled by tasks.

Tasks are what ranks of a job array run: a task that lost its worker is started again elsewhere and goes on from its
journal, and so does a driver that is started again.
"""
from __future__ import annotations

import math
import os
import re
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from ..corpus import Part, make_part, shares
from ..corpus.api import SourcesLike
from ..corpus.output.durable import Journal
from ..corpus.output.manifest import listed_files, read_manifest
from ..corpus.output.naming import REJECTED, Names
from ..corpus.output.rejected import Lines
from ..corpus.output.shards import outputs_in, outputs_of_assembly
from ..corpus.run.assembly import PATIENCE, Assembly, Map, assemble, delete_parts, patiently
from ..corpus.run.options import EncodeOptions, split_options
from ..corpus.run.outputs import find_parts
from ..corpus.run.part import Progress, finished, summary_of
from ..corpus.sources.share import TASK_BYTES
from ..corpus.sources.urls import is_url
from ..errors import FormatError, file_exists
from .calls import check_positive

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["encode_corpus"]

#: The most messages of tasks that are passed on.
MESSAGES = 20


def encode_corpus(
    run: Map,
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

    The output is the same byte for byte, manifest included. Inputs and output must have the same paths on all workers
    and here. Until the end, the tokens need disk space twice.

    Args:
        run: ``map(function, items)`` of a cluster: picklable calls, results in order.
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
    check_positive(task_bytes=task_bytes, threads=threads)
    settings, how = split_options("encode_corpus", options)
    log = log or (lambda line: None)
    if is_url(sink):
        raise ValueError(f"{os.fspath(sink)}: tasks write files that all workers see, so not at a URL; ranks do")
    whole = make_part(sources, sink, tokenizer, options=settings, **how)
    began = time.perf_counter()
    begun = _begun(whole.names)
    count = begun or max(1, math.ceil(sum(piece.raw_bytes for piece in whole.inputs) / task_bytes))
    digest = whole.of(0, count).run_digest  # before a file is touched: it finds every mistake in the options
    done = None if whole.overwrite else finished(whole)
    parts = [whole.of(rank, count) for rank in range(count)]
    if done is None:
        whole.names.folder.mkdir(parents=True, exist_ok=True)
        if whole.overwrite:
            for names in [whole.names, *(part.names for part in parts)]:
                _remove(names)
        _check_free(whole, count)
        if begun is not None:
            log(f"going on: {sum(part.names.manifest.exists() for part in parts)} of {count} parts are finished")
        shared = replace(whole, known_digest=digest, overwrite=False)
        tokens = documents = 0
        told: set[str] = set()
        made = run(partial(_encode, shared, threads, count), range(count))
        cut = shares(whole.inputs, count, cut_files=whole.cuts_files)
        for pieces, (summary, said) in zip(cut, made, strict=True):
            tokens, documents = tokens + summary["tokens"], documents + summary["documents"]
            for message in said:
                if message not in told and len(told) < MESSAGES:
                    log(message)
                    told.add(message)
            if progress is not None:
                progress(sum(piece.raw_bytes for piece in pieces), tokens, documents)
        done = read_manifest(whole.names.manifest) if count == 1 else _join(run, whole, parts)
    if count > 1 and parts[0].names.manifest.exists():
        delete_parts([
            (part.names.manifest, read_manifest(part.names.manifest)) for part in parts if part.names.manifest.exists()
        ])
    return summary_of(whole, done, time.perf_counter() - began, 0)


def _begun(names: Names) -> int | None:
    """The number of parts of a run that was killed, whatever ``task_bytes`` are now."""
    ending = r"\.rank\d{5}of(\d{5})\.(?:manifest\.json|journal)"
    found = (re.fullmatch(re.escape(names.stem or "tokens") + ending, name) for name in names.there())
    return max((int(one[1]) for one in found if one), default=None)


def _encode(whole: Part, threads: int, count: int, rank: int) -> tuple[dict[str, Any], list[str]]:
    """The call of a task: one part, from where an earlier worker stopped; returns its summary and its messages."""
    messages: list[str] = []
    part = whole.of(rank, count)
    return patiently(partial(part.run, jobs=threads, log=messages.append), PATIENCE), messages


def _join(run: Map, whole: Part, parts: list[Part]) -> dict[str, Any]:
    found = find_parts(whole.output, [str(part.names.manifest) for part in parts])
    assembly = Assembly.of(found, whole.output, overwrite=False, patience=PATIENCE)
    manifest = assemble(assembly, [manifest for _, manifest in found], run)
    if manifest is None:
        raise FormatError(f"{whole.output}: a shard has been deleted while others were made; the same call goes on")
    return manifest


def _check_free(whole: Part, count: int) -> None:
    """Find out now, not when everything has been encoded, that the output cannot be written."""
    names = whole.names
    if count > 1 and names.journal.exists():
        raise file_exists(names.journal, "of an unfinished run here; finish that, or overwrite=True")
    begun = [path for path in names.temporary() if path.name.endswith(".shard")] or names.journal.exists()
    first = [path for split in whole.splits for path in whole.layout.outputs(names.base(split, 0))]
    if whole.options.rejected:
        first += Lines().outputs(names.beside(REJECTED))
    for path in () if begun else first:
        if names.taken(path):
            raise file_exists(path, "exists already; overwrite=True replaces it")


def _remove(names: Names) -> None:
    """Delete the files of an output or a part, finished or not."""
    files: list[str] = []
    if names.manifest.exists():
        try:
            files = [file["name"] for file in listed_files(read_manifest(names.manifest))]
        except ValueError:  # damaged, so it cannot say
            files = names.finished()
    elif names.journal.exists():
        journal = Journal(names.journal)
        journal.close()
        files = [file["name"] for file in outputs_in(journal.records[1:])]
    names.remove([*files, *(file["name"] for file in outputs_of_assembly(names))])
    for path in [*names.temporary(), names.manifest]:
        path.unlink(missing_ok=True)
    Journal.discard(names.journal)
