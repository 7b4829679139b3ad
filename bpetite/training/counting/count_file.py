"""Count files: 64 partitions of records, and a description at the end.

Layout: the line ``bpetite counts 2``; records (count_records.h) in the order of their stable hashes, whose topmost 6
bits are the number of the partition; one line of JSON with the options of counting, the totals, and the size and CRC-32
of each partition; u32 bytes of that line, u32 CRC-32 of both lines. Numbers are little-endian.
"""
from __future__ import annotations

import json
import os
import struct
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from threading import Lock
from typing import Any, BinaryIO, NamedTuple
from zlib import crc32

from ...errors import FormatError
from ...splitting.pattern.unicode_data import UNICODE, check_unicode
from ._count_table import PARTITIONS, CountTable
from ._record_reader import RecordReader
from .cutting import Cutting

NAME = b"bpetite counts "
MAGIC = NAME + b"2\n"
END = struct.Struct("<II")
MOST_DESCRIPTION = 1 << 24  # bytes
HASHES = 2**64
WIDTH = HASHES // PARTITIONS  # hashes of a partition
READ_SIZE = 1 << 17  # bytes read or written at a time


class SharedFile:
    """A file that several readers read, in several threads too; closed with the last of them.

    Args:
        file: Open for reading.
        name: For messages.
    """

    def __init__(self, file: BinaryIO, name: object) -> None:
        self.file = file
        self.name = name
        self._lock = Lock()
        # not __del__: in a cycle of garbage the file may be finalized first, which warns that nobody closed it
        self.close: Callable[[], object] = weakref.finalize(self, file.close)

    def read(self, offset: int, size: int) -> bytes:
        """Up to `size` bytes from an offset."""
        with self._lock:
            self.file.seek(offset)
            return self.file.read(size)

    def size(self) -> int:
        with self._lock:
            return self.file.seek(0, os.SEEK_END)


class Extent(NamedTuple):
    """Whole records in a file, and their CRC-32."""

    file: SharedFile
    start: int
    size: int
    checksum: int

    def records(self) -> RecordReader:
        """A reader before the first record."""
        return RecordReader(self._parts(), self.file.name)

    def _parts(self) -> Iterator[bytes]:
        at, end = self.start, self.start + self.size
        checksum = 0
        while at < end:
            part = self.file.read(at, min(READ_SIZE, end - at))
            at += len(part)
            checksum = crc32(part, checksum)
            if not part or (at == end and checksum != self.checksum):
                raise FormatError(f"{self.file.name}: damaged between byte {self.start} and {end}")
            yield part


class Totals(NamedTuple):
    """The numbers of different pre-tokens, of their bytes, of pre-tokens in all, and of documents."""

    different: int
    size: int
    total: int
    documents: int


def summed(partitions: Sequence[Iterable[Extent]], memory: int) -> Iterator[CountTable]:
    """Add up the records of each partition, one after the other.

    Args:
        partitions: Of each partition all records, in any order.
        memory: Bytes for the table; a partition that needs more is read several times.

    Yields:
        A table of neighbouring stable hashes, in ascending order. It changes when the next one is asked for.
    """
    table = CountTable(memory)
    low, width = 0, WIDTH
    while low < HASHES:
        table.clear()
        hashes = (low, low + width - 1) if width < WIDTH else (0, HASHES - 1)
        if all(table.add_all(extent.records(), *hashes) for extent in partitions[low // WIDTH]):
            yield table
            low += width
            if low % (2 * width) == 0 and width < WIDTH:
                width *= 2
        else:
            width //= 2


def write_table(
    file: BinaryIO, tables: Iterable[CountTable], cutting: Cutting, documents: int, min_count: int = 1
) -> None:
    """Write a count file, without those below `min_count`. IN: tables as :func:`summed` gives them."""
    sizes, checksums = [0] * PARTITIONS, [0] * PARTITIONS
    totals = [0, 0, 0]
    file.write(MAGIC)
    for table in tables:
        if min_count > 1:
            table.drop_below(min_count)
        totals = [one + more for one, more in zip(totals, table.totals(), strict=True)]
        for number, block in table.blocks(READ_SIZE):
            file.write(block)
            sizes[number] += len(block)
            checksums[number] = crc32(block, checksums[number])
    description = {
        "pattern": cutting.pattern, "special_tokens": cutting.special_tokens, "normalization": cutting.normalization,
        "unicode": UNICODE, "totals": [*totals, documents],
        "partitions": list(zip(sizes, checksums, strict=True)),
    }  # fmt: skip
    line = json.dumps(description, ensure_ascii=True, sort_keys=True).encode() + b"\n"
    file.write(line + END.pack(len(line), crc32(line, crc32(MAGIC))))


def open_table(file: SharedFile) -> tuple[list[Extent], Cutting, Totals]:
    """The partitions of a file, the options that its texts were counted with, and totals.

    Raises:
        FormatError: It is no count file, of another version, or its description is damaged.
    """
    magic = file.read(0, len(MAGIC))
    if magic.startswith(NAME) and magic != MAGIC:
        version = magic[len(NAME) :].decode("latin-1").strip()
        raise FormatError(f"{file.name}: counts of version {version}; this release reads version 2: count again")
    if magic != MAGIC:
        raise FormatError(f"{file.name}: not a file of pre-token counts (begins with {magic[:20]!r})")
    end = file.size() - END.size
    size, checksum = END.unpack(file.read(end, END.size)) if end >= len(MAGIC) else (0, 0)
    line = file.read(end - size, size) if size <= min(end - len(MAGIC), MOST_DESCRIPTION) else b""
    if crc32(line, crc32(MAGIC)) != checksum:
        raise FormatError(f"{file.name}: damaged: its description is not at its end")
    try:
        found = json.loads(line)
        check_unicode(found.get("unicode"))
        start, extents = len(MAGIC), []
        for bytes_of_one, checksum in found["partitions"]:
            extents.append(Extent(file, start, bytes_of_one, checksum))
            start += bytes_of_one
        if len(extents) != PARTITIONS or start != end - size:
            raise ValueError(f"{len(extents)} partitions end at byte {start}")
        return extents, _read_cutting(found), Totals(*found["totals"])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as bad:
        raise FormatError(f"{file.name}: the description at its end is not one: {bad}") from None


def _read_cutting(found: Any) -> Cutting:
    pattern = tuple(found["pattern"]) if isinstance(found["pattern"], list) else found["pattern"]
    for stage in pattern if isinstance(pattern, tuple) else () if pattern is None else (pattern,):
        if not isinstance(stage, str):
            raise TypeError(f"pattern is {pattern!r}")
    if not isinstance(found["special_tokens"], list):
        raise TypeError(f"special_tokens is {found['special_tokens']!r}")
    return Cutting.of(
        pattern=pattern, special_tokens=found["special_tokens"], normalization=found["normalization"]
    )  # fmt: skip
