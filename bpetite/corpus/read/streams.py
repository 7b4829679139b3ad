"""Bytes of an input from its start to its end, plain or compressed, in bounded memory. Compressed data that ends early
or is damaged is an error."""
from __future__ import annotations

import os
import sys
from functools import lru_cache
from operator import attrgetter
from typing import BinaryIO, NamedTuple, cast

from .expanding import DamagedError, Expander
from .find import STDIN, Input
from .stores import RemoteFile, found_here, open_bytes

BOM = b"\xef\xbb\xbf"

PIPE = 1 << 20  # bytes read of a pipe at a time

#: The attributes that stay the same while a file is read.
_same = attrgetter("st_size", "st_mtime_ns", "st_ino")


class Damage(NamedTuple):
    """The damage of a compressed file: the decompressed bytes of the whole members before it, and its cause."""

    offset: int
    cause: str


class Stream:
    """The decompressed bytes of an input, which must be the file that was found. Plain files are read where they are
    asked for. Others are read once, in order; what was read stays until it is taken.

    ``ranges``: of an object in a store, some ranges are read. ``damage``: of a compressed file, where reading ends.
    """

    def __init__(self, source: Input, *, ranges: bool = False, damage: Damage | None = None) -> None:
        self.name: str = source.path
        self.once: bool = source.once
        self.in_order: bool = source.once or source.compression is not None
        self.offset: int = 0
        self.file: BinaryIO | RemoteFile = sys.stdin.buffer
        if source.path != STDIN:
            self.file = open_bytes(source.path, ranges=ranges, buffering=PIPE if source.once else 0)
        self._expander = Expander(cast(BinaryIO, self.file), source.compression) if source.compression else None
        self._raw = 0
        self._damage = damage
        self._chunks: list[memoryview] = []  # that were read and not taken
        self._read = 0  # where they end
        self._status = None
        if self.once:
            return  # nothing is known of it
        if isinstance(self.file, RemoteFile):
            opened, differs = self.file.opened, "version"
        else:
            self._status = os.fstat(self.file.fileno())
            opened, differs = found_here(self.name, self._status), "time of change"
        if (opened.size, opened.version) != (source.size, source.version):
            self.file.close()
            raise ValueError(f"{self.name}: has changed since the run began (size or {differs} differs); "
                             "overwrite=True starts anew")

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *exc: object) -> None:
        if self.name != STDIN:
            self.file.close()

    @property
    def raw_offset(self) -> int:
        """Bytes of the file that have been read."""
        return self._raw if self._expander is None else self._expander.read

    def window(self, start: int, size: int) -> bytes:
        """The bytes from a place on, fewer than ``size`` only at the end; they stay to be taken. Raises DamagedError
        where fewer bytes are there before damage."""
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
                                     "differs); overwrite=True starts anew")

    def _read_at(self, start: int, size: int) -> bytes:
        self.file.seek(start)
        parts = []
        while size > 0 and (data := self.file.read(size)):
            parts.append(data)
            size -= len(data)
            start += len(data)
        self._raw = max(self._raw, start)
        return b"".join(parts)

    def _read_more(self) -> bool:
        """Read the next chunk of an input that is read in order; False at its end."""
        if self._expander is None:
            data = self.file.read(PIPE)
            self._raw += len(data)
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
    """The damage of a compressed file. All of it is decompressed, because damaged data often decompresses to what looks
    like text up to the checksum, which stands at the end of a member."""
    assert source.compression is not None
    with open_bytes(source.path) as file:
        expander = Expander(file, source.compression)
        try:
            while not expander.ended:
                expander.more()
        except DamagedError as damage:
            return Damage(expander.verified, str(damage))
    return None
