"""Bytes of a stream cut into segments of whole records, by searching each chunk for its last separator only.

Only new bytes are ever searched, so one document of many chunks costs no more than many documents.
"""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .sources import overlaps_itself
from .streams import DamagedError, Stream

__all__ = ["TRIES", "Damage", "Segment", "segments"]

#: Occurrences of a separator's first byte that are tested one by one before a search for the whole separator.
TRIES = 32


@dataclass(frozen=True)
class Damage:
    """Takes the position of a record that could not be read at all: (what of a `Problem`, detail)."""

    what: str
    detail: str


@dataclass
class Segment:
    """Bytes of whole records as they were read: the open end of the previous chunk, and a chunk to its last separator.

    They are joined only record by record, because a copy of everything costs as much as the search for separators.

    Attributes:
        head: The part of the first record that was read before the chunk.
        chunk: Contains the end of the last record's separator.
        end: Offset in the chunk of that end.
    """

    head: list[bytes]
    chunk: bytes
    end: int

    def __len__(self) -> int:
        return sum(map(len, self.head)) + self.end

    def split(self, separator: bytes) -> list[bytes]:
        """``bytes.split`` of all the bytes."""
        records = self.chunk.split(separator)
        if self.end < len(self.chunk):
            records[-1] = b""  # the open end, which goes to the next segment
        if self.head:
            # a separator may begin in the head
            records[:1] = b"".join([*self.head, records[0]]).split(separator)
        return records

    def join(self) -> bytes:
        """All the bytes."""
        return b"".join([*self.head, memoryview(self.chunk)[: self.end]])


def segments(
    stream: Stream, separator: bytes, size: int, limit: int | None = None
) -> Iterator[tuple[Segment, Damage | None]]:
    """Segments that end after a separator, or at the end of the stream; of damaged data, the part before the damage.

    Args:
        stream: What to cut.
        separator: Ends a record.
        size: Bytes read at a time.
        limit: The offset in the stream to read up to; None for its end.
    """
    chained = overlaps_itself(separator)
    find = _last_of_chain if chained else _last
    keep = len(separator) - 1
    parts: list[bytes] = []  # of the open record
    edge = b""  # its last bytes: a separator may begin in one chunk and end in the next
    damage = None
    while True:
        try:
            chunk = stream.read(size if limit is None else min(size, max(0, limit - stream.offset)))
        except DamagedError as error:
            damage = Damage("damaged-file", str(error))
            break
        if not chunk:
            break
        end = find(edge, chunk, separator)
        if end:
            segment = Segment(parts, chunk, end)
            if chained or end < len(separator):
                # where separators are matched from the left, or the only one begins before the chunk
                segment = Segment([], segment.join(), len(segment))
            yield segment, None
            chunk = chunk[end:]
            parts, edge = [], b""
        if chunk:
            parts.append(chunk)
        edge = (edge + chunk[-keep:])[-keep:] if keep else b""
    if parts or damage:
        data = b"".join(parts)
        yield Segment([], data, len(data)), damage


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
