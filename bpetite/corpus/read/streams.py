"""Read the bytes of an input, plain or compressed, in bounded memory. Compressed data that is damaged or ends early is
an error. Files are expanded member by member (gzip, bzip2) or frame by frame (Zstandard, xz)."""
from __future__ import annotations

import os
import sys
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from operator import attrgetter
from typing import Any, BinaryIO, NamedTuple, cast

from .find import STDIN, Input
from .stores import ANEW, RemoteFile, found_here, open_bytes

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

BOM = b"\xef\xbb\xbf"

PIPE = 1 << 20  # bytes read of a pipe at a time

#: The attributes that stay the same while a file is read.
_same = attrgetter("st_size", "st_mtime_ns", "st_ino")


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


class Damage(NamedTuple):
    """The damage of a compressed file: the decompressed bytes of the whole members before it, and its cause."""

    offset: int
    cause: str


class Stream:
    """The decompressed bytes of an input. Raises ValueError if the file has changed since it was found.

    A plain file is read at any place. Other inputs are read once, in order, and their bytes stay in memory until they
    are taken.

    Args:
        ranges: Read only the ranges of an object that are asked for, instead of reading ahead.
        damage: Where to stop reading a damaged compressed file.
    """

    def __init__(self, source: Input, *, ranges: bool = False, damage: Damage | None = None) -> None:
        self.name: str = source.path
        self.read_once: bool = source.read_once
        self.in_order: bool = source.read_once or source.compression is not None
        self.offset: int = 0
        self.file: BinaryIO | RemoteFile = sys.stdin.buffer
        if source.path != STDIN:
            self.file = open_bytes(source.path, ranges=ranges, buffering=PIPE if source.read_once else 0)
        self._expander = Expander(cast(BinaryIO, self.file), source.compression) if source.compression else None
        self._file_bytes = 0
        self._damage = damage
        self._chunks: list[memoryview] = []  # that were read and not taken
        self._read = 0  # where they end
        self._status = None
        if self.read_once:
            return  # its size and version are unknown
        if isinstance(self.file, RemoteFile):
            opened, differs = self.file.opened, "version"
        else:
            self._status = os.fstat(self.file.fileno())
            opened, differs = found_here(self.name, self._status), "time of change"
        if (opened.size, opened.version) != (source.size, source.version):
            self.file.close()
            raise ValueError(f"{self.name}: has changed since the run began (size or {differs} differs); {ANEW}")

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *exc: object) -> None:
        if self.name != STDIN:
            self.file.close()

    @property
    def file_offset(self) -> int:
        """Bytes of the file that have been read."""
        return self._file_bytes if self._expander is None else self._expander.read

    def window(self, start: int, size: int) -> bytes:
        """The ``size`` bytes from a place on, fewer only at the end. They stay in memory until they are taken. Raises
        DamagedError if damage comes before them."""
        if not self.in_order:
            return self._read_at(start, size)
        while self._read < start + size and self._read_more():
            pass
        at, parts = self._read, []
        for chunk in reversed(self._chunks):
            at -= len(chunk)
            if at < start + size:
                parts.append(chunk[max(0, start - at) : start + size - at])
            if at <= start:
                break
        return b"".join(reversed(parts))

    def take(self, stop: int | None = None) -> bytes:
        """The bytes from ``offset`` up to a place that a window has shown; by default all that have been read."""
        if not self.in_order:
            assert stop is not None
            data = self._read_at(self.offset, stop - self.offset)
        else:
            parts, left = [], self._read - self.offset if stop is None else stop - self.offset
            while left > 0 and self._chunks:
                parts.append(self._chunks[0][:left])
                left -= len(parts[-1])
                self._chunks[:1] = [rest] if len(rest := self._chunks[0][len(parts[-1]) :]) else []
            data = b"".join(parts)
        self.offset += len(data)
        return data

    def skip(self, offset: int) -> None:
        """Move forward to an offset; nothing before it is kept."""
        while self.in_order and self._read < offset and self._read_more():
            if self._read <= offset:
                self._chunks, self.offset = [], self._read
        if self.in_order:
            if self._read < offset:
                raise ValueError(f"{self.name}: ends before the offset that was reached last time")
            self.take(offset)
        self.offset = offset

    def check_unchanged(self) -> None:
        if isinstance(self.file, RemoteFile):
            self.file.check_unchanged()
        elif self._status is not None:
            for now in (os.fstat(self.file.fileno()), os.stat(self.name)):
                if _same(now) != _same(self._status):
                    raise ValueError(f"{self.name}: has changed while it was read (size, time of change or inode "
                                     f"differs); {ANEW}")

    def _read_at(self, start: int, size: int) -> bytes:
        self.file.seek(start)
        parts = []
        while size > 0 and (data := self.file.read(size)):
            parts.append(data)
            size -= len(data)
            start += len(data)
        self._file_bytes = max(self._file_bytes, start)
        return b"".join(parts)

    def _read_more(self) -> bool:
        """Read the next chunk of an input that is read in order; False at its end."""
        if self._expander is None:
            data = self.file.read(PIPE)
            self._file_bytes += len(data)
        else:
            if self._damage is not None and self._read >= self._damage.offset:
                raise DamagedError(self._damage.cause)
            data = b""
            while not data and not self._expander.ended:
                data = self._expander.more()
            if self._damage is not None:
                data = data[: self._damage.offset - self._read]
        if data:
            self._chunks.append(memoryview(data))
            self._read += len(data)
        return bool(data)


@lru_cache(maxsize=64)
def find_damage(source: Input) -> Damage | None:
    """The damage of a compressed file, if any. This decompresses the whole file: damaged data often gives plausible
    text, and only the checksum at the end of a member shows the damage."""
    assert source.compression is not None
    with open_bytes(source.path) as file:
        expander = Expander(file, source.compression)
        try:
            while not expander.ended:
                expander.more()
        except DamagedError as damage:
            return Damage(expander.verified, str(damage))
    return None
