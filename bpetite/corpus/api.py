"""The corpus functions that users call."""
from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import replace
from typing import Any, TypeAlias

from ..errors import check_integer
from .options import Options
from .plan import Plan
from .read.find import Input, Sources, find_sources, refuse_unread
from .read.given import given_documents
from .read.problems import Problems
from .read.readers import require
from .run import Progress, Tally, encode_share, ignore, run
from .write.names import without_own

SourcesLike: TypeAlias = Sources | str | os.PathLike[str] | Iterable[str | os.PathLike[str]]


def encode_corpus(
    sources: SourcesLike | None = None,
    output: str | os.PathLike[str] = "",
    tokenizer: Any = None,
    *,
    documents: Any = None,
    jobs: int = 1,
    progress: Progress | None = None,
    log: Callable[[str], None] | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Turn a corpus into token files.

    A call that was killed at any moment goes on when it is made again with the same arguments, and writes byte for byte
    what an uninterrupted call writes.

    Args:
        sources: Files, folders, glob patterns, or "-" for standard input.
        output: A file name with or without its suffix; or a folder, which ends with "/".
        tokenizer: A bpetite.Tokenizer, or a `Codec` made of any other one.
        documents: In the place of sources, an iterable of str, bytes or mappings with the text at ``text_key``; a
            datasets.Dataset or IterableDataset; a pyarrow.Table or anything else that gives Arrow streams. After a
            kill, a Dataset goes on at its row; with others the run begins anew. Not with ranks.
        jobs: Threads that encode. The output does not depend on it.
        progress: Called with (bytes read since the last call, tokens so far, documents so far).
        log: Called with messages for people.
        options: See `Options`: format, dtype, eot, special, separator, text_key, shard_tokens, rank, overwrite, ...

    Returns:
        "documents", "tokens" and "bytes" (of text), "problems" (kind -> count and first one), "on_error", "files"
        (names), "manifest" (its path), "tokens_before" (of the call that was killed) and "seconds".

    Raises:
        TypeError: There is no such option.
        RecordError: A record with a problem, with file and line; ``on_error="skip"`` or ``"replace"`` goes on.
        ValueError: An option is out of range; an unfinished run of other inputs or options has this output; with
            ``on_error="fail"``, a folder or a pattern has a file that no reader knows.
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
    for name, value in (("output", output), ("tokenizer", tokenizer)):
        if value is None or (name == "output" and sources is None and value == ""):
            raise TypeError(f"encode_corpus() missing 1 required argument: {name!r}")
    plan = make_plan(_given("encode_corpus", sources, documents), output, tokenizer, Options(**options), log=log)
    return run(plan, jobs=jobs, progress=progress, log=log)


def make_plan(
    sources: SourcesLike, output: str | os.PathLike[str], tokenizer: Any, options: Options, *,
    log: Callable[[str], None] | None = None,
) -> Plan:  # fmt: skip
    """The picklable plan that `encode_corpus` runs, for callers that schedule its ranks themselves. It leaves out
    inputs that are files of the output, and says so to ``log``."""
    located = as_sources(sources, options)
    whole = Plan(located.inputs, tokenizer, os.fspath(output), options)
    own = without_own([*(one.path for one in located.inputs), *located.left_out], whole.whole_names)
    inputs = tuple(one for one, kept in zip(located.inputs, own) if kept)
    refuse_unread([path for path, kept in zip(located.left_out, own) if kept], options.on_error)
    if len(inputs) < len(located.inputs) and log is not None:
        left = [one.path for one in located.inputs if one not in inputs]
        log(f"not read, because they are files of this output: {left[0]}, and {len(left) - 1} more")
    if not inputs:
        raise ValueError(f"{located.inputs[0].path}: all inputs are files of the output itself, {os.fspath(output)}")
    return replace(whole, inputs=inputs)


def _given(function: str, sources: SourcesLike | None, documents: Any) -> SourcesLike:
    if (sources is None) == (documents is None):
        raise TypeError(f"{function}() takes sources or documents, one of them")
    return Sources((given_documents(documents),)) if sources is None else sources


def as_sources(sources: SourcesLike, options: Options) -> Sources:
    """Sources as they are, or found by paths and patterns; see `find_sources`."""
    if isinstance(sources, Sources):
        return sources
    paths = [sources] if isinstance(sources, str | os.PathLike) else sources
    return find_sources(paths, kind=options.input_kind, whole_files=options.whole_files)


def checked_inputs(sources: SourcesLike, options: Options) -> tuple[Input, ...]:
    """The inputs of sources. Raises ValueError for files that no reader knows where ``on_error`` is "fail", and
    MissingExtraError if a reader's package is missing."""
    located = as_sources(sources, options)
    refuse_unread(located.left_out, options.on_error)
    require(located.inputs)
    return located.inputs


def count_corpus(
    sources: SourcesLike | None = None,
    tokenizer: Any = None,
    *,
    documents: Any = None,
    jobs: int = 1,
    progress: Progress | None = None,
    problems: Callable[[int], object] | None = None,
    log: Callable[[str], None] | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Count the tokens of a corpus, without end-of-text tokens; nothing is written.

    Args:
        sources, tokenizer, documents, jobs, progress, log: As for `encode_corpus`.
        problems: Called with the number of problems so far, before ``progress``.
        options: See `Options`; options of the output have no effect.

    Returns:
        "documents", "tokens", "bytes" (of text), "problems" and "on_error".

    Raises:
        TypeError, RecordError, ValueError, OSError: As `encode_corpus`.
    """
    check_integer("jobs", jobs, 1)
    if tokenizer is None:
        raise TypeError("count_corpus() missing 1 required argument: 'tokenizer'")
    chosen = replace(
        Options(**options), format="npy", dtype="auto", eot="none", rejected=False, shard_tokens=None, val_fraction=0.0,
        seed=0, rank=0, world_size=1,
    )
    plan = Plan(checked_inputs(_given("count_corpus", sources, documents), chosen), tokenizer, "", chosen)
    plan.check_options()
    found = Problems(plan.inputs, chosen.on_error, log, chosen.max_errors)
    tally, progress, problems = Tally(problems=found.by_kind), progress or ignore, problems or ignore
    if (warning := plan.warning) is not None and log is not None:
        log(warning)
    with closing(encode_share(plan, None, jobs)) as results, closing(found):
        for encoded in results:
            tally.add(encoded, found)
            problems(found.count)
            progress(encoded.file_bytes, tally.tokens, tally.documents)
    return {
        "documents": tally.documents, "tokens": tally.tokens, "bytes": tally.bytes, "problems": tally.problems,
        "on_error": chosen.on_error,
    }  # fmt: skip
