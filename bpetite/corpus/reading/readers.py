"""Pieces to blocks: whole records, a few megabytes together, cut in one pass and parsed later.

Reading is sequential and does as little as possible, because it cannot be spread over workers: for text and JSON lines
it searches for the last separator of the bytes that it has read (`cutting.py`) and hands the bytes on. `records.py`
parses the blocks, in parallel.

A block has the position where reading goes on after it, which a journal records.
"""
from __future__ import annotations

import importlib
import io
import json
import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...errors import MissingExtraError
from .cutting import LONG, Damage, segments
from .expanding import DamagedError
from .sources import STDIN, Piece
from .streams import BOM, Stream, open_stream

__all__ = ["BLOCK", "MAX_DOCUMENT", "Block", "Position", "Reading", "read_blocks", "require"]

#: Bytes of a block, unless one record is longer.
BLOCK = 4 << 20

#: Bytes of a document, unless told otherwise.
MAX_DOCUMENT = 1 << 30

#: Rows of a Parquet block at most; fewer where the file says that rows are large.
ROWS = 16384


@dataclass(frozen=True)
class Position:
    """Where reading goes on: a piece, and in it a byte offset (text, jsonl) or a number of records (json, parquet).

    For standard input, which cannot be read a second time, it also has the number of newlines and a checksum of all
    bytes before it, so that a resumed run can check that it is given the same input again. ``damaged`` counts the
    damaged stretches of a compressed file before it.
    """

    piece: int = 0
    offset: int = 0
    newlines: int = 0
    crc: int = 0
    damaged: int = 0


@dataclass
class Block:
    """Whole records of one file.

    Attributes:
        form: "text" or "jsonl" (a Segment), "whole" (bytes of one document), "values" (parsed JSON or Damage) or "rows"
            (an Arrow array of binary, or of nothing but nulls).
        data: The records, of the type that ``form`` says.
        piece: Number of the piece.
        start: Offset of the first byte, or number of the first record.
        end: Where reading goes on.
        raw: Bytes of the file read since the previous block.
        lines: Line of each record of "values"; of text, the line at ``start`` if it cannot be counted later.
        ids: For "rows", the id of each record.
        damage: The file cannot be read any further.
    """

    form: str
    data: Any
    piece: int
    start: int
    end: Position
    raw: int = 0
    lines: Any = None
    ids: Sequence[object] | None = None
    damage: Damage | None = None

    @property
    def size(self) -> int:
        """Bytes held, roughly."""
        if self.form == "rows":
            return int(self.data.nbytes)
        return 256 * len(self.data) if isinstance(self.data, list) else len(self.data)


@dataclass(frozen=True)
class Reading:
    """How to read: the separator of text, the keys of text and id in records, the size of blocks, the most bytes of a
    document, and whether to stop at one that is longer or damaged."""

    separator: bytes = b"<|endoftext|>"
    text_key: str = "text"
    id_key: str | None = None
    block: int = BLOCK
    max_document: int = MAX_DOCUMENT
    stop: bool = False

    def open(self, piece: Piece) -> Stream:
        """The stream of a piece. Where a run goes on behind damage, a compressed file is checked first."""
        return open_stream(piece, checked=not self.stop)


def read_blocks(pieces: Sequence[Piece], reading: Reading, position: Position | None = None) -> Iterator[Block]:
    """The blocks of all pieces in order, from a position on.

    Args:
        pieces: What to read.
        reading: How.
        position: Where to go on: the ``end`` of an earlier block.

    Raises:
        OSError: A file cannot be read.
        ValueError: A file has changed since it was found.
        MissingExtraError: A reader needs a package that is not installed.
    """
    position = position or Position()
    for number in range(position.piece, len(pieces)):
        here = position if number == position.piece else Position(number)
        yield from _READERS[pieces[number].kind](pieces[number], here, reading)


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


# Text and JSON lines: bytes cut at separators


def _separated(piece: Piece, position: Position, reading: Reading) -> Iterator[Block]:
    separator = b"\n" if piece.kind == "jsonl" else reading.separator
    limit = None
    if piece.stop is not None and piece.stop < piece.size:
        limit = _next_start(piece, piece.stop, separator)
    with reading.open(piece) as stream:
        start = position.offset
        if start == 0 and piece.start:
            start = _next_start(piece, piece.start, separator)
        stream.pass_gaps(position.damaged)
        try:
            crc = stream.skip(start)
        except DamagedError as error:
            raise _taken_of_damage(str(error)) from None
        if piece.path == STDIN and crc != position.crc:
            raise ValueError("standard input is not what it was last time; start anew with overwrite=True")
        raw = stream.raw_offset if position.offset else piece.start
        torn = stream.torn
        if start == 0 and not torn:
            start = _skip_mark(stream)
            crc = zlib.crc32(BOM) if start and piece.path == STDIN else 0
        newlines = position.newlines
        reached = (newlines, crc)  # at `start`

        def take(part: bytes | memoryview) -> None:
            nonlocal crc, newlines
            crc, newlines = zlib.crc32(part, crc), newlines + bytes(part).count(b"\n")

        for data, damage in segments(
            stream, separator, reading.block, limit, most=reading.max_document, stop=reading.stop, torn=torn,
            on_drop=take if piece.path == STDIN else None,
        ):
            line = None
            if piece.path == STDIN:
                line = reached[0] + 1
                for part in data.parts():
                    take(part)
            if len(data):
                reached = (newlines, crc)
            end = Position(position.piece, start + len(data), *reached, stream.gaps_met)
            if damage is not None and not stream.gaps_met:
                end = Position(position.piece + 1)  # else a resumed run would meet, and count, the damage again
            yield Block(piece.kind, data, position.piece, start, end, stream.raw_offset - raw, line, damage=damage)
            raw = stream.raw_offset
            start += len(data)
        stream.check_unchanged()


def _taken_of_damage(damage: str) -> ValueError:
    """A run that would have stopped at damage has taken what came before the checksum, and is to go on behind it."""
    return ValueError(f"{damage}; some of it has been taken for documents already: start anew with overwrite=True")


def _skip_mark(stream: Stream) -> int:
    """Skip a byte-order mark at the start of a file; returns the offset after it."""
    try:
        head = stream.read(len(BOM))
    except DamagedError:
        return 0  # the next read meets it again
    if head == BOM:
        return len(BOM)
    stream.unread(head)
    return 0


def _next_start(piece: Piece, offset: int, separator: bytes) -> int:
    """The first offset from ``offset`` on where a document starts: after a separator, or the end of the file."""
    begin = max(0, offset - len(separator))
    with open_stream(piece) as stream:
        stream.skip(begin)
        edge = b""
        while chunk := stream.read(1 << 20):
            window = edge + chunk
            found = window.find(separator)
            if found >= 0:
                return stream.offset - len(window) + found + len(separator)
            edge = window[-(len(separator) - 1) :] if len(separator) > 1 else b""
        return stream.offset


# Whole files


def _whole(piece: Piece, position: Position, reading: Reading) -> Iterator[Block]:
    if position.offset:
        return
    joined = io.BytesIO()
    damage = None
    with reading.open(piece) as stream:
        start = _skip_mark(stream)
        try:
            # of a file that is too long, the first block behind the limit shows it
            while joined.tell() <= reading.max_document and (chunk := stream.read(reading.block)):
                joined.write(chunk)
        except DamagedError as error:
            damage = Damage("damaged-file", str(error))
        stream.check_unchanged()
        end = Position(position.piece + 1)
        lines = 1 if piece.path == STDIN else None
        yield Block("whole", joined.getvalue(), position.piece, start, end, stream.raw_offset, lines, damage=damage)


# JSON: an array of records, one record, or records one after another

_SPACE = re.compile(r"[ \t\r\n]*")
_COMMA = re.compile(r"[ \t\r\n]*,?[ \t\r\n]*")


def _json(piece: Piece, position: Position, reading: Reading) -> Iterator[Block]:
    """Files named .json hold JSON lines as often as an array; the first line shows which."""
    if piece.path != STDIN and _holds_lines(piece, reading):
        yield from _separated(replace(piece, kind="jsonl"), position, reading)
        return
    with reading.open(piece) as stream:
        _skip_mark(stream)
        values: list[object] = []
        lines: list[int] = []
        count = raw = size = damaged = 0

        def block() -> Block:
            end = Position(position.piece, count, damaged=damaged)
            return Block("values", values, position.piece, count - len(values), end, stream.raw_offset - raw, lines)

        for value, line, length in _values(stream, reading.block, reading.max_document):
            is_damage = isinstance(value, Damage) and value.what == "damaged-file"
            damaged |= is_damage
            if count >= position.offset:
                values.append(value)
                lines.append(line)
            elif damaged and not position.damaged:
                raise _taken_of_damage(f"{piece.path}: damaged")
            count += 1
            size += length
            if size >= reading.block and values:
                yield block()
                raw, size, values, lines = stream.raw_offset, 0, [], []
        if values:
            yield block()
        if count < position.offset:
            raise ValueError(f"{piece.path}: ends before the record that was reached last time")
        stream.check_unchanged()


def _holds_lines(piece: Piece, reading: Reading) -> bool:
    """Whether the first line is a JSON object of its own."""
    with reading.open(piece) as stream:
        _skip_mark(stream)
        try:
            line, newline, _ = stream.read(reading.block).partition(b"\n")
            return bool(newline) and isinstance(json.loads(line.decode("utf-8")), dict)
        except (ValueError, RecursionError):
            return False


def _values(stream: Stream, size: int, most: int) -> Iterator[tuple[object, int, int]]:
    """(value or Damage, its line, its length) of each record, with no more than one record and one chunk in memory.

    An incomplete record is parsed again only when the text in memory has doubled, so a long one costs no more than
    twice its length. After a malformed record, reading goes on at the next line.
    """
    # where a record that is not kept ends is not known, so nothing behind it can be read
    too_long = Damage("too-long", f"more than {most} characters; the file is not read any further")
    decoder = json.JSONDecoder()
    text, at, line, want = "", 0, 1, size
    ended, array, damage = False, False, None
    started = False
    partial = b""

    def fill() -> None:
        """Drop the text before ``at`` and read until ``want`` characters are in memory."""
        nonlocal text, at, ended, partial, damage
        text, at = text[at:], 0
        while len(text) < want and not ended:
            try:
                chunk = stream.read(size)
            except DamagedError as error:
                chunk, damage = b"", error
            data = partial + chunk
            ended = not chunk
            whole = len(data) if ended else _whole_characters(data)
            partial = data[whole:]
            # bytes that are not UTF-8 become lone surrogates, and are found as such in their record
            text += data[:whole].decode("utf-8", "surrogateescape")

    def move(to: int) -> None:
        nonlocal at, line
        line += text.count("\n", at, to)
        at = to

    while True:
        if len(text) - at < size and not ended:
            fill()
        move((_COMMA if array and started else _SPACE).match(text, at).end())  # type: ignore[union-attr]
        if at == len(text):
            if ended:
                break
            continue
        if not started and text[at] == "[":
            array, started = True, True
            move(at + 1)
            continue
        started = True
        if array and text[at] == "]":
            move(at + 1)
            array = False
            continue
        try:
            value, end = decoder.raw_decode(text, at)
            if end == len(text) and not ended:
                raise json.JSONDecodeError("a number may go on", "", end)
        except (ValueError, RecursionError) as wrong:
            if not ended and _may_go_on(wrong, len(text)):
                if len(text) - at > most:
                    yield too_long, line, 0
                    return
                want = 2 * max(size, len(text) - at)
                fill()
                continue
            if damage and ended:
                break
            value = Damage("malformed-json", str(wrong))
            end = text.find("\n", at) + 1 or len(text)
        if end - at > most:
            yield too_long, line, 0
            return
        want = size
        here, length = line, end - at
        move(end)
        yield value, here, length
    if damage is not None:
        yield Damage("damaged-file", str(damage)), line, 0


def _may_go_on(wrong: Exception, length: int) -> bool:
    """Whether more text could make a parser's error go away: it is at the end, or in a string that does not end."""
    if not isinstance(wrong, json.JSONDecodeError):
        return False
    return wrong.msg.startswith("Unterminated") or wrong.pos > length - 16


def _whole_characters(data: bytes) -> int:
    """The length of ``data`` without an incomplete character at its end."""
    for back in range(1, min(4, len(data) + 1)):
        byte = data[-back]
        if byte >= 0xC0:
            return len(data) - back if back < (2 if byte < 0xE0 else 3 if byte < 0xF0 else 4) else len(data)
        if byte < 0x80:
            break
    return len(data)


# Parquet


def _parquet(piece: Piece, position: Position, reading: Reading) -> Iterator[Block]:
    if piece.compression or piece.path == STDIN:
        raise ValueError(f"{piece.path}: Parquet is read from a plain file (it is compressed inside)")
    with open_stream(piece) as stream:
        yield from _row_groups(piece, position, reading)
        stream.check_unchanged()


def _row_groups(piece: Piece, position: Position, reading: Reading) -> Iterator[Block]:
    import pyarrow as pa
    import pyarrow.compute
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(piece.path, buffer_size=1 << 20, pre_buffer=False)
    except (pa.ArrowException, OSError) as wrong:
        if isinstance(wrong, OSError) and wrong.errno is not None:
            raise
        raise ValueError(f"{piece.path}: not a Parquet file: {' '.join(str(wrong).split())}") from None
    with file:
        schema = file.schema_arrow
        text_path = _column(schema, reading.text_key, pa)
        if text_path is None:
            names = ", ".join(schema.names)
            raise ValueError(f"{piece.path}: no column {reading.text_key!r} (there are: {names}); name it: text_key=")
        id_path = _column(schema, reading.id_key, pa) if reading.id_key else None
        columns = [".".join(path) for path in (text_path, id_path) if path]
        total = max(1, file.metadata.num_rows)
        row, raw = 0, piece.size * position.offset // total
        for group in range(file.num_row_groups):
            about = file.metadata.row_group(group)
            rows = about.num_rows
            if row + rows <= position.offset:
                row += rows
                continue
            at_once = max(1, min(ROWS, reading.block * rows // max(1, about.total_byte_size)))
            last = row + rows
            batches = file.iter_batches(at_once, row_groups=[group], columns=columns, use_threads=False)
            while True:
                try:
                    batch = next(batches, None)
                except (pa.ArrowException, OSError) as wrong:
                    if isinstance(wrong, OSError) and wrong.errno is not None:
                        raise
                    damage = Damage("damaged-file", f"row group {group}: {' '.join(str(wrong).split())}")
                    end, nothing = Position(position.piece, last), pa.array([], pa.binary())
                    yield Block("rows", nothing, position.piece, row, end, damage=damage)
                    row = last  # other row groups can be read
                    break
                if batch is None:
                    break
                skip = max(0, position.offset - row)
                row += len(batch)
                if skip >= len(batch):
                    continue
                batch = batch.slice(skip)
                texts = _binary(_dig(batch, text_path, pa), pa, piece.path, reading.text_key)
                ids = _dig(batch, id_path, pa).to_pylist() if id_path else None
                done = piece.size * row // total
                end = Position(position.piece, row)
                block = Block("rows", texts, position.piece, row - len(batch), end, done - raw, ids=ids)
                raw = done
                del batch, texts  # only the block holds them from now on
                if row == last and block.size >= LONG:
                    next(batches, None)  # has the reader free its pages, which can be twice as large as the rows
                    pa.default_memory_pool().release_unused()
                yield block
                del block


def _column(schema: Any, key: str, pa: Any) -> tuple[str, ...] | None:
    """The path of a column: its literal name, or names of nested structs joined by dots."""
    if key in schema.names:
        return (key,)
    path = tuple(key.split("."))
    if path[0] not in schema.names:
        return None
    kind = schema.field(path[0]).type
    for name in path[1:]:
        if not pa.types.is_struct(kind) or kind.get_field_index(name) < 0:
            return None
        kind = kind.field(name).type
    return path


def _dig(batch: Any, path: tuple[str, ...], pa: Any) -> Any:
    column = batch.column(path[0])
    for name in path[1:]:
        column = pa.compute.struct_field(column, name)
    return column


def _binary(column: Any, pa: Any, path: str, key: str) -> Any:
    """A string or binary column as binary; other types are refused, because no row of them has text."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        column, kind = column.dictionary_decode(), kind.value_type
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        target = pa.binary()
    elif pa.types.is_large_string(kind) or pa.types.is_large_binary(kind):
        target = pa.large_binary()
    elif pa.types.is_null(kind):
        return column
    else:
        raise ValueError(f"{path}: column {key!r} holds {kind}, not text")
    return column.cast(target)


_READERS = {"text": _separated, "jsonl": _separated, "whole": _whole, "json": _json, "parquet": _parquet}
