"""The corpus functions that users call."""
from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import replace
from typing import Any, TypeAlias

from .pipeline import Progress, ShardTask
from .plan import Options
from .reading.readers import Position, require
from .reading.sources import Sources, find_sources, overlaps_itself, share
from .tally import Tally

__all__ = ["SourcesLike", "count_corpus", "encode_corpus", "make_task"]

SourcesLike: TypeAlias = Sources | str | os.PathLike[str] | Iterable[str | os.PathLike[str]]


def encode_corpus(
    sources: SourcesLike,
    sink: str | os.PathLike[str],
    tokenizer: Any,
    *,
    jobs: int = 1,
    rank: int = 0,
    world_size: int = 1,
    overwrite: bool = False,
    tokenizer_name: str | None = None,
    checkpoint_seconds: float = 10.0,
    progress: Progress | None = None,
    log: Callable[[str], None] | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Turn a corpus into token files.

    Killed at any moment and called again with the same arguments it goes on, and what it writes is byte for byte what
    an uninterrupted call writes.

    Args:
        sources: Files, folders, glob patterns, or "-" for standard input.
        sink: The output: a file name with or without its suffix, or a folder.
        tokenizer: A bpetite.Tokenizer, or a `Codec` made of any other one.
        jobs: Threads that encode. The output does not depend on it.
        rank, world_size: Read only this part of the sources, into files of its own that `merge` joins.
        overwrite: Replace an existing output.
        tokenizer_name: What the manifest calls the tokenizer.
        checkpoint_seconds: How often progress is made durable.
        progress: Called with (bytes read since the last call, tokens so far, documents so far).
        log: Takes lines for people.
        options: The fields of `Options`: format, dtype, eot, special, separator, text_key, ...

    Returns:
        documents, tokens, bytes, problems, files, manifest (its path), seconds and more.

    Raises:
        RecordError: A record with a problem, with file and line; ``on_error="skip"`` or ``"replace"`` goes on.
        ValueError: Options that cannot be; a journal or output of another run.
        OSError: A file cannot be read or written.
    """
    task = make_task(
        sources,
        sink,
        tokenizer,
        rank=rank,
        world_size=world_size,
        overwrite=overwrite,
        tokenizer_name=tokenizer_name,
        checkpoint_seconds=checkpoint_seconds,
        options=Options(**options),
    )
    return task.run(jobs=jobs, progress=progress, log=log)


def make_task(
    sources: SourcesLike,
    sink: str | os.PathLike[str],
    tokenizer: Any,
    *,
    rank: int = 0,
    world_size: int = 1,
    options: Options,
    **settings: Any,
) -> ShardTask:
    """The task that `encode_corpus` runs, for schedulers of their own."""
    if isinstance(sources, str | os.PathLike):
        sources = [sources]
    if not isinstance(sources, Sources):
        sources = find_sources(sources, kind=options.input_kind, whole_files=options.whole_files)
    task = ShardTask(sources.pieces, sources.pieces, tokenizer, os.fspath(sink), options, **settings)
    if world_size == 1 and rank == 0:
        return task
    # where the number of a record in its file is written down, a file stays with one rank, which can count
    cut = not task.layout.meta and not overlaps_itself(task.encoding.reading.separator)
    return replace(
        task, pieces=share(sources.pieces, rank, world_size, cut_files=cut), rank=rank, world_size=world_size
    )


def count_corpus(
    sources: SourcesLike,
    tokenizer: Any,
    *,
    jobs: int = 1,
    progress: Progress | None = None,
    log: Callable[[str], None] | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Count the tokens of a corpus, without end-of-text tokens, and write nothing.

    Args:
        sources, tokenizer, jobs, progress, log, options: As for `encode_corpus`.

    Returns:
        documents, tokens, bytes and problems.
    """
    settings = Options(**{**options, "format": "npy", "eot": "none"})
    task = make_task(sources, "count", tokenizer, options=settings)
    require(task.pieces)
    tally = Tally(task.pieces, settings.on_error, log)
    with closing(task.results(Position(), jobs)) as results:
        for encoded in results:
            tally.add(encoded)
            if progress is not None:
                progress(encoded.raw, tally.tokens, tally.documents)
    return {
        "documents": tally.documents,
        "tokens": tally.tokens,
        "bytes": tally.bytes,
        "problems": tally.problems,
        "on_error": settings.on_error,
    }
