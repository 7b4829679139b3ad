"""Bytes of a source from its start to its end, plain or compressed, in bounded memory.

Compressed data that ends early or is damaged is an error here, never a silent end of file.
"""
from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from functools import lru_cache
from operator import attrgetter
from typing import Any, BinaryIO, cast

from .expanding import EXPANDED, DamagedError, Expander
from .find import STDIN, Piece
from .stores import RemoteFile, found_here, open_bytes

__all__ = ["Stream", "Torn", "find_damage"]

BOM = b"\xef\xbb\xbf"

#: Bytes that are read of a pipe at a time, which gives few at once.
PIPE = 1 << 20

#: What stays the same while a file is read.
_same = attrgetter("st_size", "st_mtime_ns", "st_ino")


@dataclass(frozen=True)
class Torn:
    """The damage of a compressed file: the decompressed bytes of the whole members before it, and its cause."""

    offset: int
    cause: str


class Stream:
    """Decompressed bytes of a source, which must be the file that was found: ``offset`` counts them, ``raw_offset``
    bytes of the file.

    Args:
        ranges: Read some ranges, and not all bytes in order.
        torn: The damage of a compressed file, where reading ends.
    """

    def __init__(self, piece: Piece, *, ranges: bool = False, torn: Torn | None = None) -> None:
        self.name: str = piece.path
        self.once: bool = piece.once
        self.offset: int = 0
        self.file: BinaryIO | RemoteFile = _open(piece, ranges)
        self._expander = Expander(cast(BinaryIO, self.file), piece.compression) if piece.compression else None
        self._raw_offset = 0
        self._rest: bytes | memoryview = b""
        self._torn = torn
        self._status = None
        if not (self.once or isinstance(self.file, RemoteFile)):
            self._status = os.fstat(self.file.fileno())
        if isinstance(self.file, RemoteFile) or self._status is not None:  # else nothing is known of it
            opened = self.file.opened if self._status is None else found_here(self.name, self._status)
            if (opened.size, opened.version) != (piece.size, piece.version):
                self.file.close()
                differs = "version" if self._status is None else "time of change"
                raise ValueError(f"{self.name}: has changed since the run began (size or {differs} differs)")

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *exc: object) -> None:
        if self.name != STDIN:
            self.file.close()

    @property
    def verified(self) -> int:
        """Bytes of the stream that no damage found later can touch; in a compressed file, whole members."""
        return sys.maxsize if self._expander is None else self._expander.verified

    @property
    def raw_offset(self) -> int:
        return self._raw_offset if self._expander is None else self._expander.read

    def check_unchanged(self) -> None:
        """At the end of reading, check that the file is still the one that was opened, and has not been written to."""
        if isinstance(self.file, RemoteFile):
            self.file.check_unchanged()
        elif self._status is not None:
            for now in (os.fstat(self.file.fileno()), os.stat(self.name)):
                if _same(now) != _same(self._status):
                    raise ValueError(f"{self.name}: has changed while it was read (size, time of change or inode "
                                     "differs); start anew with overwrite=True")

    def read(self, size: int) -> bytes:
        """The next bytes, ``size`` at most; none only at the end. Damage at the next byte is a DamagedError."""
        if self._torn is not None:
            size = min(size, self._torn.offset - self.offset)
            if not size:
                raise DamagedError(self._torn.cause)
        data = self._rest or self._more(size)
        taken, self._rest = data, b""
        if len(data) > size:  # the rest is not copied: there may be a lot of it
            taken, self._rest = memoryview(data)[:size], memoryview(data)[size:]
        self.offset += len(taken)
        return bytes(taken)

    def peek(self, size: int) -> bytes:
        """The next ``size`` bytes, which stay to be read; fewer only at the end, and before damage."""
        held = bytes(self._rest)
        try:
            while len(held) < size and (more := self._more(size - len(held))):
                held += more
        except DamagedError:
            pass  # whoever reads on meets it
        self._rest = held
        return held[:size]

    def skip_mark(self) -> None:
        """At the start, skip a byte-order mark that is not damaged."""
        torn = self._torn is not None and self._torn.offset < len(BOM)
        if self.peek(len(BOM)) == BOM and not torn:
            self.read(len(BOM))
        elif self._expander is None and not self.once:
            self.seek(0)  # the next read is to give a whole block, which needs no copy

    def seek(self, offset: int) -> None:
        self._rest = b""
        self.offset = self._raw_offset = self.file.seek(offset)

    def skip(self, offset: int) -> None:
        """Move forward to an offset."""
        if self._expander is None and self.offset < offset:
            self.seek(offset)
        while self.offset < offset:
            if not self.read(offset - self.offset):
                raise ValueError(f"{self.name}: ends before the offset that was reached last time")

    def _more(self, size: int) -> bytes:
        """More decompressed bytes, about ``size`` of them; none at the end."""
        if self._expander is None:
            data = self.file.read(size)
            self._raw_offset += len(data)
            return data
        parts, held = [], 0
        while not (self._expander.ended or (held and held + EXPANDED > size)):  # what is more would be copied
            try:
                parts.append(self._expander.more())
            except DamagedError:
                if not held:
                    raise
                break  # the next call meets it
            held += len(parts[-1])
        return parts[0] if len(parts) == 1 else b"".join(parts)


def _open(piece: Piece, ranges: bool) -> Any:
    if piece.path == STDIN:
        return sys.stdin.buffer
    return open(piece.path, "rb", PIPE) if piece.once else open_bytes(piece.path, ranges=ranges)


@lru_cache(maxsize=64)
def find_damage(piece: Piece) -> Torn | None:
    """The damage of a compressed file. The checksum of a member stands at its end, and damaged data often decompresses
    for a while to what looks like text: so all of it is decompressed. The answer is cached."""
    assert piece.compression is not None
    if piece.once:
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
