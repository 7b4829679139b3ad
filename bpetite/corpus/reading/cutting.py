"""Bytes of a stream cut into whole records, by a search of each chunk for its last separator only.

Only new bytes are ever searched, so one document of many chunks costs no more than many documents.
"""
from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from ..sources.expanding import DamagedError
from ..sources.streams import Stream
from .problems import Flaw

__all__ = ["Cut", "cut_records", "end_of_first", "overlaps_itself"]


@lru_cache(maxsize=64)
def overlaps_itself(separator: bytes) -> bool:
    r"""True if a separator starts with its own end, as b"\n\n" does: where it occurs then depends on the text before,
    so a file cannot be cut at every occurrence of its bytes.

    >>> overlaps_itself(b"\n\n"), overlaps_itself(b"<|endoftext|>")
    (True, False)
    """
    return any(separator.startswith(separator[-size:]) for size in range(1, len(separator)))


class Cut(NamedTuple):
    """Consecutive whole records."""

    data: bytes | None  # separators included; None for one record that is too long to be kept
    size: int  # bytes
    closed: bool = True  # whether the last record ends with a separator
    line: int | None = None  # at their start, of what can be read only once
    damage: Flaw | None = None  # the stream cannot be read any further; the record before it is not among these


def cut_records(
    stream: Stream, separator: bytes, size: int, limit: int | None = None, *, most: int, stop: bool
) -> Iterator[Cut]:
    """Records up to a separator, or to the end of the stream.

    While a record that is too long is passed over, empty cuts come, so that the caller can end the reading.

    Args:
        size: Bytes read at a time.
        limit: The offset in the stream to read up to; None for its end.
        most: Bytes of a record; one that is known to be longer is not kept in memory.
        stop: Read nothing behind a record that is too long.
    """
    keep = len(separator) - 1
    line = 1 if stream.once else None
    lines = 0  # line feeds of the record that has no end yet
    parts: list[bytes] = []  # of that record
    held = 0  # its bytes
    dropped, damage = False, None
    edge = b""  # its last bytes: a separator may begin in one chunk and end in the next

    def cut(end: int, *, closed: bool) -> Cut:
        """The open record, with the first bytes of the chunk."""
        nonlocal parts, held, dropped, edge, line, lines
        data = None
        if not dropped:
            whole = not parts and end == len(chunk)
            data = chunk if whole else b"".join([*parts, memoryview(chunk)[:end]])
        made = Cut(data, held + end, closed, line)
        if line is not None:
            line += lines + chunk.count(b"\n", 0, end)
        parts, held, dropped, edge, lines = [], 0, False, b"", 0
        return made

    while True:
        try:
            chunk = stream.read(size if limit is None else min(size, max(0, limit - stream.offset)))
        except DamagedError as error:
            damage = Flaw("damaged-file", str(error))
            break
        if not chunk:
            break
        if dropped and (end := end_of_first(edge, chunk, separator)):
            yield cut(end, closed=True)
            chunk = chunk[end:]
        if not dropped and (end := _end_of_last(edge, chunk, separator)):
            yield cut(end, closed=True)
            chunk = chunk[end:]
        held += len(chunk)
        lines += chunk.count(b"\n") if line is not None else 0
        edge = (edge + chunk[-keep:])[-keep:] if keep else b""
        parts.append(chunk)
        if not dropped and held - keep > most:
            dropped = True
            if stop:
                break
        if dropped:
            parts = []
            yield Cut(b"", 0)
    if damage is not None:
        yield Cut(b"", 0, line=line, damage=damage)
    elif held:
        chunk = b""
        yield cut(0, closed=False)


def end_of_first(edge: bytes, chunk: bytes, separator: bytes) -> int:
    """The end, in ``chunk``, of the first separator in ``edge + chunk``, or 0; ``edge`` is shorter than one.

    Chunks are not copied: other threads would wait for the interpreter lock.
    """
    at = (edge + chunk[: len(separator) - 1]).find(separator)
    if at >= 0:
        return at + len(separator) - len(edge)
    at = chunk.find(separator)
    return at + len(separator) if at >= 0 else 0


def _end_of_last(edge: bytes, chunk: bytes, separator: bytes) -> int:
    """The end, in ``chunk``, of the last separator, or 0; occurrences are matched from the left, without overlap."""
    if overlaps_itself(separator):
        window = edge + chunk
        rest = len(window.split(separator)[-1])
        return len(chunk) - rest if rest < len(window) else 0
    at = chunk.rfind(separator)
    return at + len(separator) if at >= 0 else end_of_first(edge, chunk[: len(separator) - 1], separator)
