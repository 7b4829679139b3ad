"""Bytes of a stream cut into segments of whole records, by searching each chunk for its last separator only.

Only new bytes are ever searched, so one document of many chunks costs no more than many documents.
"""
from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from ..sources.expanding import DamagedError
from ..sources.streams import Stream

__all__ = ["LONG", "TRIES", "VIEWED", "Damage", "Segment", "overlaps_itself", "segments"]

#: Bytes from which on a record is long: it is not copied, and has a segment of its own.
LONG = 16 << 20

#: Occurrences of a separator's first byte that are tested one by one before a search for the whole separator.
TRIES = 32


#: Bytes of a line, on average, from which on lines are views.
VIEWED = 1 << 10

#: Bytes in which that average is taken.
COUNTED = 1 << 18


def overlaps_itself(separator: bytes) -> bool:
    r"""Whether a separator starts with its own end, as b"\n\n" does: where it occurs then depends on the text before,
    so a file cannot be cut at every occurrence of its bytes.

    >>> overlaps_itself(b"\n\n"), overlaps_itself(b"<|endoftext|>")
    (True, False)
    """
    return any(separator.startswith(separator[-size:]) for size in range(1, len(separator)))


@dataclass(frozen=True)
class Damage:
    """Takes the position of a record that could not be read at all: (what of a `Problem`, detail)."""

    what: str
    detail: str


@dataclass
class Segment:
    """Bytes of whole records as they were read: the open end of the previous chunk, and a chunk to its last separator.

    They are joined only record by record, because a copy of everything costs as much as the search for separators. A
    record of more than `LONG` bytes has a segment of its own, in which nothing has to be joined.

    Attributes:
        head: The part of the first record that was read before the chunk.
        chunk: Contains the end of the last record's separator.
        end: Offset in the chunk of that end.
        dropped: Bytes of a record, its separator included, that is too long to be kept; then there are no others.
        closed: Whether a separator ended the record that was dropped.
        torn: The record that was dropped is not too long: its beginning may be in damaged data.
    """

    head: list[bytes]
    chunk: bytes
    end: int
    dropped: int = 0
    closed: bool = False
    torn: bool = False

    def __len__(self) -> int:
        return sum(map(len, self.head)) + self.end + self.dropped

    @property
    def long(self) -> bool:
        """Whether this is a single long record."""
        return len(self.head) == 1 and len(self.head[0]) >= LONG

    def split(self, separator: bytes) -> list[bytes]:
        """``bytes.split`` of all the bytes."""
        records = self.chunk.split(separator)
        if self.end < len(self.chunk):
            records[-1] = b""  # the open end, which goes to the next segment
        if self.head:
            # a separator may begin in the head
            joined = b"".join([*self.head, records[0]]) if records[0] or len(self.head) > 1 else self.head[0]
            records[:1] = joined.split(separator)
        return records

    def lines(self) -> Sequence[bytes | memoryview]:
        """``split(b"\\n")``; of long lines, views: copying them costs a third of the time that parsing takes."""
        chunk, end = self.chunk, self.end
        # of the first bytes only: before Python 3.13, counting in all of them takes as long as half the parsing
        seen = min(end, COUNTED)
        if seen < VIEWED * max(1, chunk.count(b"\n", 0, seen)):
            return self.split(b"\n")
        view = memoryview(chunk)
        found: list[bytes | memoryview] = []
        at = 0
        while (stop := chunk.find(b"\n", at, end)) >= 0:
            found.append(view[at:stop])
            at = stop + 1
        found.append(view[at:end])
        if self.head:
            found[0] = b"".join([*self.head, found[0]])
        return found

    def parts(self) -> list[bytes | memoryview]:
        """All the bytes, in order."""
        return [*self.head, memoryview(self.chunk)[: self.end]]

    def join(self) -> bytes:
        """All the bytes; no copy of a chunk that is all of them."""
        if not self.head and self.end == len(self.chunk):
            return self.chunk
        return b"".join(self.parts())


def segments(
    stream: Stream,
    separator: bytes,
    size: int,
    limit: int | None = None,
    *,
    most: int,
    stop: bool,
    torn: bool = False,
    on_drop: Callable[[bytes], object] | None = None,
) -> Iterator[tuple[Segment, Damage | None]]:
    """Segments that end after a separator, or at the end of the stream.

    The part of a record before damage comes with the `Damage`. Where the stream goes on behind it, what comes before
    the next separator may be the end of a record, and is passed over.

    While a record that is too long is passed over, empty segments come, so that the caller can end the reading.

    Args:
        stream: What to cut.
        separator: Ends a record.
        size: Bytes read at a time.
        limit: The offset in the stream to read up to; None for its end.
        most: Bytes of a record; what is known to be longer is not kept in memory.
        stop: Read nothing behind a record that is too long.
        torn: The stream is at the end of damaged data.
        on_drop: Called with all bytes of records that are dropped.
    """
    chained = overlaps_itself(separator)
    find = _last_of_chain if chained else _last
    keep = len(separator) - 1
    record = _Open(torn=torn)
    edge = b""  # its last bytes: a separator may begin in one chunk and end in the next
    damage = None
    while True:
        try:
            chunk = stream.read(size if limit is None else min(size, max(0, limit - stream.offset)))
        except DamagedError as error:
            damage = Damage("damaged-file", str(error))
            if not stream.go_on():
                break
            yield record.end(), damage
            record, edge, damage = _Open(torn=True), b"", None
            continue
        if not chunk:
            break
        if record.dropped or record.size >= LONG:
            end = _first(edge, chunk, separator)
            if end:
                record.add(chunk[:end], on_drop)
                yield record.close(separator), None
                chunk = chunk[end:]
                record, edge = _Open(), b""
        end = 0 if record.dropped or record.size >= LONG else find(edge, chunk, separator)
        if end:
            segment = Segment(record.parts, chunk, end)
            if chained or end < len(separator):
                # where separators are matched from the left, or the only one begins before the chunk
                segment = Segment([], segment.join(), len(segment))
            yield segment, None
            chunk = chunk[end:]
            record, edge = _Open(), b""
        if chunk:
            record.add(chunk, on_drop)
        edge = (edge + chunk[-keep:])[-keep:] if keep else b""
        if record.dropped:
            yield Segment([], b"", 0), None
        elif record.size - keep > most:
            record.drop(on_drop)
            if stop:
                break
    if record.size or damage:
        yield record.end(), damage


class _Open:
    """The record that has no end yet. One of which the beginning may be missing is dropped from the start."""

    def __init__(self, *, torn: bool = False) -> None:
        self.size: int = 0
        self.parts: list[bytes] = []
        self.torn: bool = torn
        self.dropped: bool = torn
        self._joined: io.BytesIO | None = None

    def add(self, data: bytes, on_drop: Callable[[bytes], object] | None) -> None:
        """Its next bytes."""
        self.size += len(data)
        if self.dropped:
            if on_drop is not None:
                on_drop(data)
        elif self._joined is None and self.size < LONG:
            self.parts.append(data)
        else:
            # one copy of it, which grows, and which `getvalue` gives away as it is
            if self._joined is None:
                self._joined = io.BytesIO()
                self._joined.writelines(self.parts)
                self.parts = []
            self._joined.write(data)

    def drop(self, on_drop: Callable[[bytes], object] | None) -> None:
        """Keep nothing of it from now on."""
        if on_drop is not None:
            for part in self.parts or [self._joined.getvalue() if self._joined is not None else b""]:
                on_drop(part)
        self.dropped, self.parts, self._joined = True, [], None

    def close(self, separator: bytes) -> Segment:
        """A long record, the last bytes of which are a separator."""
        if self.dropped:
            return Segment([], b"", 0, self.size, closed=True, torn=self.torn)
        assert self._joined is not None
        self._joined.truncate(self.size - len(separator))
        return Segment([self._joined.getvalue()], separator, len(separator))

    def end(self) -> Segment:
        """The record at the end of the stream."""
        if self.dropped:
            return Segment([], b"", 0, self.size, torn=self.torn)
        if self._joined is not None:
            return Segment([self._joined.getvalue()], b"", 0)
        data = b"".join(self.parts)
        return Segment([], data, len(data))


def _first(edge: bytes, chunk: bytes, separator: bytes) -> int:
    """The end, in ``chunk``, of the first separator in ``edge + chunk``; 0 if there is none."""
    found = (edge + chunk[: len(separator) - 1]).find(separator)
    if found >= 0:
        return found + len(separator) - len(edge)
    return chunk.find(separator) + len(separator) if separator in chunk else 0


def _last(edge: bytes, chunk: bytes, separator: bytes) -> int:
    """The end, in ``chunk``, of the last separator in ``edge + chunk``; 0 if there is none."""
    found = _rightmost(chunk, separator)
    if found >= 0:
        return found + len(separator)
    seam = edge + chunk[: len(separator) - 1]
    found = seam.rfind(separator)
    return found + len(separator) - len(edge) if found >= 0 else 0


def _rightmost(chunk: bytes, separator: bytes) -> int:
    """``chunk.rfind(separator)``, but twenty times as fast where the separator's first byte is rare, because the search
    for one byte compares many at a time."""
    at = len(chunk)
    for _ in range(TRIES):
        at = chunk.rfind(separator[:1], 0, at)
        if at < 0 or chunk.startswith(separator, at):
            return at
    return chunk.rfind(separator, 0, at + len(separator) - 1)


def _last_of_chain(edge: bytes, chunk: bytes, separator: bytes) -> int:
    """`_last` for a separator that overlaps itself: occurrences are matched from the left, none overlapping."""
    window = edge + chunk
    records = window.split(separator)
    return len(window) - len(records[-1]) - len(edge) if len(records) > 1 else 0
