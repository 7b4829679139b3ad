"""Bytes of a stream cut into whole records, by a search of each chunk for its last separator only.

Only new bytes are ever searched, so one document of many chunks costs no more than many documents.
"""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..sources.expanding import DamagedError
from ..sources.find import STDIN
from ..sources.streams import Stream

__all__ = ["TRIES", "Cut", "Damage", "cut_records", "overlaps_itself"]

#: Occurrences of a separator's first byte that are tested one by one before a search for the whole separator.
TRIES = 32


def overlaps_itself(separator: bytes) -> bool:
    r"""True if a separator starts with its own end, as b"\n\n" does: where it occurs then depends on the text before,
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
class Cut:
    """Consecutive whole records.

    Attributes:
        data: Their bytes, separators included; None for one record that is too long to be kept.
        size: The number of these bytes.
        closed: Whether the last record ends with a separator.
        line: The line at their start, of standard input.
        damage: The stream cannot be read any further. The record before it is not among these.
    """

    data: bytes | None
    size: int
    closed: bool = True
    line: int | None = None
    damage: Damage | None = None


def cut_records(
    stream: Stream, separator: bytes, size: int, limit: int | None = None, *, most: int, stop: bool
) -> Iterator[Cut]:
    """Records up to a separator, or to the end of the stream.

    While a record that is too long is passed over, empty cuts come, so that the caller can end the reading.

    Args:
        stream: Its bytes.
        separator: Ends a record.
        size: Bytes read at a time.
        limit: The offset in the stream to read up to; None for its end.
        most: Bytes of a record; one that is known to be longer is not kept in memory.
        stop: Read nothing behind a record that is too long.
    """
    find = _last_of_chain if overlaps_itself(separator) else _last
    keep = len(separator) - 1
    line = 1 if stream.name == STDIN else None
    passed = 0  # line feeds of a record that is not kept
    parts: list[bytes] = []  # of the record that has no end yet
    held = 0  # its bytes
    dropped, damage = False, None
    edge = b""  # its last bytes: a separator may begin in one chunk and end in the next

    def cut(end: int, *, closed: bool) -> Cut:
        """The open record, with the first bytes of the chunk."""
        nonlocal parts, held, dropped, edge, line, passed
        data = None
        if not dropped:
            whole = not parts and end == len(chunk)
            data = chunk if whole else b"".join([*parts, memoryview(chunk)[:end]])
        made = Cut(data, held + end, closed, line)
        if line is not None:
            line += passed + (data or chunk[:end]).count(b"\n")
        parts, held, dropped, edge, passed = [], 0, False, b"", 0
        return made

    while True:
        try:
            chunk = stream.read(size if limit is None else min(size, max(0, limit - stream.offset)))
        except DamagedError as error:
            damage = Damage("damaged-file", str(error))
            break
        if not chunk:
            break
        if dropped and (end := _first(edge, chunk, separator)):
            yield cut(end, closed=True)
            chunk = chunk[end:]
        if not dropped and (end := find(edge, chunk, separator)):
            yield cut(end, closed=True)
            chunk = chunk[end:]
        held += len(chunk)
        edge = (edge + chunk[-keep:])[-keep:] if keep else b""
        parts.append(chunk)
        if not dropped and held - keep > most:
            dropped = True
            if stop:
                break
        if dropped:
            if line is not None:
                passed += sum(part.count(b"\n") for part in parts)
            parts = []
            yield Cut(b"", 0)
    if damage is not None:
        yield Cut(b"", 0, line=line, damage=damage)
    elif held:
        chunk = b""
        yield cut(0, closed=False)


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
