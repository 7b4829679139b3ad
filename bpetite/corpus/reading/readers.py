"""Pieces to blocks: whole records, a few megabytes together, cut in one pass and parsed later.

Plain files of text and JSON lines are cut into ranges, which workers read by themselves (`cut_ranges`, `read_range`).
Of other inputs reading is sequential and does as little as possible: it searches for the last separator of the bytes
that it has read (`cutting.py`) and hands them on. `records.py` parses the blocks, in parallel.

A block has the position where reading goes on after it, which a journal records.
"""
from __future__ import annotations

import importlib
import importlib.util
import io
import json
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import replace
from typing import Any

from ...errors import MissingExtraError
from ..sources.expanding import DamagedError
from ..sources.find import GIVEN, Piece
from ..sources.streams import BOM, Stream, Torn
from .blocks import BLOCK, Block, Position, Reading, TornError
from .cutting import cut_records, end_of_first, overlaps_itself
from .given import given_blocks
from .problems import Flaw
from .records import loads, texts_of_values
from .row_groups import parquet_blocks, row_groups

__all__ = ["cut_ranges", "has_ranges", "parsers", "read_blocks", "read_range", "require"]


#: Bytes of the row groups of a Parquet file, uncompressed, that workers read by themselves.
MOST_ROW_GROUP = 64 << 20


def read_blocks(
    pieces: Sequence[Piece], reading: Reading, position: Position | None = None
) -> Generator[Block, None, None]:
    """The blocks of all pieces in order, from a position on, the ``end`` of an earlier block."""
    position = position or Position()
    for number in range(position.piece, len(pieces)):
        yield from _READERS[pieces[number].kind](pieces[number], position, reading)
        position = Position(number + 1)


def require(pieces: Sequence[Piece]) -> None:
    """Raises MissingExtraError if a piece needs a package that is missing: before a run, not in the middle of it."""
    for package, feature, needed in (
        ("pyarrow", "reading .parquet", any(piece.kind == "parquet" for piece in pieces)),
        ("zstandard", "reading .zst", any(piece.compression == "zst" for piece in pieces)),
    ):
        if needed:
            try:
                importlib.import_module(package)
            except ImportError:
                raise MissingExtraError(feature, package, "corpus") from None


def parsers(pieces: Sequence[Piece]) -> dict[str, str]:
    """The versions of the packages that parse these pieces, of those that are installed."""
    kinds = {piece.kind for piece in pieces}
    versions = {}
    for package, needed in (("orjson", {"json", "jsonl"}), ("pyarrow", {"parquet"})):
        if kinds & needed and importlib.util.find_spec(package) is not None:
            versions[package] = importlib.import_module(package).__version__  # its metadata takes an import of email
    return versions


# Text and JSON lines: bytes cut at separators


def has_ranges(piece: Piece, reading: Reading) -> bool:
    """True if workers can read parts of a piece: of a plain file, whose bytes show its separators, and of Parquet with
    row groups that fit into memory."""
    if piece.kind == "parquet":
        return 0 < max((size for _, _, size in _groups_of(piece)), default=0) <= MOST_ROW_GROUP
    if piece.once or piece.compression is not None or not piece.size:
        return False
    return piece.kind == "jsonl" or (piece.kind == "text" and not overlaps_itself(reading.separator))


def cut_ranges(piece: Piece, offset: int, reading: Reading) -> Iterator[tuple[int, int, int]]:
    """(start, stop, bytes) of consecutive ranges of a piece that `has_ranges`, from an offset or its start on: of
    Parquet, row groups; of other files, as large as a block, whatever documents start there."""
    if piece.kind == "parquet":
        yield from ((max(start, offset), stop, size) for start, stop, size in _groups_of(piece) if stop > offset)
        return
    last = piece.size if piece.stop is None else piece.stop
    for start in range(offset or piece.start, last, reading.block):
        stop = min(start + reading.block, last)
        yield start, stop, stop - start


def _groups_of(piece: Piece) -> list[tuple[int, int, int]]:
    """The `row_groups` of a file; none of one that cannot be read, which its reader will say."""
    try:
        return row_groups(piece)[1]
    except (ValueError, OSError):  # those of Arrow are among them
        return []


def read_range(piece: Piece, number: int, start: int, stop: int, reading: Reading) -> Iterator[Block]:
    """The blocks of the documents that start in a range that `cut_ranges` gave: one, unless a long document is in it,
    or a row group is large; none if no document starts there."""
    if piece.kind == "parquet":
        return parquet_blocks(piece, Position(number, start), reading, stop)
    return _separated(replace(piece, start=start, stop=stop), Position(number), reading)


def _separated(piece: Piece, position: Position, reading: Reading) -> Iterator[Block]:
    separator = reading.separator if piece.kind == "text" else b"\n"
    start, limit, size = position.offset, None, reading.block
    stop = piece.size if piece.stop is None else piece.stop
    with reading.open(piece, ranges=piece.stop is not None) as stream:
        if start == 0 and piece.start:
            start = _start_behind(stream, piece.start, separator, stop)
        if stop < piece.size and start < stop:
            limit = _start_behind(stream, stop, separator, piece.size)
            if stop - piece.start <= reading.block and limit - start <= 4 * reading.block:
                size = limit - start
        if stream.offset:
            stream.seek(start)
        if start < stop or piece.stop is None:
            yield from _records(stream, piece, Position(position.piece, start), reading, size, limit)


def _records(
    stream: Stream, piece: Piece, position: Position, reading: Reading, size: int, limit: int | None = None
) -> Iterator[Block]:
    """The blocks of an open stream from a position on, of about ``size`` bytes, up to an offset."""
    form, separator = ("text", reading.separator) if piece.kind == "text" else ("jsonl", b"\n")
    try:
        stream.skip(position.offset)
    except DamagedError as damage:
        # a run that stops at damage has taken the documents before it, and is to go on after it
        raise ValueError(f"{piece.path}: {damage}; some of it has been taken for documents already: start anew "
                         "with overwrite=True") from None
    raw = stream.raw_offset if position.offset else 0
    if position.offset == 0:
        stream.skip_mark()
    start = stream.offset
    for cut in cut_records(stream, separator, size, limit, most=reading.max_document, stop=reading.stop):
        end = start + cut.size
        behind = Position(position.piece, end, certain=reading.stop or end <= stream.verified)
        if cut.damage is not None:
            if not reading.stop and start > stream.verified:
                raise TornError(piece.path, Torn(stream.verified, cut.damage.detail))
            behind = Position(position.piece + 1)
        block = Block(form, cut.data, position.piece, start, behind, stream.raw_offset - raw, cut.line,
                      damage=cut.damage)
        if cut.data is None:
            block.form, block.data = "too-long", cut.closed if form == "text" else None
        yield block
        raw = stream.raw_offset
        start = end
    stream.check_unchanged()


def _start_behind(stream: Stream, offset: int, separator: bytes, stop: int) -> int:
    """The first offset from ``offset`` on where a document of a plain file starts, after a separator; ``stop`` if
    that is not before it."""
    keep = len(separator) - 1
    stream.seek(max(0, offset - len(separator)))
    edge, size = b"", 1 << 14
    while stream.offset < stop and (chunk := stream.read(min(size, stop - stream.offset))):
        size = min(1 << 20, 4 * size)
        if end := end_of_first(edge, chunk, separator):
            return stream.offset - len(chunk) + end
        edge = (edge + chunk[-keep:])[-keep:] if keep else b""
    return stop


# Whole files


def _whole(piece: Piece, position: Position, reading: Reading) -> Iterator[Block]:
    if position.offset:
        return
    with reading.open(piece) as stream:
        data, damage = _read_all(stream, reading.max_document, reading.block)
        line = 1 if piece.once else None
        start = stream.offset - len(data)  # behind a byte-order mark
        end = Position(position.piece + 1)
        yield Block("whole", data, position.piece, start, end, stream.raw_offset, line, damage=damage)


def _read_all(stream: Stream, most: int, size: int) -> tuple[bytes, Flaw | None]:
    """All bytes of a stream, more than ``most`` of them if it has more; and its damage."""
    joined = io.BytesIO()
    damage = None
    stream.skip_mark()
    try:
        while joined.tell() <= most and (chunk := stream.read(size)):
            joined.write(chunk)
    except DamagedError as error:
        damage = Flaw("damaged-file", str(error))
    stream.check_unchanged()
    return joined.getvalue(), damage


# JSON: an array of records, one record, or JSON lines


def _json(piece: Piece, position: Position, reading: Reading) -> Iterator[Block]:
    """Files named .json hold JSON lines as often as an array; the first line shows which. An array is read whole."""
    most = reading.max_document
    with reading.open(piece) as stream:
        if _holds_lines(stream):
            yield from _records(stream, piece, position, reading, reading.block)
            return
        data, damage = _read_all(stream, most, reading.block)
        raw = stream.raw_offset
    values: list[object] = []
    if damage is None and len(data) > most:
        damage = Flaw("too-long", f"a .json file of more than {most} bytes; make it JSON lines, as jq -c '.[]' does")
    elif damage is None:
        values = _values(data)
    if not values and damage is not None:
        yield Block("items", [], position.piece, 0, Position(position.piece + 1), raw, damage=damage)
    at_once = max(1, len(values) * reading.block // max(1, len(data)))
    for start in range(position.offset, len(values), at_once):
        texts, ids = texts_of_values(values[start : start + at_once], reading)
        yield Block("items", texts, position.piece, start, Position(position.piece, start + len(texts)), raw, ids=ids)
        raw = 0


def _values(data: bytes) -> list[object]:
    """The records of an array, or the only one. Bytes that are not UTF-8 become lone surrogates in them."""
    if not data or data.isspace():
        return []
    try:
        content = loads(data)
    except (ValueError, RecursionError):
        try:
            content = json.loads(data.decode("utf-8", "surrogateescape"))
        except (ValueError, RecursionError) as wrong:
            content = Flaw("malformed-json", str(wrong))
    return content if isinstance(content, list) else [content]


def _holds_lines(stream: Stream) -> bool:
    """True if the first line is a JSON object of its own."""
    line, newline, _ = stream.peek(BLOCK).removeprefix(BOM).partition(b"\n")
    try:
        return bool(newline) and isinstance(json.loads(line.decode("utf-8")), dict)
    except (ValueError, RecursionError):
        return False


_READERS: dict[str, Callable[..., Any]] = {
    "text": _separated, "jsonl": _separated, "whole": _whole, "json": _json, "parquet": parquet_blocks,
    GIVEN: given_blocks,
}  # fmt: skip
