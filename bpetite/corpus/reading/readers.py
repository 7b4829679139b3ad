"""Pieces to blocks: whole records, a few megabytes together, cut in one pass and parsed later.

Plain files of text and JSON lines are cut into ranges, which workers read by themselves (`cut_ranges`, `read_range`).
Of other inputs reading is sequential and does as little as possible: it searches for the last separator of the bytes
that it has read (`cutting.py`) and hands them on. `records.py` parses the blocks, in parallel.

A block has the position where reading goes on after it, which a journal records.
"""
from __future__ import annotations

import importlib
import io
import json
import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ...errors import MissingExtraError
from ..sources.expanding import DamagedError
from ..sources.find import GIVEN, STDIN, Piece
from ..sources.streams import BOM, Stream, open_stream
from .blocks import BLOCK, MAX_DOCUMENT, Block, Position, Reading
from .cutting import Damage, overlaps_itself, segments
from .given import given_blocks
from .parquet import parquet_blocks

__all__ = [
    "BLOCK", "MAX_DOCUMENT", "Block", "Position", "Reading", "cut_ranges", "has_ranges", "read_blocks", "read_range",
    "require",
]  # fmt: skip


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


def has_ranges(piece: Piece, reading: Reading) -> bool:
    """Whether a piece can be read from any separator on: a plain file, the separators of which its bytes show."""
    if piece.path == STDIN or piece.compression is not None or not piece.size:
        return False
    return piece.kind == "jsonl" or (piece.kind == "text" and not overlaps_itself(reading.separator))


def cut_ranges(piece: Piece, offset: int, reading: Reading) -> Iterator[tuple[int, int]]:
    """(start, stop) of consecutive ranges of a piece that `has_ranges`, about as large as a block and cut where
    documents start. Only some kilobytes at each cut are read, and a document that is longer than a block.

    Args:
        offset: Where to begin; 0 for the start of the piece.
    """
    separator = b"\n" if piece.kind == "jsonl" else reading.separator
    with open_stream(piece) as stream:
        start = offset or (_start_behind(stream, piece.start, separator) if piece.start else 0)
        limit = piece.size
        if piece.stop is not None and piece.stop < piece.size:
            limit = _start_behind(stream, piece.stop, separator)
        while start < limit:
            stop = limit
            if start + reading.block < limit:
                stop = min(limit, _start_behind(stream, start + reading.block, separator))
            if stop <= start:  # the file has become shorter, which its reader will say
                stop = limit
            yield start, stop
            start = stop


def read_range(piece: Piece, number: int, start: int, stop: int, reading: Reading) -> Iterator[Block]:
    """The blocks of a range that `cut_ranges` gave: one, unless a long document is in it."""
    if stop - start <= 4 * reading.block:
        reading = replace(reading, block=stop - start)
    return _separated(piece, Position(number, start), reading, stop)


def _separated(piece: Piece, position: Position, reading: Reading, limit: int | None = None) -> Iterator[Block]:
    separator = b"\n" if piece.kind == "jsonl" else reading.separator
    if limit is None and piece.stop is not None and piece.stop < piece.size:
        limit = _next_start(piece, piece.stop, separator)
    with reading.open(piece) as stream:
        if limit is not None:
            stream.read_until(limit)
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
    with open_stream(piece) as stream:
        return _start_behind(stream, offset, separator)


def _start_behind(stream: Stream, offset: int, separator: bytes) -> int:
    """The first offset from ``offset`` on where a document of a plain file starts: after a separator, or the end of the
    file."""
    stream.seek(max(0, offset - len(separator)))
    edge = b""
    size = 1 << 14
    while chunk := stream.read(size):
        size = min(1 << 20, 4 * size)
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


_READERS = {
    "text": _separated, "jsonl": _separated, "whole": _whole, "json": _json, "parquet": parquet_blocks,
    GIVEN: given_blocks,
}  # fmt: skip
