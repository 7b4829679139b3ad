"""The documents of a corpus as texts instead of tokens, for training and analysis."""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import Any

from ...training.counting.texts import Part
from .blocks import Position, Reading
from .find import Input
from .pieces import Share, cut_pieces
from .problems import Problems
from .readers import read_blocks
from .records import documents_of


def read_documents(
    inputs: Sequence[Input],
    reading: Reading,
    *,
    share: Share | None = None,
    on_error: str = "fail",
    log: Callable[[str], None] | None = None,
    progress: Callable[[int], object] | None = None,
) -> Iterator[bytes]:
    """The documents of a corpus in UTF-8, in the order of the files; a block of them is in memory at a time.

    Args:
        inputs: From `find_sources`.
        reading: How to read them; documents come in parts where it has places to cut them.
        share: The part to read; all by default.
        on_error: "fail", "skip" or "replace" for records with problems.
        log: Called with the first problem of each kind.
        progress: Called with the bytes of the files that have been read since the last call.

    Raises:
        RecordError: A record has a problem, and the policy is "fail".
    """
    for texts, _, _ in _blocks(inputs, reading, on_error, log, progress, share):
        yield from texts


def read_labelled(
    inputs: Sequence[Input], reading: Reading, by: str, **options: Any
) -> Iterator[tuple[str | None, bytes]]:
    """(label, document) of a corpus; for options see `read_documents`. The label is, by "file", the name of the file
    without the endings of its kind and compression; by "folder", the name of its folder; else a value in the record,
    where "a.b" is b in a: a string or its JSON, None where a record has no such key."""
    if by not in ("file", "folder"):
        if (plain := next((one for one in inputs if one.kind in ("text", "whole")), None)) is not None:
            raise ValueError(f"{plain.path}: text has no records with a key {by!r}: label it by 'file' or 'folder'")
        for texts, labels, _ in _blocks(inputs, replace(reading, id_key=by), **options):
            yield from zip(labels, texts, strict=True)
        return
    for texts, _, number in _blocks(inputs, reading, **options):
        path = PurePath(inputs[number].path)
        name = PurePath(path.stem).stem if inputs[number].compression else path.stem
        label = path.parent.name or "." if by == "folder" else name
        yield from ((label, text) for text in texts)


def _blocks(
    inputs: Sequence[Input], reading: Reading, on_error: str = "fail", log: Callable[[str], None] | None = None,
    progress: Callable[[int], object] | None = None, share: Share | None = None,
) -> Iterator[tuple[list[bytes], list[str | None], int]]:
    """(documents, the ids of their records if there is a key, number of the input) of each block."""
    reading = replace(reading, stop=on_error == "fail", checked=True)
    problems = Problems(inputs, on_error, log)
    pieces = cut_pieces(inputs, share or Share(Position(), Position(len(inputs))))
    for block in read_blocks(inputs, pieces, reading):
        documents = documents_of(block, reading, on_error, with_origins=reading.id_key is not None)
        for problem in documents.problems:
            problems.add(problem)
        if block.open and documents.texts:
            documents.texts[-1] = Part(documents.texts[-1])
        yield documents.texts, [name for name, _ in documents.origins or ()], block.input
        if progress is not None:
            progress(block.raw)
