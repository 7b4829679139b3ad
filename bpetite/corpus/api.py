"""The corpus functions that users call."""
from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

from .duplicates import Seen
from .encoding.rows import drop_duplicates
from .layouts.layouts import layout_of
from .mixture import Mixture
from .output.naming import names_of
from .reading.given import given_documents
from .reading.readers import Position, require
from .run.options import CorpusOptions, EncodeOptions, Options, TaskOptions, refuse_unknown, split_options
from .run.own_files import leave_out_own
from .run.part import Progress, ShardTask
from .run.tally import Tally
from .sources.find import Sources, find_sources, refuse_unread
from .sources.share import share

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["SourcesLike", "as_sources", "count_corpus", "encode_corpus", "make_task", "weigh"]

SourcesLike: TypeAlias = Sources | Mixture | str | os.PathLike[str] | Iterable[str | os.PathLike[str]]


def encode_corpus(
    sources: SourcesLike | None = None,
    sink: str | os.PathLike[str] = "",
    tokenizer: Any = None,
    *,
    documents: Any = None,
    jobs: int = 1,
    rank: int = 0,
    world_size: int = 1,
    progress: Progress | None = None,
    log: Callable[[str], None] | None = None,
    **options: Unpack[EncodeOptions],
) -> dict[str, Any]:
    """Turn a corpus into token files.

    A call that was killed at any moment goes on when it is made again with the same arguments, and writes byte for byte
    what an uninterrupted call writes.

    Args:
        sources: Files, folders, glob patterns, or "-" for standard input; or a `Mixture`. Of one with weights, sources
            whose tokens are not known are counted first.
        sink: The output: a file name with or without its suffix, or a folder.
        tokenizer: A bpetite.Tokenizer, or a `Codec` made of any other one.
        documents: In the place of sources, what a program has: an iterable of str, bytes or mappings with the text at
            ``text_key``; a datasets.Dataset or IterableDataset; a pyarrow.Table or RecordBatchReader, a DuckDB
            relation, or anything else that gives Arrow streams. After a kill, a Dataset goes on at its row; others are
            read again from the start, and must give the same documents, which a checksum verifies. Not with ranks.
        jobs: Threads that encode. The output does not depend on it.
        rank, world_size: Read only this part of the sources, into files of its own that `merge` joins.
        progress: Called with (bytes read since the last call, tokens so far, documents so far).
        log: Called with messages for people.
        options: What to write, see `Options`: format, dtype, eot, special, separator, text_key, ...; and overwrite,
            tokenizer_name, checkpoint_seconds, max_errors, see `bpetite.corpus.run.options.TaskOptions`.

    Returns:
        "documents", "tokens" and "bytes" (of text), "filtered" (what limits did -> to how many documents: "short",
        "cut", "split", "skip"), of a mixture "sources" (documents, tokens, repeats of each), "problems" (kind -> count
        and first one), "unread" (files of folders and patterns that no reader knows), "on_error", "files" (names),
        "manifest" (its path), "tokens_before" (of the call that was killed) and "seconds".

    Raises:
        TypeError: There is no such option.
        RecordError: A record with a problem, with file and line; ``on_error="skip"`` or ``"replace"`` goes on.
        ValueError: An option is out of range; the journal is that of another run; with ``on_error="fail"``, a folder
            or a pattern has a file that no reader knows.
        FileExistsError: There is an output of another run, and ``overwrite`` is false.
        OSError: A file cannot be read or written.

    >>> import pathlib, tempfile, numpy as np
    >>> from bpetite import Tokenizer
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "two.txt").write_text("ab ab<|endoftext|>ab")
    >>> summary = encode_corpus(folder / "two.txt", folder / "out", Tokenizer.train("ab ab ab", 258))
    >>> summary["documents"], summary["tokens"], summary["files"]
    (2, 5, ['out.npy', 'out.offsets.npy'])
    >>> np.load(folder / "out.npy").tolist(), np.load(folder / "out.offsets.npy").tolist()
    ([256, 257, 258, 256, 258], [0, 3, 5])
    """
    settings, how = split_options("encode_corpus", options)
    for name, value in (("sink", sink), ("tokenizer", tokenizer)):
        if value is None or (name == "sink" and sources is None and value == ""):
            raise TypeError(f"encode_corpus() missing 1 required argument: {name!r}")
    sources = _given("encode_corpus", sources, documents)
    if isinstance(sources, Mixture):
        sources = weigh(sources, tokenizer, settings, jobs=jobs, world_size=world_size, log=log)
    task = make_task(sources, sink, tokenizer, rank=rank, world_size=world_size, options=settings, **how)
    return task.run(jobs=jobs, progress=progress, log=log)


def make_task(
    sources: SourcesLike,
    sink: str | os.PathLike[str],
    tokenizer: Any,
    *,
    rank: int = 0,
    world_size: int = 1,
    options: Options,
    **settings: Unpack[TaskOptions],
) -> ShardTask:
    """The task that `encode_corpus` runs, for callers that schedule it themselves.

    Args:
        sources, sink, tokenizer, rank, world_size: As for `encode_corpus`.
        options: What to write.
        settings: How to write it.

    Raises:
        TypeError: There is no such setting.
    """
    refuse_unknown("make_task", settings, TaskOptions)
    mixture = sources if isinstance(sources, Mixture) else None
    if mixture is not None and mixture.sources[0].weight is not None:
        if mixture.uncounted:
            raise ValueError(f"source {mixture.uncounted[0].name!r} has a weight, and its tokens are not known; "
                             "give them (tokens=, as `count` says them), or repeats")
        mixture = mixture.weighed()
    if mixture is None:
        sources = as_sources(sources, kind=options.input_kind, whole_files=options.whole_files)
    else:
        sources = mixture.find(options.input_kind, options.whole_files)
    layout = layout_of(options.format, options.pack, options.loss_mask)
    if options.shard_tokens is None:
        options = replace(options, shard_tokens=layout.shard_tokens)
    inputs = leave_out_own(sources, names_of(sink, layout, shard_tokens=options.shard_tokens))
    refuse_unread(inputs.unread, options.on_error)
    pieces = inputs.pieces
    if not pieces:
        raise ValueError(f"{sources.pieces[0].path}: all inputs are files of the output itself, {os.fspath(sink)}")
    task = ShardTask(
        pieces, pieces, tokenizer, os.fspath(sink), options, left_out=inputs.own, unread=len(inputs.unread),
        mixture=mixture, **settings,
    )  # fmt: skip
    if mixture is not None:
        pieces = mixture.arrange(pieces, cuts_files=task.cuts_files)
        task = replace(task, pieces=pieces)
    if world_size == 1 and rank == 0:
        return task
    options.refuse_parts("several ranks")
    pieces = share(pieces, rank, world_size, cut_files=task.cuts_files)
    return replace(task, pieces=pieces, rank=rank, world_size=world_size)


def _given(function: str, sources: SourcesLike | None, documents: Any) -> SourcesLike:
    """What is to be read, out of two arguments of which one is given."""
    if (sources is None) == (documents is None):
        raise TypeError(f"{function}() takes sources or documents, one of them")
    return Sources((given_documents(documents),)) if sources is None else sources


def as_sources(sources: SourcesLike, *, kind: str | None, whole_files: bool) -> Sources:
    """Sources as they are, or what paths and patterns stand for; see `find_sources`."""
    if isinstance(sources, Mixture):
        return sources.find(kind, whole_files)
    if isinstance(sources, Sources):
        return sources
    paths = [sources] if isinstance(sources, str | os.PathLike) else sources
    return find_sources(paths, kind=kind, whole_files=whole_files)


def weigh(
    mixture: Mixture,
    tokenizer: Any,
    options: Options,
    *,
    jobs: int = 1,
    world_size: int = 1,
    log: Callable[[str], None] | None = None,
) -> Mixture:
    """A mixture with repeats instead of weights; sources whose tokens are not known are counted.

    Raises:
        ValueError: There are ranks, each of which would count; a source has no tokens.
    """
    if mixture.uncounted and world_size > 1:
        raise ValueError(f"source {mixture.uncounted[0].name!r}: give its tokens, or each rank would count them; "
                         "`bpetite count --mixture` says them")
    counted = []
    for source in mixture.sources:
        if source in mixture.uncounted:
            if log is not None:
                log(f"counting the tokens of source {source.name!r}, because it has a weight and no tokens")
            alone = Mixture((replace(source, weight=None),))
            tokens = _count(alone, tokenizer, options, jobs=jobs, known=True)["tokens"]
            if not tokens:
                raise ValueError(f"source {source.name!r} has a weight, but no tokens")
            source = replace(source, tokens=tokens)
        counted.append(source)
    return Mixture(tuple(counted), mixture.tokens).weighed()


def count_corpus(
    sources: SourcesLike | None = None,
    tokenizer: Any = None,
    *,
    documents: Any = None,
    jobs: int = 1,
    progress: Progress | None = None,
    problems: Callable[[int], object] | None = None,
    log: Callable[[str], None] | None = None,
    max_errors: str | int | None = None,
    **options: Unpack[CorpusOptions],
) -> dict[str, Any]:
    """Count the tokens of a corpus, without end-of-text tokens; nothing is written.

    Args:
        sources, tokenizer, documents, jobs, progress, log, max_errors: As for `encode_corpus`. Of a mixture, each
            source is read once, whatever its repeats or weight.
        problems: Called with the number of problems so far, before ``progress``.
        options: See `Options`; those of the output have no effect.

    Returns:
        "documents", "tokens", "bytes" (of text), "filtered", "problems", "unread" and "on_error"; of a mixture also
        "sources" (documents and tokens of each, once, and the repeats that it would have). Of a mixture with
        ``drop_duplicates``, a document that several sources have is one of the first of them.

    Raises:
        TypeError, RecordError, ValueError, OSError: As `encode_corpus`.
    """
    refuse_unknown("count_corpus", options, CorpusOptions)
    if tokenizer is None:
        raise TypeError("count_corpus() missing 1 required argument: 'tokenizer'")
    return _count(
        _given("count_corpus", sources, documents), tokenizer, Options(**options), jobs=jobs, progress=progress,
        problems=problems, log=log, max_errors=max_errors,
    )  # fmt: skip


def _count(
    sources: SourcesLike,
    tokenizer: Any,
    options: Options,
    *,
    jobs: int,
    progress: Progress | None = None,
    problems: Callable[[int], object] | None = None,
    log: Callable[[str], None] | None = None,
    max_errors: str | int | None = None,
    known: bool = False,
) -> dict[str, Any]:
    """What `count_corpus` does; of sources that are ``known``, files that are not read are somebody else's to find."""
    settings = replace(options, format="npy", eot="none", rejected=False, shuffle=None)
    if not settings.drop_duplicates:
        settings = replace(settings, memory=Options.memory)
    found = as_sources(sources, kind=settings.input_kind, whole_files=settings.whole_files)
    if not known:
        refuse_unread(found.left_out, settings.on_error)
    pieces = found.pieces
    require(pieces)
    mixture = sources if isinstance(sources, Mixture) else None
    task = ShardTask(pieces, pieces, tokenizer, "count", settings, mixture=mixture, max_errors=max_errors)
    tally = Tally(task.pieces, settings.on_error, log, max_errors)
    seen = Seen(task.memory) if settings.drop_duplicates else None
    with closing(task.results(Position(), jobs)) as results:
        for encoded in results:
            if seen is not None:
                drop_duplicates(encoded, seen.add)
            tally.add(encoded)
            if problems is not None:
                problems(tally.problem_count)
            if progress is not None:
                progress(encoded.raw, tally.tokens, tally.documents)
    tally.check_limit(at_end=True)
    return {
        "documents": tally.documents,
        "tokens": tally.tokens,
        "bytes": tally.bytes,
        **({} if mixture is None else {"sources": _once(mixture, tally)}),
        "filtered": dict(sorted(tally.filtered.items())),
        "problems": tally.problems,
        "unread": len(found.left_out),
        "on_error": settings.on_error,
    }


def _once(mixture: Mixture, tally: Tally) -> dict[str, dict[str, Any]]:
    """What each source of a mixture has, read once."""
    counts = {source.name: tally.sources.get(source.name, [0, 0]) for source in mixture.sources}
    known = mixture
    if mixture.sources[0].weight is not None and all(tokens for _, tokens in counts.values()):
        counted = [replace(source, tokens=counts[source.name][1]) for source in mixture.sources]
        known = replace(mixture, sources=tuple(counted)).weighed()
    return {
        source.name: {"documents": documents, "tokens": tokens, "repeats": source.repeats}
        for source, (documents, tokens) in zip(known.sources, counts.values(), strict=True)
    }
