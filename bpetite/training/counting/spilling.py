"""Counts that memory does not hold go to disk, to files by a hash of the pre-token; each file is added up on its own.

All files are temporary ones without a name, where the system has them: nothing is left behind, even by a process that
is killed. Counts that are to stay are saved.
"""
from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any
from zlib import crc32

from ...core._threads import in_order
from ...errors import amount_in, check_integer
from ._count_table import PARTITIONS, CountTable
from .count_file import READ_SIZE, Extent, SharedFile, summed, write_table
from .counts import CountFile
from .cutting import Cutting

LEAST_MEMORY = 1 << 20  # for a table
MOST_MEMORY = 1 << 62  # more is as good as no bound
BUFFER = 1 << 10  # bytes of a file that is on disk


class Partitions:
    """Counts on disk, in a file for each partition. Several threads may add tables.

    Args:
        memory: Bytes for all tables and buffers.
        folder: The place of the temporary files; None for the system's.
    """

    def __init__(self, memory: int, folder: str | os.PathLike[str] | None) -> None:
        self._memory = memory - memory // 8
        self._buffered = max(1, memory // 8 // PARTITIONS)  # bytes of each file that are not on disk
        self._folder = os.fspath(folder) if folder is not None else tempfile.gettempdir()
        if not os.path.isdir(self._folder):
            raise NotADirectoryError(errno.ENOTDIR, "spill_to is no folder", self._folder)
        self._lock = Lock()
        self._extents = [Extent(self._temporary(), 0, 0, 0) for _ in range(PARTITIONS)]

    def table_bytes(self, threads: int) -> int:
        """The share of the memory that each table has."""
        return max(1, self._memory // threads)

    def add(self, table: CountTable) -> None:
        """Append the counts of a table to the files, and clear it."""
        for number, block in table.blocks(READ_SIZE):
            with self._lock, _disk_full(self._folder):
                file, start, size, checksum = self._extents[number]
                file.file.write(block)
                self._extents[number] = Extent(file, start, size + len(block), crc32(block, checksum))
        table.clear()

    def result(self, tables: list[CountTable], cutting: Cutting, documents: int, min_count: int) -> CountFile:
        """The sum of these tables and all that were added, without pre-tokens that occur less often. Empties `tables`;
        do not call :meth:`add` afterwards."""
        summed_tables: Iterable[CountTable] = tables
        if len(tables) > 1 or any(extent.size for extent in self._extents):
            for _ in in_order(self.add, iter(tables), len(tables)):
                pass
            tables.clear()  # the sum takes their memory
            summed_tables = summed([[extent] for extent in self._extents], self._memory)
        with _disk_full(self._folder):
            file = self._temporary()
            write_table(file.file, summed_tables, cutting, documents, min_count)
            counts = CountFile.of(file)
        for extent in self._extents:
            extent.file.close()
        return counts

    def _temporary(self) -> SharedFile:
        file: Any = tempfile.SpooledTemporaryFile(  # noqa: SIM115  # stays open
            self._buffered, dir=self._folder, buffering=BUFFER
        )
        return SharedFile(file, f"a temporary file in {self._folder}")


@contextmanager
def _disk_full(folder: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise
        way_out = "give more memory, or spill_to another folder"
        message = f"{os.strerror(error.errno)}: counts that memory does not hold; {way_out}"
        raise OSError(error.errno, message, folder) from error


def memory_bytes(memory: str | int) -> int:
    """Bytes: a number, or a string such as "512MB", "1.5G" or "2 GiB" in powers of 1024.

    >>> memory_bytes("1.5G")
    1610612736
    """
    if isinstance(memory, str):
        number = amount_in(memory, 1024)
        if number is None:
            raise ValueError(f"memory is a number of bytes, or such as '512MB' or '2G', not {memory!r}")
        memory = number
    return min(check_integer("memory", memory, LEAST_MEMORY, " bytes"), MOST_MEMORY)
