"""Bytes of a stream cut into runs of whole records, by looking for the last separator of each chunk and no further.

Only new bytes are ever searched, so one document of many chunks costs no more than many documents.
"""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .sources import overlaps_itself
from .streams import DamagedError, Stream

__all__ = ["TRIES", "Damage", "Run", "runs"]

#: First bytes of a separator that are looked at one by one before a search for the whole.
TRIES = 32


@dataclass(frozen=True)
class Damage:
    """Stands for a record that could not be read at all: (kind, what is wrong)."""

    kind: str
    detail: str


@dataclass
class Run:
    """Bytes of whole records as they were read: the open end of the chunk before, and a chunk up to its last separator.

    They are put together only record by record, because a copy of everything costs as much as looking for separators.

    Attributes:
        head: What was read of the first record before the chunk.
        chunk: Ends inside the last record's separator, or behind it.
        end: Where in the chunk the last separator ends.
    """

    head: list[bytes]
    chunk: bytes
    end: int

    def __len__(self) -> int:
        return sum(map(len, self.head)) + self.end

    def split(self, separator: bytes) -> list[bytes]:
        """As ``bytes.split`` of all the bytes."""
        pieces = self.chunk.split(separator)
        if self.end < len(self.chunk):
            pieces[-1] = b""  # the open end, which goes to the next run
        if self.head:
            # a separator may begin in the head
            pieces[:1] = b"".join([*self.head, pieces[0]]).split(separator)
        return pieces

    def join(self) -> bytes:
        """All the bytes."""
        return b"".join([*self.head, memoryview(self.chunk)[: self.end]])


def runs(
    stream: Stream, separator: bytes, size: int, limit: int | None = None
) -> Iterator[tuple[Run, Damage | None]]:
    """Runs that end behind a separator, or at the end; of damaged data, what comes before the damage.

    Args:
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
            run = Run(parts, chunk, end)
            if chained or end < len(separator):
                # where separators are counted off from the left, or the only one begins before the chunk
                run = Run([], run.join(), len(run))
            yield run, None
            chunk = chunk[end:]
            parts, edge = [], b""
        if chunk:
            parts.append(chunk)
        edge = (edge + chunk[-keep:])[-keep:] if keep else b""
    if parts or damage:
        data = b"".join(parts)
        yield Run([], data, len(data)), damage


def _last(edge: bytes, chunk: bytes, separator: bytes) -> int:
    """The end, in ``chunk``, of the last separator in ``edge + chunk``; 0 when there is none."""
    found = _rightmost(chunk, separator)
    if found >= 0:
        return found + len(separator)
    seam = edge + chunk[: len(separator) - 1]
    found = seam.rfind(separator)
    return found + len(separator) - len(edge) if found >= 0 else 0


def _rightmost(chunk: bytes, separator: bytes) -> int:
    """``chunk.rfind(separator)``: twenty times as fast where the separator's first byte is rare, because the search for
    one byte looks at many at a time."""
    at = len(chunk)
    for _ in range(TRIES):
        at = chunk.rfind(separator[:1], 0, at)
        if at < 0 or chunk.startswith(separator, at):
            return at
    return chunk.rfind(separator, 0, at + len(separator) - 1)


def _last_of_chain(edge: bytes, chunk: bytes, separator: bytes) -> int:
    """The same for a separator that overlaps itself: occurrences are counted off from the left, none overlapping."""
    window = edge + chunk
    pieces = window.split(separator)
    return len(window) - len(pieces[-1]) - len(edge) if len(pieces) > 1 else 0
