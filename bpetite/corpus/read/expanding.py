"""Compressed files expanded member by member (gzip, bzip2) or frame by frame (Zstandard, xz), in bounded memory."""
from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, BinaryIO

_zlib: Any
try:  # the same results as zlib, two to three times as fast
    from isal import isal_zlib as _zlib
except ImportError:
    _zlib = zlib

COMPRESSED_READ = 1 << 19  # mostly expands to more than 1 MB, which is joined without the interpreter lock
EXPANDED = 7 << 19  # bytes that a decompressor gives at a time, about: two fit into a block

#: The largest window of a Zstandard frame (``zstd --long=31``), and the most memory of an xz decoder: a decoder
#: allocates what the file declares.
MOST_WINDOW = 1 << 31

#: Bytes given at a time to a decompressor whose output has no limit: they give 64 MB at most. A byte of gzip gives up
#: to 1 KB; 4 bytes of Zstandard give up to 128 KB.
GZIP_STEP, ZSTANDARD_STEP = 1 << 16, 1 << 11


class DamagedError(ValueError):
    """Compressed data is cut short or damaged; the bytes before that have been read."""


@dataclass
class _Stepwise:
    """A decompressor without a limit of output, given few bytes at a time, with the methods of `bz2`'s."""

    inner: Any
    step: int
    eof: bool = False
    unused_data: bytes = b""
    needs_input: bool = True
    _rest: bytes | memoryview = b""

    def decompress(self, data: bytes, max_length: int) -> bytes:
        rest = memoryview(data or self._rest)
        inner, parts = self.inner, []
        at = size = 0
        while at < len(rest) and size < max_length and not inner.eof:
            parts.append(inner.decompress(rest[at : at + self.step]))
            at += self.step
            size += len(parts[-1])
        self._rest = rest[at:]
        self.eof = inner.eof
        self.needs_input = not self._rest
        if self.eof:
            self.unused_data = inner.unused_data + bytes(self._rest)
        return b"".join(parts)


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
    """The decompressed bytes of a file."""

    def __init__(self, file: BinaryIO, compression: str) -> None:
        self._file = file
        self._make = _maker(compression)
        self._member: Any = None
        self._input = b""
        self._given = 0
        self._damage = ""
        self.read: int = 0  # bytes of the file
        self.verified: int = 0  # decompressed bytes in whole members, whose checksums are right
        self.ended: bool = False

    def more(self) -> bytes:
        """The next bytes, about `EXPANDED` at most; none at the end, and sometimes before. Every call from damage on
        raises DamagedError."""
        if not self._damage:
            try:
                return self._more()
            except DamagedError as damage:
                self._damage = str(damage)
        raise DamagedError(self._damage)

    def _more(self) -> bytes:
        feed = b""
        if self._member is None:
            self._input = self._input.lstrip(b"\0")  # zeros between members
            while not self._input and self._fill():
                self._input = self._input.lstrip(b"\0")
            if not self._input:
                if not self.read:
                    raise DamagedError("empty, and no compressed file")
                self.ended = True
                return b""
            self._member = self._make()
        elif self._member.needs_input and not self._fill():
            raise DamagedError(f"cut short at byte {self.read} of the file")
        if self._member.needs_input:
            feed, self._input = self._input, b""
        try:
            data: bytes = self._member.decompress(feed, EXPANDED)
        except MemoryError:
            raise
        except Exception as wrong:  # each decompressor has its own
            raise DamagedError(f"damaged at or before byte {self.read} of the file: {wrong}") from None
        self._given += len(data)
        if self._member.eof:
            self._input, self._member = self._member.unused_data, None
            self.verified = self._given
        return data

    def _fill(self) -> bool:
        self._input = self._file.read(COMPRESSED_READ)
        self.read += len(self._input)
        return bool(self._input)
