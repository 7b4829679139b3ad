"""Bytes of a source from its start to its end, plain or compressed, in bounded memory.

Reads give exactly the size asked for except at the end, so that the layers above can be deterministic. Compressed data
that ends early or is damaged is an error here, never a silent end of file.
"""
from __future__ import annotations

import errno
import os
import stat
import sys
import zlib
from collections import deque
from typing import BinaryIO

from .expanding import DamagedError, Expander
from .files import RemoteFile, open_bytes
from .find import STDIN, Piece
from .gaps import Gap, find_gaps
from .stores import look_up
from .urls import is_url

__all__ = ["BOM", "Stream", "open_stream", "try_piece"]

BOM = b"\xef\xbb\xbf"

#: What stays the same while a file is read.
SAME = ("st_size", "st_mtime_ns", "st_ino")


class Stream:
    """Decompressed bytes of a source, with the offset both in them and in the file.

    Use as a context manager. ``offset`` counts decompressed bytes, ``raw_offset`` bytes of the file, ``gaps_met`` the
    damaged stretches before.

    Args:
        piece: The source.
        gaps: Damaged stretches of a compressed file, which are not decompressed.
    """

    def __init__(self, piece: Piece, gaps: tuple[Gap, ...] = ()) -> None:
        self.name: str = piece.path
        self.offset: int = 0
        self.gaps_met: int = 0
        self._own = piece.path != STDIN
        self._file: BinaryIO | RemoteFile = open_bytes(piece.path) if self._own else sys.stdin.buffer
        self._expander = Expander(self._file, piece.compression) if piece.compression else None
        self._raw_offset = 0
        self._held: deque[bytes | memoryview] = deque()
        self._held_size = 0
        self._ended = False
        self._gaps = deque(gaps)
        self._passed = 0
        self._last: Gap | None = None
        self._damage: DamagedError | None = None
        self._in_gap = False
        self._opened = None if isinstance(self._file, RemoteFile) or not self._own else os.fstat(self._file.fileno())

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *exc: object) -> None:
        if self._own:
            self._file.close()

    @property
    def raw_offset(self) -> int:
        """Bytes of the file that have been read."""
        return self._raw_offset if self._expander is None else self._expander.read

    def check_unchanged(self) -> None:
        """At the end of reading, whether the file is still the one that was opened.

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

    def read_until(self, offset: int) -> None:
        """Nothing from an offset on will be read, of a source that is not compressed."""
        if isinstance(self._file, RemoteFile) and self._expander is None:
            self._file.ahead_until = offset

    def arrow_source(self) -> str | RemoteFile:
        """What Arrow reads instead of this: the path of a file, or the open object."""
        return self._file if isinstance(self._file, RemoteFile) else self.name

    def is_of(self, piece: Piece) -> bool:
        """Whether the open file is the one that was found."""
        if isinstance(self._file, RemoteFile):
            return (self._file.opened.size, self._file.opened.version) == (piece.size, piece.version)
        return self._opened is None or (self._opened.st_size, self._opened.st_mtime_ns) == (piece.size, piece.mtime_ns)

    def read(self, size: int) -> bytes:
        """The next ``size`` bytes; fewer only at the end, and before damage.

        Raises:
            DamagedError: The compressed data is damaged at the next byte. So does every further read, until `go_on`.
        """
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

    def go_on(self) -> bool:
        """After a `DamagedError`: go on behind the damage. Returns whether that is possible: whole members behind a gap
        are known."""
        if not self._in_gap:
            return False
        self._damage, self._in_gap = None, False
        self.gaps_met += 1
        return True

    def pass_gaps(self, count: int) -> None:
        """Go on behind the next gaps without an error."""
        self._passed = count
        self._last = self._gaps[min(count, len(self._gaps)) - 1] if count and self._gaps else None

    @property
    def torn(self) -> bool:
        """Whether this is the end of a gap that was passed."""
        return self._last is not None and self._last.offset == self.offset

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

    def skip(self, size: int) -> int:
        """Move forward; returns the CRC-32 of the skipped bytes if they had to be read, else 0."""
        if self._expander is None and self._own and not self._held and self._file.seekable():
            self.offset += size
            self._raw_offset = self._file.seek(size, os.SEEK_CUR)
            return 0
        crc = 0
        while size > 0:
            data = self.read(min(size, 1 << 20))
            if not data:
                raise ValueError(f"{self.name}: ends before the offset that was reached last time")
            crc = zlib.crc32(data, crc)
            size -= len(data)
        return crc

    def _more(self, size: int) -> bytes:
        """More decompressed bytes, or none; sets ``_ended`` at the end."""
        expander = self._expander
        if expander is None:
            data = self._file.read(size)
            self._raw_offset += len(data)
            self._ended = not data
            return data
        if self._gaps and expander.between and expander.boundary() == self._gaps[0].start:
            gap = self._gaps.popleft()
            expander.seek(gap.stop)
            self._in_gap = True
            if self._passed:
                self._passed -= 1
                self.go_on()
                return b""
            raise DamagedError(f"{self.name}: bytes {gap.start} to {gap.stop} of the file are not read: {gap.cause}")
        try:
            data = expander.more()
        except DamagedError as damage:
            raise DamagedError(f"{self.name}: {damage}") from None
        self._ended = expander.ended
        return data


def open_stream(piece: Piece, *, checked: bool = False) -> Stream:
    """The stream of a piece's file, after a check that it is still the file that was found.

    Args:
        piece: The source.
        checked: Decompress a compressed file twice, so that nothing of its damaged members is given.

    Raises:
        ValueError: The file has changed since; or it is a compressed pipe, and cannot be checked.
        OSError: It cannot be opened.
    """
    if piece.path == STDIN:
        return Stream(piece)
    stream = Stream(piece, find_gaps(piece) if checked and piece.compression else ())
    if not stream.is_of(piece):
        stream.__exit__()
        what = "time of change" if piece.version is None else "version"
        raise ValueError(f"{piece.path}: has changed since the run began (size or {what} differs)")
    return stream


def try_piece(piece: Piece) -> None:
    """Look whether a file is there as it was found, and may be read.

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
