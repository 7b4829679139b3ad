"""Counts that memory does not hold: tables go to disk as sorted runs, and the runs are merged.

All files are temporary ones without a name, where the system has them: nothing is left behind, even by a process that
is killed. Counts that are to stay are saved.
"""
from __future__ import annotations

import errno
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from threading import Lock
from typing import Any

from ...errors import check_integer
from ._count_records import RecordMerger
from ._count_table import CountTable
from .count_options import Cutting
from .counts import CountFile
from .table_file import PART, Records, SharedFile, head_of, write_table

FAN_IN = 64  # runs that are merged at a time
LEAST_MEMORY = 1 << 20  # for a table and for the buffers of a merge
MOST_MEMORY = 1 << 62  # more is as good as no bound


class Runs:
    """The sorted runs of a count: tables that are full are written, and FAN_IN runs merged to one.

    Several threads may add tables.

    Args:
        memory: Bytes for all tables and buffers.
        folder: The place of the temporary files; None for the system's.
    """

    def __init__(self, memory: int, folder: str | os.PathLike[str] | None) -> None:
        buffers = memory // 8
        self._tables = memory - buffers
        self._buffer = min(max(buffers // (FAN_IN + 2), 1 << 12), PART)
        self._folder = os.fspath(folder) if folder is not None else tempfile.gettempdir()
        if not os.path.isdir(self._folder):
            raise NotADirectoryError(errno.ENOTDIR, "spill_to is no folder", self._folder)
        self._lock = Lock()
        #: Runs by the number of merges behind them.
        self._levels: list[list[Records]] = [[]]

    def table_bytes(self, threads: int) -> int:
        """The share of the memory that each table has."""
        return max(1, self._tables // threads)

    def add(self, table: CountTable) -> None:
        """Write a table and clear it."""
        run = self._write(table.blocks(self._buffer), b"", lambda: (table.totals()[0], 0))
        table.clear()
        level = 0
        while level >= 0:
            with self._lock:
                if level == len(self._levels):
                    self._levels.append([])
                runs = self._levels[level]
                runs.append(run)
                full = runs[:FAN_IN] if len(runs) >= FAN_IN else []
                del runs[: len(full)]
            if not full:
                break
            run = self._merge(full)
            level += 1

    def result(self, cutting: Cutting, documents: int, min_count: int) -> CountFile:
        """The sum of all tables, without pre-tokens that occur less often; nothing can be added after."""
        runs = [run for level in self._levels for run in level]
        while len(runs) > FAN_IN:
            few = min(FAN_IN, len(runs) - FAN_IN + 1)
            runs = [*runs[few:], self._merge(runs[:few])]
        merger = RecordMerger([run.read(self._buffer, signed=True) for run in runs], min_count, self._buffer)
        records = self._write(merger, head_of(cutting), lambda: (merger.totals()[0], documents))
        _close(runs)
        return CountFile.from_records(records, cutting, (*merger.totals(), documents))

    def _merge(self, runs: list[Records]) -> Records:
        # counts may be negative until all are summed
        merger = RecordMerger([run.read(self._buffer, signed=True) for run in runs], 1, self._buffer, signed=True)
        merged = self._write(merger, b"", lambda: (merger.totals()[0], 0))
        _close(runs)
        return merged

    def _write(self, blocks: Iterable[bytes], head: bytes, ends: Callable[[], tuple[int, int]]) -> Records:
        with _disk_full(self._folder):
            file: Any = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115  # stays open
            try:
                start, checksum = write_table(file, head, blocks, ends)
                file.flush()
            except BaseException:
                with suppress(OSError):
                    file.close()
                raise
        return Records(SharedFile(file, f"a temporary file in {self._folder}"), start, checksum)


def _close(runs: list[Records]) -> None:
    for run in runs:
        run.file.close()


@contextmanager
def _disk_full(folder: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise
        message = f"{os.strerror(error.errno)}: counts that memory does not hold; give more, or spill_to another folder"
        raise OSError(error.errno, message, folder) from error


def memory_bytes(memory: str | int) -> int:
    """Bytes: a number, or a string such as "512MB", "1.5G" or "2 GiB" in powers of 1024.

    >>> memory_bytes("1.5G")
    1610612736
    """
    if isinstance(memory, str):
        match = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?) ?([kmgt]?)i?b?", memory.strip().lower(), re.ASCII)
        if match is None:
            raise ValueError(f"memory is a number of bytes, or such as '512MB' or '2G', not {memory!r}")
        memory = int(float(match[1]) * 1024 ** " kmgt".index(match[2] or " "))
    return min(check_integer("memory", memory, LEAST_MEMORY, " bytes"), MOST_MEMORY)
