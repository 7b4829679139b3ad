"""Bytes of a source from its start to its end, plain or compressed, in bounded memory.

Compressed data that ends early or is damaged is an error here, never a silent end of file.
"""
from __future__ import annotations

import errno
import os
import stat
import sys
from collections import deque
from dataclasses import dataclass
from functools import lru_cache
from typing import BinaryIO

from .expanding import DamagedError, Expander
from .files import RemoteFile, open_bytes
from .find import STDIN, Piece
from .stores import look_up
from .urls import is_url

__all__ = ["BOM", "Stream", "Torn", "find_damage", "open_stream", "try_piece"]

BOM = b"\xef\xbb\xbf"

#: What stays the same while a file is read.
SAME = ("st_size", "st_mtime_ns", "st_ino")


@dataclass(frozen=True)
class Torn:
    """The damage of a compressed file: the decompressed bytes of the whole members before it, and its cause."""

    offset: int
    cause: str


class Stream:
    """Decompressed bytes of a source, with the offset both in them and in the file.

    Use as a context manager. ``offset`` counts decompressed bytes, ``raw_offset`` bytes of the file.

    Args:
        piece: The source.
        ranges: Read some ranges, and not all bytes in order.
        torn: The damage of a compressed file, where reading ends.
    """

    def __init__(self, piece: Piece, *, ranges: bool = False, torn: Torn | None = None) -> None:
        self.name: str = piece.path
        self.offset: int = 0
        self._own = piece.path != STDIN
        self._file: BinaryIO | RemoteFile = open_bytes(piece.path, ranges=ranges) if self._own else sys.stdin.buffer
        self._expander = Expander(self._file, piece.compression) if piece.compression else None
        self._raw_offset = 0
        self._held: deque[bytes | memoryview] = deque()
        self._held_size = 0
        self._ended = False
        self._torn = torn
        self._damage: DamagedError | None = None
        self._opened = None if isinstance(self._file, RemoteFile) or not self._own else os.fstat(self._file.fileno())

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *exc: object) -> None:
        if self._own:
            self._file.close()

    @property
    def file(self) -> BinaryIO | RemoteFile:
        """The open file itself."""
        return self._file

    @property
    def verified(self) -> int:
        """Bytes of the stream that no damage found later can touch; of a compressed file, those of whole members."""
        return sys.maxsize if self._expander is None else self._expander.verified

    @property
    def raw_offset(self) -> int:
        """Bytes of the file that have been read."""
        return self._raw_offset if self._expander is None else self._expander.read

    def check_unchanged(self) -> None:
        """At the end of reading, check that the file is still the one that was opened.

        Raises:
            ValueError: It has been written to or replaced since.
        """
        if isinstance(self._file, RemoteFile):
            self._file.check_unchanged()
        elif self._opened is not None and not stat.S_ISFIFO(self._opened.st_mode):
            for now in (os.fstat(self._file.fileno()), os.stat(self.name)):
                if any(getattr(now, name) != getattr(self._opened, name) for name in SAME):
                    raise ValueError(f"{self.name}: has changed while it was read (size, time of change or inode "
                                     "differs); start anew with overwrite=True")

    def is_of(self, piece: Piece) -> bool:
        """True if the open file is the one that was found."""
        if isinstance(self._file, RemoteFile):
            return (self._file.opened.size, self._file.opened.version) == (piece.size, piece.version)
        return self._opened is None or (self._opened.st_size, self._opened.st_mtime_ns) == (piece.size, piece.mtime_ns)

    def read(self, size: int) -> bytes:
        """The next ``size`` bytes; fewer only at the end, and before damage.

        Raises:
            DamagedError: The compressed data is damaged at the next byte.
        """
        if self._torn is not None:
            size = min(size, self._torn.offset - self.offset)
            if not size:
                raise DamagedError(self._torn.cause)
        while self._held_size < size and not self._ended and self._damage is None:
            try:
                more = self._more(size - self._held_size)
            except DamagedError as damage:
                self._damage = damage
                break
            if more:
                self._held.append(more)
                self._held_size += len(more)
        if self._damage is not None and not self._held_size and size:
            raise self._damage
        taken: list[bytes | memoryview] = []
        while size and self._held:
            part = self._held.popleft()
            if len(part) > size:  # the rest is not copied: there may be a lot of it
                view = memoryview(part)
                self._held.appendleft(view[size:])
                part = view[:size]
            taken.append(part)
            size -= len(part)
        data = taken[0] if len(taken) == 1 and isinstance(taken[0], bytes) else b"".join(taken)
        self._held_size -= len(data)
        self.offset += len(data)
        return data

    def unread(self, data: bytes) -> None:
        """Put back the bytes that were read last."""
        self._held.appendleft(data)
        self._held_size += len(data)
        self.offset -= len(data)

    def seek(self, offset: int) -> None:
        """Go on at an offset of a plain file."""
        self._held.clear()
        self._held_size, self._ended = 0, False
        self.offset = self._raw_offset = self._file.seek(offset)

    def skip(self, offset: int) -> None:
        """Move forward to an offset.

        Raises:
            ValueError: The source ends before it.
        """
        if self._expander is None and self.offset < offset:
            self.seek(offset)
        while self.offset < offset:
            if not self.read(min(offset - self.offset, 1 << 20)):
                raise ValueError(f"{self.name}: ends before the offset that was reached last time")

    def _more(self, size: int) -> bytes:
        """More decompressed bytes, or none; sets ``_ended`` at the end."""
        if self._expander is None:
            data = self._file.read(size)
            self._raw_offset += len(data)
            self._ended = not data
            return data
        data = self._expander.more()
        self._ended = self._expander.ended
        return data


def open_stream(piece: Piece, *, ranges: bool = False, torn: Torn | None = None) -> Stream:
    """The stream of a piece's file, after a check that it is still the file that was found.

    Args:
        piece, ranges, torn: As of `Stream`.

    Raises:
        ValueError: The file has changed since.
        OSError: It cannot be opened.
    """
    stream = Stream(piece, ranges=ranges, torn=torn)
    if not stream.is_of(piece):
        stream.__exit__()
        differs = "time of change" if piece.version is None else "version"
        raise ValueError(f"{piece.path}: has changed since the run began (size or {differs} differs)")
    return stream


@lru_cache(maxsize=64)
def find_damage(piece: Piece) -> Torn | None:
    """The damage of a compressed file. The checksum of a member stands at its end, and damaged data often decompresses
    for a while to what looks like text: so all of it is decompressed. The answer is cached.

    Raises:
        ValueError: It is a pipe.
        OSError: It is not there, or cannot be read.
    """
    assert piece.compression is not None
    if not (is_url(piece.path) or stat.S_ISREG(os.stat(piece.path).st_mode)):
        raise ValueError(f"{piece.path}: a compressed pipe cannot be checked for damage before it is read, as "
                         "on_error='skip' and 'replace' do; write it to a file, or on_error='fail'")
    with open_bytes(piece.path) as file:
        expander = Expander(file, piece.compression)
        try:
            while not expander.ended:
                expander.more()
        except DamagedError as damage:
            return Torn(expander.verified, str(damage))
    return None


def try_piece(piece: Piece) -> None:
    """Check that a file is there as it was found, and may be read.

    Raises:
        ValueError: It has changed.
        OSError: It cannot be read.
    """
    if is_url(piece.path):
        found = look_up(piece.path)
        same = (found.size, found.version) == (piece.size, piece.version)
    else:
        status = os.stat(piece.path)
        same = (status.st_size, status.st_mtime_ns) == (piece.size, piece.mtime_ns)
    if not same:
        raise ValueError(f"{piece.path}: has changed since it was found")
    if not (is_url(piece.path) or os.access(piece.path, os.R_OK)):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), piece.path)
