"""Cut text and JSON lines into blocks. The bytes around a cut alone decide it, so all readers find the same blocks.

A block ends near a multiple of the block size. A block of JSON lines ends at the next line feed. A block of text ends
at the next separator, if one is within `REACH`; else at the next certain cut of the split pattern, and then the next
block continues the document. A pattern without certain cuts keeps documents whole.
"""
from __future__ import annotations

import sys
from collections.abc import Generator, Iterator
from contextlib import suppress

from .find import Input
from .pieces import Block, Piece, Position, Reading
from .problems import Flaw
from .stores import ANEW
from .streams import BOM, DamagedError, Stream

REACH = 1 << 20
FIRST_LOOK, LOOK = 1 << 14, 1 << 20  # bytes looked at first, and at most, at a time


def text_blocks(source: Input, piece: Piece, reading: Reading) -> Iterator[Block]:
    with reading.open(source, ranges=piece.stop is not None) as stream:
        yield from Cutter(stream, source, piece, reading).blocks()
        stream.check_unchanged()


class Cutter:
    """The blocks of an open stream."""

    def __init__(self, stream: Stream, source: Input, piece: Piece, reading: Reading) -> None:
        self._stream = stream
        self._piece = piece
        self._size = source.size
        self._reading = reading
        self._form = "jsonl" if source.kind == "json" else source.kind
        self._separator = {"text": reading.separator, "whole": b""}.get(source.kind, b"\n")
        self._cuts = None if self._form == "jsonl" else reading.cuts
        self._one = source.kind == "whole"  # the input is one document, also without a byte
        self._at = 0  # where the next block begins
        self._continues = piece.continues
        self._line: int | None = 1 if stream.read_once else None
        self._file_bytes = 0

    def blocks(self) -> Iterator[Block]:
        stop = self._piece.stop
        if not self._begin(stop):
            return
        try:
            while stop is None or self._at < stop:
                target = (self._at // self._reading.block + 1) * self._reading.block
                target = target if stop is None else min(target, stop)
                found = self._boundary(target, target + self._reading.max_document + len(self._separator))
                if found is None:  # the rest of the stream is one block
                    data = self._stream.take(None if self._stream.in_order else self._size)
                    if data or self._continues or (self._one and not self._piece.start):
                        yield self._block(data, last=True)
                    return
                if found[0] >= 0:
                    yield self._block(self._stream.take(found[0]), goes_on=not found[1])
                    self._one = False
                elif (yield from self._too_long(-found[0])):
                    return
        except DamagedError as damage:
            yield from self._whole_records(self._stream.take() if self._stream.in_order else b"")
            yield self._block(b"", last=True, damage=Flaw("damaged-file", str(damage)))

    def _begin(self, stop: int | None) -> bool:
        """Move to the first block; False if none begins in the piece."""
        stream, start = self._stream, self._piece.start
        if start and not self._piece.at_block:
            found = self._boundary(start, sys.maxsize if stop is None else stop)
            if found is None or found[0] < 0 or (stop is not None and found[0] >= stop):
                return False
            start, self._continues = found[0], not found[1]
        if start:
            try:
                stream.skip(start)
            except DamagedError as damage:
                raise ValueError(f"{stream.name}: {damage}; a run that stops at damage has taken documents before it: "
                                 f"{ANEW}") from None
        else:
            with suppress(DamagedError):  # the next window meets it
                start = len(BOM) if stream.window(0, len(BOM)) == BOM else 0
            stream.take(start)
        self._at, self._file_bytes = start, stream.file_offset if stream.in_order and self._piece.start else 0
        return True

    @property
    def _least(self) -> int:
        """The first byte that a window can show. A stream that is read in order forgets the bytes that were taken."""
        return self._stream.offset if self._stream.in_order else 0

    def _boundary(self, at: int, limit: int) -> tuple[int, bool] | None:
        """(the first place from ``at`` on where a block may end, whether a document ends there), or (minus the limit,
        _) if ``limit`` comes first, or None if the stream ends first."""
        if self._cuts is None:
            place = self._separator_end(at, limit)
            return None if place is None else (place, True)
        while at <= limit:
            place = self._separator_end(at, at + REACH)
            if place is None or place >= 0:
                return None if place is None else (place, True)
            start = max(self._least, at - self._cuts.margin)
            for size in (FIRST_LOOK, LOOK):
                if (cut := self._cuts.first(self._stream.window(start, size), at - start)) >= 0:
                    return start + cut, False
            at += self._reading.block
        return -limit, True

    def _separator_end(self, at: int, limit: int) -> int | None:
        """The first end of a separator from ``at`` on; minus the limit if that comes first, None if the stream ends
        first. ``limit`` moves up to `LOOK` bytes with occurrences that overlap, because documents end among them."""
        separator, keep = self._separator, 2 * len(self._separator)
        reach, last = limit - at, limit + LOOK
        start, size = max(self._least, at - keep), FIRST_LOOK + keep
        while True:
            window = self._stream.window(start, size)
            found = max(0, at - len(separator) - start) - 1
            while separator and (found := window.find(separator, found + 1)) >= 0:
                end = start + found + len(separator)
                if end > limit:
                    return -limit
                # Occurrences may overlap, and the text before them decides which ones count. Skip an occurrence that
                # begins inside another.
                if window.find(separator, max(0, found - len(separator) + 1)) == found:
                    return end
                limit = min(end + reach, last)
            if len(window) < size:
                return None
            if start + size > limit:
                return -limit
            start, size = start + size - keep, min(4 * size, LOOK)

    def _block(
        self, data: bytes, *, goes_on: bool = False, last: bool = False, form: str = "", damage: Flaw | None = None
    ) -> Block:
        start, self._at = self._at, self._stream.offset
        end = Position(self._piece.input + 1) if last else Position(self._piece.input, self._at, goes_on)
        block = Block(
            form or self._form, data, self._piece.input, start, end,
            self._stream.file_offset - self._file_bytes if self._stream.in_order else self._at - start,
            self._continues, goes_on, self._line, damage=damage,
        )  # fmt: skip
        self._file_bytes, self._continues = self._stream.file_offset, goes_on
        if self._line is not None:
            self._line += data.count(b"\n")
        return block

    def _too_long(self, limit: int) -> Generator[Block, None, bool]:
        """Skip a document that is too long, and reaches beyond ``limit``. Yield a block of the whole documents before
        it, then a "too-long" block. Return True if the stream has ended."""
        begun = self._stream.take(limit - len(self._separator))  # a separator may begin before the limit
        yield from self._whole_records(begun)
        lines = self._tail(begun).count(b"\n")
        place: int | None = -1
        while place is not None and place < 0 and not self._reading.stop:  # else nothing after it is read
            place, limit = self._separator_end(limit, limit + LOOK), limit + LOOK
            stop: int | None = limit - 2 * len(self._separator)
            if place is None or place >= 0:
                stop = self._size if place is None and not self._stream.in_order else place
            lines += self._stream.take(stop).count(b"\n")
        yield self._block(b"", last=place is None, form="too-long")
        self._line = None if self._line is None else self._line + lines
        return place is None

    def _tail(self, data: bytes) -> bytes:
        """The bytes after the last separator."""
        return data.split(self._separator)[-1] if self._separator else data

    def _whole_records(self, data: bytes) -> Iterator[Block]:
        """Yield a block of the records before the last separator."""
        tail = len(self._tail(data))
        if tail < len(data):
            self._stream.offset -= tail
            yield self._block(data[: len(data) - tail])
            self._stream.offset += tail
