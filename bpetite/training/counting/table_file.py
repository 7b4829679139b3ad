"""Files of sorted counts: their head, their records and their end.

Layout: the line ``bpetite counts 1``, one line of JSON with the options of counting; then for each pre-token, by bytes
ascending, u32 length, u64 count, the bytes; a length of 0, u64 different pre-tokens, u64 documents and the u32 CRC-32
of everything before it. Numbers are little-endian.
"""
from __future__ import annotations

import json
import struct
import weakref
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path
from threading import Lock
from typing import BinaryIO, NamedTuple

from ...errors import FormatError
from ...splitting.pattern.unicode_data import UNICODE, check_unicode
from ._count_records import RecordReader
from .count_options import Cutting

MAGIC = b"bpetite counts 1\n"
TRAILER = struct.Struct("<IQQ")  # 0, different pre-tokens, documents; the CRC-32 of all before it follows
MAX_DOCUMENTS = 2**64 - 1
PART = 1 << 20  # bytes read or written at a time


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

    def read(self, offset: int, buffer: memoryview) -> int:
        """Fill the buffer from an offset; the number of bytes read."""
        with self._lock:
            self.file.seek(offset)
            return self.file.readinto(buffer)  # type: ignore[attr-defined, no-any-return]


class Records(NamedTuple):
    """The records of a file: where they begin, and the CRC-32 of the bytes before them."""

    file: SharedFile
    start: int
    checksum: int

    def read(self, buffer_bytes: int = PART, signed: bool = False) -> RecordReader:
        """A reader before the first record."""
        return RecordReader(self.file.read, self.file.name, self.start, self.checksum, buffer_bytes, signed)


def head_of(cutting: Cutting) -> bytes:
    """The first two lines of a file."""
    return MAGIC + json.dumps({**vars(cutting), "unicode": UNICODE}, ensure_ascii=True, sort_keys=True).encode() + b"\n"


def open_table(path: Path) -> tuple[Records, Cutting]:
    """The records of a file and the options that they were counted with.

    Raises:
        FormatError: The file does not begin as tables of counts do.
    """
    file = path.open("rb")
    shared = SharedFile(file, path)
    magic = file.read(len(MAGIC))
    if magic != MAGIC:
        raise FormatError(f"{path}: not a table of pre-token counts (begins with {magic[:20]!r})")
    line = file.readline(1 << 24)
    try:
        options = json.loads(line)
        stages = options["pattern"]
        if isinstance(stages, list):
            options["pattern"] = stages = tuple(stages)
        for stage in stages if isinstance(stages, tuple) else () if stages is None else (stages,):
            if not isinstance(stage, str):
                raise TypeError(f"pattern is {stages!r}")
        if not isinstance(options["special_tokens"], list):
            raise TypeError(f"special_tokens is {options['special_tokens']!r}")
        check_unicode(options.get("unicode"))
        cutting = Cutting.of(
            pattern=options["pattern"], special_tokens=options["special_tokens"],
            normalization=options["normalization"],
        )  # fmt: skip
    except (ValueError, KeyError, TypeError, RecursionError) as bad:
        raise FormatError(f"{path}: line 2 should hold the options of counting as JSON: {bad}") from None
    return Records(shared, len(magic) + len(line), zlib.crc32(line, zlib.crc32(magic))), cutting


def write_table(
    file: BinaryIO, head: bytes, blocks: Iterable[bytes], ends: Callable[[], tuple[int, int]]
) -> tuple[int, int]:
    """Write the head, blocks of records and the end.

    Args:
        ends: Called when all blocks have been written: the number of records and of documents.

    Returns:
        The offset of the records, and the CRC-32 of the head.
    """
    file.write(head)
    checksum = start = zlib.crc32(head)
    for block in blocks:
        checksum = zlib.crc32(block, checksum)
        file.write(block)
    different, documents = ends()
    if documents > MAX_DOCUMENTS:
        raise OverflowError(f"the documents are past 2^64 - 1: {documents}")
    end = TRAILER.pack(0, different, documents)
    file.write(end + struct.pack("<I", zlib.crc32(end, checksum)))
    return len(head), start
