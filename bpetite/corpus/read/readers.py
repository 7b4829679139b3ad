"""The readers of all kinds of inputs: pieces to blocks, which `records.py` parses later, in parallel; and all documents
of a corpus as texts instead of tokens, for training and analysis."""
from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import Any

from ...errors import importing
from ...training.counting.documents import Continued
from .find import GIVEN, Input
from .given import given_blocks
from .parquet import parquet_blocks
from .pieces import Block, Piece, Position, Reading, Share, cut_pieces
from .problems import Flaw, Problems
from .records import documents_of, texts_of_values
from .streams import BOM, DamagedError, Stream
from .text import Cutter, text_blocks


def read_blocks(inputs: Sequence[Input], pieces: Iterable[Piece], reading: Reading) -> Iterator[Block]:
    """The blocks of pieces, in order."""
    for piece in pieces:
        source = inputs[piece.input]
        yield from _READERS[source.kind](source, piece, reading)


def require(inputs: Sequence[Input]) -> None:
    """Raises MissingExtraError before a run if an input needs a package that is missing."""
    read = {source.kind for source in inputs} | {source.compression for source in inputs}
    for package, what in (("pyarrow", "parquet"), ("zstandard", "zst")):
        if what in read:
            with importing(f"reading .{what}", package, "corpus"):
                importlib.import_module(package)


def _json(source: Input, piece: Piece, reading: Reading) -> Iterator[Block]:
    """Files named .json hold JSON lines as often as an array; the first line shows which. An array is read whole."""
    most = reading.max_document
    with reading.open(source) as stream:
        if _holds_lines(stream, reading):
            yield from Cutter(stream, source, piece, reading).blocks()
            stream.check_unchanged()
            return
        damage, data = None, b""
        try:
            data = stream.window(0, most + 1)
        except DamagedError as error:
            damage = Flaw("damaged-file", str(error))
        file_bytes = stream.file_offset
        stream.check_unchanged()
    if len(data) > most:
        damage = Flaw("too-long", f"a .json file of more than {most} bytes; make it JSON lines, as jq -c '.[]' does")
    if damage is not None:
        yield Block("items", [], piece.input, 0, Position(piece.input + 1), file_bytes, damage=damage)
        return
    try:
        content = json.loads(data.decode("utf-8", "surrogateescape").removeprefix("\ufeff")) if data.strip() else []
    except (ValueError, RecursionError) as wrong:
        content = Flaw("malformed-json", str(wrong))
    values = content if isinstance(content, list) else [content]
    at_once = max(1, len(values) * reading.block // max(1, len(data)))
    for start in range(piece.start, len(values), at_once):
        texts, ids = texts_of_values(values[start : start + at_once], reading)
        yield Block("items", texts, piece.input, start, Position(piece.input, start + len(texts)), file_bytes, ids=ids)
        file_bytes = 0


def _holds_lines(stream: Stream, reading: Reading) -> bool:
    """True if the first line is a JSON object of its own."""
    try:
        size, start = reading.block, stream.window(0, reading.block)
        while b"\n" not in start and len(start) == size < reading.max_document:
            size = min(4 * size, reading.max_document)
            start = stream.window(0, size)
        line, newline, _ = start.removeprefix(BOM).partition(b"\n")
        return bool(newline) and isinstance(json.loads(line.decode("utf-8")), dict)
    except (ValueError, RecursionError):
        return False


_READERS: dict[str, Callable[[Input, Piece, Reading], Any]] = {
    "text": text_blocks, "jsonl": text_blocks, "whole": text_blocks, "json": _json, "parquet": parquet_blocks,
    GIVEN: given_blocks,
}  # fmt: skip


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
        if block.goes_on and documents.texts:
            documents.texts[-1] = Continued(documents.texts[-1])
        yield documents.texts, [name for name, _ in documents.origins or ()], block.input
        if progress is not None:
            progress(block.file_bytes)
