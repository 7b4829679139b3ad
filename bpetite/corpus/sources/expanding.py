"""Compressed files expanded member by member (gzip, bzip2) or frame by frame (Zstandard, xz), in bounded memory.

The decompressors of Python's `bz2` and `lzma` limit their output. Gzip's and Zstandard's get the same methods.
"""
from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any, BinaryIO

_zlib: Any
try:  # the same results as zlib, two to three times as fast
    from isal import isal_zlib as _zlib
except ImportError:
    _zlib = zlib

__all__ = ["MOST_WINDOW", "DamagedError", "Expander", "crc32"]

#: The CRC-32 of bytes.
crc32: Callable[[Any], int] = _zlib.crc32

#: Compressed bytes read at a time, which mostly expand to more than 1 MB: as much is joined without the interpreter
#: lock. And bytes that a decompressor gives at a time, about: two fit into a block.
COMPRESSED_READ = 1 << 19
EXPANDED = 7 << 19

#: The largest window that a Zstandard frame may declare (``zstd --long=31``), and the most memory of an xz decoder. The
#: decoder allocates what the file declares.
MOST_WINDOW = 1 << 31

#: Bytes given at a time to a decompressor whose output has no limit. The most that they give is 64 MB: of gzip, a byte
#: gives 1 KB; of Zstandard, 4 bytes give 128 KB.
GZIP_STEP, ZSTANDARD_STEP = 1 << 16, 1 << 11


class DamagedError(ValueError):
    """Compressed data is cut short or damaged; the bytes before that have been read."""


class _Stepwise:
    """A decompressor that has no limit of output, given few bytes at a time, with the methods of `bz2`'s."""

    def __init__(self, inner: Any, step: int) -> None:
        self._inner, self._step = inner, step
        self._rest = memoryview(b"")
        self.eof = False
        self.unused_data = b""
        self.needs_input = True

    def decompress(self, data: bytes, max_length: int) -> bytes:
        rest = memoryview(data) if data else self._rest
        inner, parts = self._inner, []
        at = size = 0
        while at < len(rest) and size < max_length and not inner.eof:
            parts.append(inner.decompress(rest[at : at + self._step]))
            at += self._step
            size += len(parts[-1])
        self._rest = rest[at:]
        self.eof = inner.eof
        self.needs_input = not self._rest
        if self.eof:
            self.unused_data = inner.unused_data + bytes(self._rest)
        return parts[0] if len(parts) == 1 else b"".join(parts)


def _maker(compression: str) -> Callable[[], Any]:
    if compression == "bz2":
        import bz2

        return bz2.BZ2Decompressor
    if compression == "xz":
        import lzma

        return lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=MOST_WINDOW)
    if compression == "zst":
        import zstandard

        context = zstandard.ZstdDecompressor(max_window_size=MOST_WINDOW)
        return lambda: _Stepwise(context.decompressobj(), ZSTANDARD_STEP)
    return lambda: _Stepwise(_zlib.decompressobj(wbits=31), GZIP_STEP)


class Expander:
    """The decompressed bytes of a file.

    Attributes:
        read: Bytes of the file that have been read.
        verified: Decompressed bytes in whole members, whose checksums are right.
        ended: Whether everything has been given.
    """

    def __init__(self, file: BinaryIO, compression: str) -> None:
        self._file = file
        self._make = _maker(compression)
        self._member: Any = None
        self._input = b""
        self._given = 0
        self._damage: DamagedError | None = None
        self.read: int = 0
        self.verified: int = 0
        self.ended: bool = False

    def more(self) -> bytes:
        """The next bytes, about `EXPANDED` at most; none at the end, and sometimes before; a DamagedError at damage."""
        if self._damage is not None:
            raise self._damage
        feed = b""
        if self._member is None:
            if not self._at_member():
                self.ended = True
                return b""
            self._member = self._make()
        elif self._member.needs_input and not self._fill():
            self._damage = DamagedError(f"cut short at byte {self.read} of the file")
            raise self._damage
        if self._member.needs_input:
            feed, self._input = self._input, b""
        try:
            data: bytes = self._member.decompress(feed, EXPANDED)
        except MemoryError:
            raise
        except Exception as wrong:  # each decompressor has its own
            self._damage = DamagedError(f"damaged at or before byte {self.read} of the file: {wrong}")
            raise self._damage from None
        self._given += len(data)
        if self._member.eof:
            self._input, self._member = self._member.unused_data, None
            self.verified = self._given
        return data

    def _at_member(self) -> bool:
        """Pass over zeros between members; returns whether another member follows."""
        while self._input or self._fill():
            self._input = self._input.lstrip(b"\0")
            if self._input:
                return True
        return False

    def _fill(self) -> bool:
        self._input = self._file.read(COMPRESSED_READ)
        self.read += len(self._input)
        return bool(self._input)
