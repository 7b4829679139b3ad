"""The corpus functions that users call."""
from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias, Unpack

from ..core._threads import in_order
from ..errors import FormatError
from .layouts.registry import layout_of
from .reading.blocks import Position, Reading
from .reading.given import given_documents
from .reading.readers import read_blocks, require
from .reading.sums import Sums, add_sums, sums_of
from .run.corpus_options import CorpusOptions, EncodeOptions, Options, TaskOptions, refuse_unknown, split_options
from .run.outputs import leave_out_own
from .run.part import Part, Progress
from .run.tally import Tally
from .sources.find import Sources, find_sources, refuse_unread
from .sources.paths import path_of

__all__ = ["SourcesLike", "as_sources", "check_inputs", "count_corpus", "encode_corpus", "make_part"]

SourcesLike: TypeAlias = Sources | str | os.PathLike[str] | Iterable[str | os.PathLike[str]]


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
        sources: Files, folders, glob patterns, or "-" for standard input.
        sink: The output: a file name with or without its suffix, or a folder.
        tokenizer: A bpetite.Tokenizer, or a `Codec` made of any other one.
        documents: In the place of sources, documents of the program: an iterable of str, bytes or mappings with the
            text at ``text_key``; a datasets.Dataset or IterableDataset; a pyarrow.Table or RecordBatchReader, a DuckDB
            relation, or anything else that gives Arrow streams. After a kill, a Dataset goes on at its row; with
            others the run begins anew. Not with ranks.
        jobs: Threads that encode. The output does not depend on it.
        rank, world_size: Read only this part of the sources, into a spool that `merge_outputs` joins with the others.
        progress: Called with (bytes read since the last call, tokens so far, documents so far).
        log: Called with messages for people.
        options: What to write, see `Options`: format, dtype, eot, special, separator, text_key, ...; and overwrite,
            tokenizer_name, checkpoint_seconds, max_errors, see `bpetite.corpus.run.corpus_options.TaskOptions`.

    Returns:
        "documents", "tokens" and "bytes" (of text), "problems" (kind -> count and first one), "byte_order_marks" (that
        were skipped within files), "unread" (files of folders and patterns that no reader knows), "on_error", "files"
        (names), "manifest" (its path), "tokens_before" (of the call that was killed) and "seconds".

    Raises:
        TypeError: There is no such option.
        RecordError: A record with a problem, with file and line; ``on_error="skip"`` or ``"replace"`` goes on.
        ValueError: An option is out of range; the journal is that of another run; with ``on_error="fail"``, a folder
            or a pattern has a file that no reader knows.
        FileExistsError: There is an output of another run, or of standard input or an iterable, which cannot be
            compared, and ``overwrite`` is false.
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
    chosen, task = split_options("encode_corpus", options)
    for name, value in (("sink", sink), ("tokenizer", tokenizer)):
        if value is None or (name == "sink" and sources is None and value == ""):
            raise TypeError(f"encode_corpus() missing 1 required argument: {name!r}")
    sources = _given("encode_corpus", sources, documents)
    part = make_part(sources, sink, tokenizer, rank=rank, world_size=world_size, options=chosen, **task)
    return part.run(jobs=jobs, progress=progress, log=log)


def make_part(
    sources: SourcesLike,
    sink: str | os.PathLike[str],
    tokenizer: Any,
    *,
    rank: int = 0,
    world_size: int = 1,
    options: Options,
    **task: Unpack[TaskOptions],
) -> Part:
    """The picklable call that `encode_corpus` makes, for callers that schedule it themselves.

    Args:
        sources, sink, tokenizer, rank, world_size: As for `encode_corpus`.
        options: Of the output.
        task: Of the run.

    Raises:
        TypeError: There is no such option.
    """
    refuse_unknown("make_part", task, TaskOptions)
    located = as_sources(sources, options)
    if options.shard_tokens is None:
        options = replace(options, shard_tokens=layout_of(options.format).shard_tokens)
    whole = Part(located.pieces, tokenizer, os.fspath(sink), options, **task)
    inputs, own = leave_out_own(located, whole.names)
    refuse_unread(inputs.left_out, options.on_error)
    if not inputs.pieces:
        raise ValueError(f"{located.pieces[0].path}: all inputs are files of the output itself, {os.fspath(sink)}")
    return replace(
        whole, inputs=inputs.pieces, rank=rank, world_size=world_size, left_out=own, unread=len(inputs.left_out)
    )


def check_inputs(manifest: dict[str, Any], *, jobs: int = 1) -> None:
    """Read the inputs of a manifest again, several files at a time, and compare them with the checksums in it.

    Raises:
        FormatError: The content of an input has changed, whatever its size and time: the message names it, and the
            bytes of its text. Or there is nothing to compare: no list of inputs, or no checksum of one.
        OSError: A file cannot be read.
    """
    inputs = manifest["inputs"]["files"]
    if not inputs:
        raise FormatError("the manifest names no inputs: they cannot be read again")
    for _ in in_order(partial(_check_input, manifest), inputs, jobs):
        pass


def _check_input(manifest: dict[str, Any], file: dict[str, Any]) -> None:
    path, options, was = file["path"], manifest["options"], file.get("read")
    if not path_of(path).exists():
        raise FormatError(f"{path}: cannot be read again")
    if was is None:
        raise FormatError(f"{path}: the manifest has no checksum of it, as a part of it was damaged or too long")
    most = options["max_document_bytes"]
    reading = Reading(manifest["separator"].encode(), options["text_key"], max_document=most, stop=True)
    now: Sums = {}
    pieces = find_sources([path], kind=options["input_kind"], whole_files=options["whole_files"]).pieces
    for block in read_blocks(pieces, reading):
        add_sums(now, sums_of(block))
    for start in sorted({*was, *now}, key=int):
        if was.get(start) != now.get(start):
            size = max(side[start][0] for side in (was, now) if start in side)
            raise FormatError(f"{path}: has been changed since it was read: bytes {start} to {int(start) + size - 1} "
                              "of its text differ from the checksum in the manifest")


def _given(function: str, sources: SourcesLike | None, documents: Any) -> SourcesLike:
    """The sources, from whichever of two arguments is given."""
    if (sources is None) == (documents is None):
        raise TypeError(f"{function}() takes sources or documents, one of them")
    return Sources((given_documents(documents),)) if sources is None else sources


def as_sources(sources: SourcesLike, options: Options) -> Sources:
    """Sources as they are, or found by paths and patterns; see `find_sources`."""
    if isinstance(sources, Sources):
        return sources
    paths = [sources] if isinstance(sources, str | os.PathLike) else sources
    return find_sources(paths, kind=options.input_kind, whole_files=options.whole_files)


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
        sources, tokenizer, documents, jobs, progress, log, max_errors: As for `encode_corpus`.
        problems: Called with the number of problems so far, before ``progress``.
        options: See `Options`; options of the output have no effect.

    Returns:
        "documents", "tokens", "bytes" (of text), "problems", "unread" and "on_error".

    Raises:
        TypeError, RecordError, ValueError, OSError: As `encode_corpus`.
    """
    refuse_unknown("count_corpus", options, CorpusOptions)
    if tokenizer is None:
        raise TypeError("count_corpus() missing 1 required argument: 'tokenizer'")
    chosen = replace(
        Options(**options), format="npy", eot="none", rejected=False, shuffle=None, memory=Options.memory,
        shard_tokens=None, stats_by=None,
    )
    located = as_sources(_given("count_corpus", sources, documents), chosen)
    refuse_unread(located.left_out, chosen.on_error)
    require(located.pieces)
    part = Part(located.pieces, tokenizer, "", chosen, max_errors=max_errors)
    tally = Tally(part.pieces, chosen.on_error, log, max_errors)
    with closing(part.results(Position(), jobs)) as results:
        for encoded in results:
            tally.add(encoded)
            if problems is not None:
                problems(tally.noted.count)
            if progress is not None:
                progress(encoded.raw, tally.tokens, tally.documents)
    tally.check_limit(at_end=True)
    return {
        "documents": tally.documents,
        "tokens": tally.tokens,
        "bytes": tally.bytes,
        "problems": tally.problems,
        "unread": len(located.left_out),
        "on_error": chosen.on_error,
    }
