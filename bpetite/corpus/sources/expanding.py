"""Compressed files expanded member by member (gzip, bzip2) or frame by frame (Zstandard, xz), in bounded memory.

The decompressors of Python's `bz2` and `lzma` give at most as many bytes as they are asked for. Those of gzip and
Zstandard are given the same methods here.
"""
from __future__ import annotations

import re
import zlib
from collections.abc import Callable
from typing import Any, BinaryIO, Protocol

_zlib: Any
try:  # the same results as zlib, two to three times as fast
    from isal import isal_zlib as _zlib
except ImportError:
    _zlib = zlib

__all__ = ["MAGIC", "MOST_WINDOW", "DamagedError", "Expander"]

#: Compressed bytes read at a time, and the decompressed bytes that they are expanded to at a time.
COMPRESSED_READ = 1 << 18
EXPANDED = 1 << 20

#: The largest window that a Zstandard frame may declare (``zstd --long=31``), and the most memory of an xz decoder. It
#: is allocated by what the file says that it needs.
MOST_WINDOW = 1 << 31

#: How a member begins.
MAGIC = {
    "gz": re.compile(rb"\x1f\x8b\x08[\x00-\x1f]"),
    "bz2": re.compile(rb"BZh[1-9](?:1AY&SY|\x17rE8P\x90)"),
    "xz": re.compile(rb"\xfd7zXZ\x00"),
    "zst": re.compile(rb"\x28\xb5\x2f\xfd"),
}


class DamagedError(ValueError):
    """Compressed data is cut short or damaged; the bytes before that have been read."""


class Decompressor(Protocol):
    """Of one member, as `bz2.BZ2Decompressor` has it."""

    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    @property
    def needs_input(self) -> bool: ...

    def decompress(self, data: bytes, max_length: int) -> bytes: ...


class _Gzip:
    def __init__(self) -> None:
        self._inner = _zlib.decompressobj(wbits=31)
        self._rest = b""
        self.eof = False
        self.unused_data = b""
        self.needs_input = True

    def decompress(self, data: bytes, max_length: int) -> bytes:
        out: bytes = self._inner.decompress(self._rest + data if self._rest else data, max_length)
        self._rest = self._inner.unconsumed_tail
        self.eof = self._inner.eof
        self.unused_data = self._inner.unused_data
        self.needs_input = not self._rest and len(out) < max_length
        return out


class _Zstandard:
    """Its output cannot be limited, but a block gives at most 128 KB; so it is given two blocks at a time.

    Source: RFC 8878, 3.1.1: Zstandard frames.
    """

    BLOCKS = 2

    def __init__(self, context: Any) -> None:
        self._inner = context.decompressobj()
        self._data = b""
        self._at = 0  # what has been given to the decompressor
        self._open = 0  # bytes of the header or block at hand that have not
        self._begun = self._last = False
        self._checksum = 0
        self.eof = False
        self.unused_data = b""
        self.needs_input = True

    def decompress(self, data: bytes, max_length: int) -> bytes:
        if data:
            self._data, self._at = self._data[self._at :] + data, 0
        stop = self._whole_blocks()
        out: bytes = self._inner.decompress(self._data[self._at : stop]) if stop > self._at else b""
        self._at = stop
        self.eof = self._inner.eof
        if self.eof:
            self.unused_data, self._data = self._data[stop:], b""
        elif self._last and not self._open:
            raise ValueError("the frame does not end with its last block")
        return out

    def _whole_blocks(self) -> int:
        """Where the next blocks end, as far as there is data of them."""
        at, end, blocks = self._at, len(self._data), 0
        while True:
            step = min(self._open, end - at)
            at, self._open = at + step, self._open - step
            self.needs_input = bool(self._open)
            if self._open or self._last or blocks == self.BLOCKS:
                return at
            size = self._block(at) if self._begun else self._header(at)
            if not size:
                self.needs_input = True
                return at
            blocks += self._begun
            self._begun, self._open = True, size

    def _header(self, at: int) -> int:
        """The size of the frame's header, or all of a frame that holds no data; 0 if that cannot be said yet."""
        start = self._data[at : at + 8]
        if len(start) < 8:
            return 0
        if start[0] & 0xF0 == 0x50 and start[1:4] == b"\x2a\x4d\x18":
            self._last = True
            return 8 + int.from_bytes(start[4:], "little")
        flags = start[4]
        single = flags >> 5 & 1
        self._checksum = 4 * (flags >> 2 & 1)
        return 5 + (1 - single) + (0, 1, 2, 4)[flags & 3] + (single, 2, 4, 8)[flags >> 6]

    def _block(self, at: int) -> int:
        """The size of a block with its header, and the checksum behind the last one; 0 if that cannot be said yet."""
        if len(self._data) - at < 3:
            return 0
        header = int.from_bytes(self._data[at : at + 3], "little")
        self._last = bool(header & 1)
        return 3 + (1 if header >> 1 & 3 == 1 else header >> 3) + (self._checksum if self._last else 0)


def _maker(compression: str) -> Callable[[], Decompressor]:
    """What makes the decompressor of a member."""
    if compression == "bz2":
        import bz2

        return bz2.BZ2Decompressor
    if compression == "xz":
        import lzma

        return lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=MOST_WINDOW)
    if compression == "zst":
        import zstandard

        context = zstandard.ZstdDecompressor(max_window_size=MOST_WINDOW)
        return lambda: _Zstandard(context)
    return _Gzip


class Expander:
    """The decompressed bytes of a file.

    Attributes:
        read: Bytes of the file that have been read.
        start: Where in the file the member at hand begins.
        ended: Whether everything has been given.
    """

    def __init__(self, file: BinaryIO, compression: str) -> None:
        self._file = file
        self._make = _maker(compression)
        self._member: Decompressor | None = None
        self._input = b""
        self.read: int = 0
        self.start: int = 0
        self.ended: bool = False

    def seek(self, offset: int) -> None:
        """Go on at the start of a member."""
        self._file.seek(offset)
        self._member, self._input, self.read, self.ended = None, b"", offset, False

    def boundary(self) -> int | None:
        """Between two members: where the next one begins, or None at the end of the file. Zeros between them are
        allowed."""
        while True:
            if not self._input and not self._fill():
                return None
            self._input = self._input.lstrip(b"\0")
            if self._input:
                return self.read - len(self._input)

    @property
    def between(self) -> bool:
        """Whether no member is open."""
        return self._member is None or self._member.eof

    def more(self) -> bytes:
        """The next bytes, about `EXPANDED` at most; none at the end, and sometimes before.

        Raises:
            DamagedError: The data is damaged here.
        """
        feed = b""
        if self._member is None or self._member.eof:
            start = self.boundary()
            if start is None:
                self.ended = True
                return b""
            self.start, self._member = start, self._make()
        elif self._member.needs_input and not self._fill():
            raise DamagedError(f"cut short at byte {self.read} of the file")
        if self._member.needs_input:
            feed, self._input = self._input, b""
        try:
            data = self._member.decompress(feed, EXPANDED)
        except MemoryError:
            raise
        except Exception as wrong:  # each decompressor has its own
            raise DamagedError(f"damaged at or before byte {self.read} of the file: {wrong}") from None
        if self._member.eof:
            self._input = self._member.unused_data
        return data

    def _fill(self) -> bool:
        self._input = self._file.read(COMPRESSED_READ)
        self.read += len(self._input)
        return bool(self._input)
