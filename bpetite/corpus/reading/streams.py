"""Bytes of a source from its start to its end: plain, gzip or Zstandard, in bounded memory.

Reads give exactly the size asked for except at the end, so that the layers above can be deterministic. Compressed data
that ends early or is damaged is an error here, never a silent end of file.
"""
from __future__ import annotations

import os
import stat
import sys
import zlib
from typing import Any, BinaryIO

from .sources import STDIN, Piece

_zlib: Any
try:  # the same results as zlib, two to three times as fast
    from isal import isal_zlib as _zlib
except ImportError:
    _zlib = zlib

__all__ = ["BOM", "DamagedError", "Stream", "open_stream"]

BOM = b"\xef\xbb\xbf"

#: Compressed bytes read at a time, and the decompressed bytes that they are expanded to at a time.
COMPRESSED_READ = 1 << 18
EXPANDED = 1 << 20

#: The output of Zstandard's decompressor cannot be limited; it gets at most this many bytes, and fewer of data that
#: expands a lot. Four bytes can expand to 128 KB, so no input makes it give more than 128 MB at once.
MOST_FED = 1 << 12


#: What stays the same while a file is read.
SAME = ("st_size", "st_mtime_ns", "st_ino")


class DamagedError(ValueError):
    """Compressed data is cut short or damaged; the bytes before that have been read."""


class Stream:
    """Decompressed bytes of a source, with the offset both in them and in the file.

    Use as a context manager. ``offset`` counts decompressed bytes, ``raw_offset`` bytes of the file.
    """

    def __init__(self, piece: Piece) -> None:
        self.name: str = piece.path
        self.offset: int = 0
        self.raw_offset: int = 0
        self._make = _decompressor(piece.compression)
        self._bounded = piece.compression == "gz"
        self._feed = COMPRESSED_READ if self._bounded else 1 << 10
        self._own = piece.path != STDIN
        self._file: BinaryIO = open(piece.path, "rb", buffering=0) if self._own else sys.stdin.buffer  # noqa: SIM115
        self._held: list[bytes | memoryview] = []
        self._held_size = 0
        self._input = b""
        self._decompress: Any = None
        self._ended = False
        self._damage = ""
        self._opened = self.status() if self._own else None

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *exc: object) -> None:
        if self._own:
            self._file.close()

    def check_unchanged(self) -> None:
        """At the end of reading, whether the file is still the one that was opened.

        Raises:
            ValueError: It has been written to or replaced since.
        """
        if self._opened is not None and not stat.S_ISFIFO(self._opened.st_mode):
            for now in (self.status(), os.stat(self.name)):
                if any(getattr(now, name) != getattr(self._opened, name) for name in SAME):
                    raise ValueError(f"{self.name}: has changed while it was read (size, time of change or inode "
                                     "differs); start anew with overwrite=True")

    def status(self) -> os.stat_result:
        """The status of the open file."""
        return os.fstat(self._file.fileno())

    def read(self, size: int) -> bytes:
        """The next ``size`` bytes; fewer only at the end.

        Raises:
            DamagedError: The compressed data is damaged at the next byte. Bytes before the damage are returned first;
                the read after them raises.
        """
        while self._held_size < size and not self._ended:
            try:
                more = self._more(size - self._held_size)
            except DamagedError:
                if self._held_size:
                    break  # the good bytes first; the next read meets the damage again
                raise
            if more:
                self._held.append(more)
                self._held_size += len(more)
        data = self._held[0] if len(self._held) == 1 else b"".join(self._held)
        self._held = []
        self._held_size = max(0, len(data) - size)
        if self._held_size:  # not copied again at each read: there may be a lot of it
            view = memoryview(data)
            data, self._held = view[:size], [view[size:]]
        self.offset += len(data)
        return data if isinstance(data, bytes) else bytes(data)

    def unread(self, data: bytes) -> None:
        """Put back the bytes that were read last."""
        self._held.insert(0, data)
        self._held_size += len(data)
        self.offset -= len(data)

    def skip(self, size: int) -> int:
        """Move forward; returns the CRC-32 of the skipped bytes if they had to be read, else 0."""
        if self._make is None and self._own and not self._held and self._file.seekable():
            self.offset += size
            self.raw_offset = self._file.seek(size, os.SEEK_CUR)
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
        if self._damage:
            raise DamagedError(self._damage)
        if self._make is None:
            data = self._file.read(size)
            self.raw_offset += len(data)
            self._ended = not data
            return data
        if not self._input:
            self._input = self._file.read(COMPRESSED_READ)
            self.raw_offset += len(self._input)
            if not self._input:
                return self._last()
        if self._decompress is None or self._decompress.eof:
            self._input = self._input.lstrip(b"\0")  # padding between and after members is allowed
            if not self._input:
                return b""
            self._decompress = self._make()
        return self._expand()

    def _expand(self) -> bytes:
        """The decompressed bytes of some of the input in memory, at most about `EXPANDED` bytes."""
        feed, self._input = self._input[: self._feed], self._input[self._feed :]
        try:
            if self._bounded:
                data = self._decompress.decompress(feed, EXPANDED)
                feed = self._decompress.unconsumed_tail
            else:
                data = self._decompress.decompress(feed)
                feed = b""
                # the output cannot be limited, so feed less of data that expands a lot
                self._feed = max(64, self._feed // 4) if len(data) > EXPANDED else min(self._feed * 2, MOST_FED)
        except Exception as damage:
            self._damage = f"{self.name}: damaged at or before byte {self.raw_offset} of the file: {damage}"
            raise DamagedError(self._damage) from None
        if self._decompress.eof:
            feed = self._decompress.unused_data
        self._input = feed + self._input if feed else self._input
        return data if isinstance(data, bytes) else bytes(data)

    def _last(self) -> bytes:
        """After the last byte of the file: the bytes that the decompressor still holds, then the end."""
        if self._decompress is None or self._decompress.eof:
            self._ended = True
            return b""
        data: bytes = self._decompress.decompress(b"", EXPANDED) if self._bounded else b""
        if not data and not self._decompress.eof:
            self._damage = f"{self.name}: the compressed data is cut short at byte {self.raw_offset}"
            raise DamagedError(self._damage)
        return data


def _decompressor(compression: str | None) -> Any:
    """A factory of decompressors of one member or frame, with ``decompress``, ``eof`` and ``unused_data``."""
    if compression == "gz":
        return lambda: _zlib.decompressobj(wbits=31)
    if compression == "zst":
        import zstandard

        context = zstandard.ZstdDecompressor()
        return lambda: context.decompressobj()
    return None


def open_stream(piece: Piece) -> Stream:
    """The stream of a piece's file, after a check that it is still the file that was found.

    Raises:
        ValueError: The file has changed since.
        OSError: It cannot be opened.
    """
    stream = Stream(piece)
    if piece.path != STDIN:
        status = stream.status()
        if (status.st_size, status.st_mtime_ns) != (piece.size, piece.mtime_ns):
            stream.__exit__()
            raise ValueError(f"{piece.path}: has changed since the run began (size or time of change differs)")
    return stream
