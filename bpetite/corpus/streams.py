"""Bytes of a source from its start to its end: plain, gzip or Zstandard, in bounded memory.

Reads give exactly the size asked for except at the end, so that what lies above can be deterministic. Compressed data
that ends early or is damaged is an error here, never a quiet end of file.
"""
from __future__ import annotations

import os
import sys
import zlib
from typing import Any, BinaryIO

from ..errors import MissingExtraError
from .sources import STDIN, Piece

_zlib: Any
try:  # the same results as zlib, two to three times as fast
    from isal import isal_zlib as _zlib
except ImportError:
    _zlib = zlib

__all__ = ["BOM", "DamagedError", "Stream", "open_stream"]

BOM = b"\xef\xbb\xbf"

#: Compressed bytes taken at a time. One read of highly compressed data can grow a thousandfold, and that much is held.
COMPRESSED_READ = 1 << 16


class DamagedError(ValueError):
    """Compressed data that is cut short or damaged; what came before it has been delivered."""


class Stream:
    """Decompressed bytes of a source, with the place reached both in them and in the file.

    Use as a context manager. ``offset`` counts decompressed bytes, ``raw_offset`` bytes of the file.
    """

    def __init__(self, piece: Piece) -> None:
        self.name = piece.path
        self.offset = 0
        self.raw_offset = 0
        self._own = piece.path != STDIN
        self._file: BinaryIO = open(piece.path, "rb", buffering=0) if self._own else sys.stdin.buffer  # noqa: SIM115
        self._held: list[bytes] = []
        self._held_size = 0
        self._make = _decompressor(piece.compression)
        self._decompress: Any = None
        self._ended = False
        self._damage = ""

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *exc: object) -> None:
        if self._own:
            self._file.close()

    def status(self) -> os.stat_result:
        """The status of the open file."""
        return os.fstat(self._file.fileno())

    def read(self, size: int) -> bytes:
        """The next ``size`` bytes; fewer only at the end.

        Raises:
            DamagedError: The compressed data goes wrong within these bytes. Whatever could be read before it is
                given by calls before the error: the next ``read`` raises.
        """
        while self._held_size < size and not self._ended:
            try:
                more = self._more(size - self._held_size)
            except DamagedError:
                if self._held_size:
                    break  # the caller gets what is good first; asking again meets the damage again
                raise
            if more:
                self._held.append(more)
                self._held_size += len(more)
        data = self._held[0] if len(self._held) == 1 else b"".join(self._held)
        data, rest = (data, b"") if len(data) <= size else (data[:size], data[size:])
        self._held = [rest] if rest else []
        self._held_size = len(rest)
        self.offset += len(data)
        return data

    def unread(self, data: bytes) -> None:
        """Put back what was read last."""
        self._held.insert(0, data)
        self._held_size += len(data)
        self.offset -= len(data)

    def skip(self, size: int) -> int:
        """Move forward; returns the CRC-32 of the bytes passed where they had to be read, 0 where not."""
        if self._make is None and self._own and not self._held and self._file.seekable():
            self.offset += size
            self.raw_offset = self._file.seek(size, os.SEEK_CUR)
            return 0
        crc = 0
        while size > 0:
            data = self.read(min(size, 1 << 20))
            if not data:
                raise ValueError(f"{self.name}: ends before the place that was reached last time")
            crc = zlib.crc32(data, crc)
            size -= len(data)
        return crc

    def _more(self, size: int) -> bytes:
        """Some more decompressed bytes, or none; sets ``_ended`` at the end."""
        if self._damage:
            raise DamagedError(self._damage)
        raw = self._file.read(size if self._make is None else COMPRESSED_READ)
        self.raw_offset += len(raw)
        if self._make is None:
            self._ended = not raw
            return raw
        if not raw:
            if self._decompress is not None and not self._decompress.eof:
                self._damage = f"{self.name}: the compressed data is cut short at byte {self.raw_offset}"
                raise DamagedError(self._damage)
            self._ended = True
            return b""
        return self._expand(raw)

    def _expand(self, raw: bytes) -> bytes:
        """Decompress, going on with the next member or frame wherever one ends."""
        assert self._make is not None
        parts = []
        while raw:
            if self._decompress is None or self._decompress.eof:
                raw = raw.lstrip(b"\0")  # padding after a gzip member is allowed
                if not raw:
                    break
                self._decompress = self._make()
            try:
                parts.append(self._decompress.decompress(raw))
            except Exception as damage:
                self._damage = f"{self.name}: damaged at or before byte {self.raw_offset} of the file: {damage}"
                break
            raw = self._decompress.unused_data if self._decompress.eof else b""
        return b"".join(parts)


def _decompressor(compression: str | None) -> Any:
    """A maker of decompressors of one member or frame, with ``decompress``, ``eof`` and ``unused_data``."""
    if compression == "gz":
        return lambda: _zlib.decompressobj(wbits=31)
    if compression == "zst":
        try:
            import zstandard
        except ImportError:
            raise MissingExtraError("reading .zst", "zstandard", "corpus") from None
        context = zstandard.ZstdDecompressor()
        return lambda: context.decompressobj()
    return None


def open_stream(piece: Piece) -> Stream:
    """The stream of a piece's file, after checking that it is still the file that was found.

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
