"""The documents of a corpus as texts instead of tokens, for training."""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import PurePath

from ..sources.find import Piece
from .blocks import Reading
from .problems import Problems
from .readers import read_blocks
from .records import documents_of

__all__ = ["read_documents", "read_labelled"]


def read_documents(
    pieces: Sequence[Piece],
    reading: Reading,
    *,
    on_error: str = "fail",
    log: Callable[[str], None] | None = None,
    progress: Callable[[int], object] | None = None,
) -> Iterator[bytes]:
    """The documents of a corpus; those with problems are treated as ``on_error`` says.

    Args:
        pieces: What to read, from `find_sources`.
        reading: How to read it.
        on_error: "fail", "skip" or "replace".
        log: Called with the first problem of each kind.
        progress: Called with the bytes of the files that have been read since the last call.

    Yields:
        Documents in UTF-8, in the order of the files; a block of them is in memory at a time.

    Raises:
        RecordError: A record has a problem, and the policy is "fail".
    """
    for texts, _, _ in _blocks(pieces, reading, on_error, log, progress):
        yield from texts


def read_labelled(
    pieces: Sequence[Piece],
    reading: Reading,
    by: str,
    *,
    on_error: str = "fail",
    log: Callable[[str], None] | None = None,
    progress: Callable[[int], object] | None = None,
) -> Iterator[tuple[str | None, bytes]]:
    """The documents of a corpus, each with what it belongs to.

    Args:
        pieces, reading, on_error, log, progress: As for :func:`read_documents`.
        by: "file", the name of the file without the endings of its kind and compression, or "folder", that of its
            folder; else the key of the label in records, where "a.b" is b in a.

    Yields:
        (label, document); None where a record has no such key. A value that is no string is given as its JSON.

    Raises:
        ValueError: A file of text has no records.
        RecordError: As for :func:`read_documents`.
    """
    if by not in ("file", "folder"):
        if (plain := next((piece for piece in pieces if piece.kind in ("text", "whole")), None)) is not None:
            raise ValueError(f"{plain.path}: text has no records with a key {by!r}: label it by 'file' or 'folder'")
        for texts, labels, _ in _blocks(pieces, replace(reading, id_key=by), on_error, log, progress):
            yield from zip(labels, texts, strict=True)
        return
    for texts, _, number in _blocks(pieces, reading, on_error, log, progress):
        path = PurePath(pieces[number].path)
        name = PurePath(path.stem).stem if pieces[number].compression else path.stem
        label = path.parent.name or "." if by == "folder" else name
        for text in texts:
            yield label, text


def _blocks(
    pieces: Sequence[Piece],
    reading: Reading,
    on_error: str,
    log: Callable[[str], None] | None,
    progress: Callable[[int], object] | None,
) -> Iterator[tuple[list[bytes], list[str | None], int]]:
    """(documents, the ids of their records if there is a key, number of the piece) of each block."""
    reading = replace(reading, stop=on_error == "fail", checked=True)
    problems = Problems(pieces, on_error, log)
    for block in read_blocks(pieces, reading):
        documents = documents_of(block, reading, on_error, with_origins=reading.id_key is not None)
        for problem in documents.problems:
            problems.add(problem)
        yield documents.texts, [name for name, _ in documents.origins or ()], block.piece
        if progress is not None:
            progress(block.raw)
