"""Counts that memory does not hold: tables go to disk as sorted runs, and the runs are merged.

All files are temporary ones without a name, where the system has them: nothing is left behind, even by a process that
is killed. What is to stay is saved.
"""
from __future__ import annotations

import errno
import json
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import islice
from threading import Lock
from typing import Any, NamedTuple

from ..atomic import create_file
from ..errors import MissingExtraError, TrainingWarning, warn_caller
from ..patterns import Pattern
from ._count_records import RecordMerger, RecordReader
from ._count_table import CountTable
from .counts import PART, CountReader, PretokenCounts, SharedFile, head_of, training_memory, write_records
from .options import check_integer

__all__ = ["CountFile", "LeftOut", "Runs", "memory_bytes"]

ROWS = 1 << 16  # of Parquet, written at a time
FAN_IN = 64  # runs that are merged at a time
LEAST_MEMORY = 1 << 20  # for a table and for the buffers of a merge
MOST_MEMORY = 1 << 62  # what is more is as good as no bound
MOST_LEFT_OUT = 1 << 31  # min_count: sums of smaller counts stay far below 2^63


class LeftOut(NamedTuple):
    """What learning from the more frequent pre-tokens does not see.

    Args:
        different: Pre-tokens.
        occurrences: Of all of them.
        pair_error: No pair of tokens occurs more often than this in them. So as long as the pair that is learned leads
            by more, it is the one that all counts would give.
    """

    different: int
    occurrences: int
    pair_error: int


class _Summary(NamedTuple):
    """What a pass over the records finds."""

    totals: tuple[int, int, int]
    checksum: str
    rare: list[tuple[int, int]]
    documents: int
    pair_error: int


class _Place(NamedTuple):
    """Where records are: in a file, from an offset on, and the CRC-32 of what is before."""

    file: SharedFile
    start: int
    checksum: int

    def records(self, buffer_bytes: int = PART, signed: bool = False) -> RecordReader:
        return self.file.records(self.start, self.checksum, buffer_bytes, signed)


class CountFile:
    """Pre-token counts that stay on disk: what :func:`bpetite.count_pretokens` gives with `memory`, or a table file.

    It is an iterable of (pre-token, count) in order of bytes, read as a stream and as often as wanted; it has the
    settings and the totals of :class:`bpetite.PretokenCounts`, and training takes it in the place of those.

    Args:
        path: A table file, as :meth:`bpetite.PretokenCounts.save` writes it.

    Raises:
        FormatError: The file is no table file; or, when it is read, damaged or cut short.

    >>> from bpetite import count_pretokens
    >>> counts = count_pretokens(["the cat", "the dog"], memory="16MB")
    >>> dict(counts)
    {b' cat': 1, b' dog': 1, b'the': 2}
    >>> dict(counts.at_least(2)), counts.at_least(2).left_out
    ({b'the': 2}, LeftOut(different=2, occurrences=2, pair_error=1))
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        reader = CountReader(path)
        self._open(_Place(reader.file, reader.start, reader.checksum), reader.settings)

    def _open(self, place: _Place, settings: Mapping[str, Any], min_count: int = 1) -> None:
        self._place = place
        self._settings = dict(settings)
        #: Pre-tokens that occur less often are left out.
        self.min_count: int = min_count
        self.pattern: Pattern = settings["pattern"]
        self.normalization: str | None = settings["normalization"]
        self.special_tokens: tuple[str, ...] = tuple(settings["special_tokens"])
        self.unicode: str | None = settings.get("unicode")
        self._summary: _Summary | None = None
        self._all: CountFile | None = None  # without those that are left out; None where none are

    def records(self) -> RecordReader:
        """All records, the rare ones too, from the first one on."""
        return self._place.records()

    def __iter__(self) -> Iterator[tuple[bytes, int]]:
        least = self.min_count
        return (pair for pair in self.records() if pair[1] >= least)

    def __len__(self) -> int:
        return self._found().totals[0]

    def __repr__(self) -> str:
        return f"CountFile({len(self)} different pre-tokens, {self.total} in all, {self.documents} documents)"

    def __reduce__(self) -> Any:
        raise TypeError("a CountFile belongs to its process: save it, and give the other process the path")

    def _found(self) -> _Summary:
        """What a pass over the records finds; there is one, the first time that it is asked for."""
        if self._summary is None:
            records = self.records()
            merger = RecordMerger([records], self.min_count)
            for _ in merger:
                pass
            self._summary = _Summary(
                merger.totals(), merger.checksum(), merger.rare(), records.documents, merger.pair_error()
            )
        return self._summary

    @property
    def documents(self) -> int:
        """How many texts were counted."""
        return self._found().documents

    @property
    def total(self) -> int:
        """The sum of all counts."""
        return self._found().totals[2]

    @property
    def size(self) -> int:
        """Bytes of the different pre-tokens together."""
        return self._found().totals[1]

    @property
    def checksum(self) -> str:
        """32 hex digits that are equal for equal counts."""
        return self._found().checksum

    @property
    def training_memory(self) -> int:
        """About how many bytes learning from these counts takes."""
        return training_memory(len(self), self.size)

    @property
    def left_out(self) -> LeftOut:
        """What `min_count` leaves out."""
        here, all_of_it = self._found(), (self._all or self)._found()
        return LeftOut(
            all_of_it.totals[0] - here.totals[0], all_of_it.totals[2] - here.totals[2], here.pair_error
        )

    def summary(self) -> str:
        """One line for people: what was found and what learning will need."""
        missing = f", without {self.left_out.different:,} below {self.min_count}" if self.min_count > 1 else ""
        return (
            f"{self.documents:,} documents, {self.total:,} pre-tokens, {len(self):,} different "
            f"({self.size / 1e6:,.1f} MB{missing}); learning takes about {self.training_memory / 1e6:,.0f} MB"
        )

    def at_least(self, min_count: int) -> CountFile:
        """The same counts without pre-tokens that occur less often; :attr:`left_out` says what that means.

        Args:
            min_count: 1 for all of them.
        """
        number = check_integer("min_count", min_count, 1)
        if number > MOST_LEFT_OUT:
            raise ValueError(f"min_count must be at most {MOST_LEFT_OUT}, not {number}")
        counts = CountFile.__new__(CountFile)
        counts._open(self._place, self._settings, number)
        counts._all = self._all or self
        return counts

    def within(self, memory: str | int) -> CountFile:
        """As many of these counts as learning has room for: :meth:`at_least` the smallest number that suffices.

        Args:
            memory: Bytes that :attr:`training_memory` may be, see :func:`memory_bytes`.

        Raises:
            ValueError: Even those that occur 1,000 times do not suffice.

        Warns:
            TrainingWarning: Some are left out; the message says how many and how far a pair's count can be off.
        """
        room = memory_bytes(memory)
        everything = (self._all or self)._found()
        different, size, total = everything.totals
        for least, (with_it, bytes_with_it) in enumerate(everything.rare):
            # what occurs `least` times goes only after it was found to be too much
            if training_memory(different, size) <= room and least >= self.min_count:
                break
            different -= with_it
            size -= bytes_with_it
        else:
            raise ValueError(
                f"learning from pre-tokens that occur {least} times takes {training_memory(different, size):,} bytes, "
                f"more than {room:,}: give more memory"
            )
        counts = self.at_least(least)
        if least > 1:
            missing = counts.left_out
            warn_caller(
                f"learning has no room for {missing.different:,} pre-tokens that occur less than {least} times, "
                f"{missing.occurrences / total:.2%} of the text's: the count of a pair is at most "
                f"{missing.pair_error:,} too low; with more memory nothing is left out",
                TrainingWarning,
            )
        return counts

    def load(self) -> PretokenCounts:
        """These counts in memory."""
        return PretokenCounts(self, documents=self.documents, **self._settings)

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write a table file, the one that :meth:`bpetite.PretokenCounts.save` writes for the same counts.

        Raises:
            FileExistsError: There is such a file and `overwrite` is false.
        """
        records = self.records()
        merger = RecordMerger([records], self.min_count)
        with create_file(path, overwrite=overwrite) as file:
            write_records(file, head_of(self._settings), merger, lambda: (merger.totals()[0], records.documents))

    def to_parquet(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write a Parquet file for other programs, in order of bytes: the columns ``pretoken`` (binary) and ``count``
        (int64); what the counts were made with is JSON under "bpetite" in the metadata of the schema.

        Raises:
            MissingExtraError: ``pyarrow`` is not installed (extra ``corpus``).
            FileExistsError: There is such a file and `overwrite` is false.
        """
        try:
            import pyarrow as pa
            import pyarrow.parquet as pq
        except ImportError:
            raise MissingExtraError("writing .parquet", "pyarrow", "corpus") from None
        types = {"pretoken": pa.binary(), "count": pa.int64()}
        schema = pa.schema(types.items(), {"bpetite": json.dumps(self._settings)})
        pairs = iter(self)
        with create_file(path, overwrite=overwrite) as file, pq.ParquetWriter(file, schema) as writer:
            while rows := list(islice(pairs, ROWS)):
                columns = [pa.array(column, kind) for column, kind in zip(zip(*rows), types.values(), strict=True)]
                writer.write_batch(pa.record_batch(columns, schema=schema))

    def close(self) -> None:
        """Give the file back; counts that were not saved are gone."""
        self._place.file.close()

    def __enter__(self) -> CountFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Runs:
    """The sorted runs of a count: tables that are full are written, and FAN_IN runs merged to one.

    Several threads may add tables.

    Args:
        memory: Bytes for tables and buffers together.
        folder: Of the temporary files; None for the system's.
    """

    def __init__(self, memory: int, folder: str | os.PathLike[str] | None) -> None:
        buffers = memory // 8
        self._tables = memory - buffers
        self._buffer = min(max(buffers // (FAN_IN + 2), 1 << 12), PART)
        self._folder = os.fspath(folder) if folder is not None else tempfile.gettempdir()
        if not os.path.isdir(self._folder):
            raise NotADirectoryError(errno.ENOTDIR, "spill_to is no folder", self._folder)
        self._lock = Lock()
        #: By how often they have been merged.
        self._levels: list[list[_Place]] = [[]]

    def table_bytes(self, threads: int) -> int:
        """What each table has of the memory."""
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

    def result(self, settings: Mapping[str, Any], documents: int) -> CountFile:
        """All that was added; nothing can be added after."""
        runs = [run for level in self._levels for run in level]
        while len(runs) > FAN_IN:
            few = min(FAN_IN, len(runs) - FAN_IN + 1)
            runs = [*runs[few:], self._merge(runs[:few])]
        merger = RecordMerger(self._readers(runs), 1, self._buffer)
        place = self._write(merger, head_of(settings), lambda: (merger.totals()[0], documents))
        _close(runs)
        counts = CountFile.__new__(CountFile)
        counts._open(place, settings)
        counts._summary = _Summary(merger.totals(), merger.checksum(), merger.rare(), documents, 0)
        return counts

    def _merge(self, runs: list[_Place]) -> _Place:
        merger = RecordMerger(self._readers(runs), 1, self._buffer, signed=True)
        merged = self._write(merger, b"", lambda: (merger.totals()[0], 0))
        _close(runs)
        return merged

    def _readers(self, runs: list[_Place]) -> list[RecordReader]:
        return [run.records(self._buffer, signed=True) for run in runs]

    def _write(self, blocks: Iterable[bytes], head: bytes, ends: Callable[[], tuple[int, int]]) -> _Place:
        with _disk_full(self._folder):
            file: Any = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115  # stays open
            try:
                start, checksum = write_records(file, head, blocks, ends)
                file.flush()
            except BaseException:
                with suppress(OSError):
                    file.close()
                raise
        return _Place(SharedFile(file, f"a temporary file in {self._folder}"), start, checksum)


def _close(runs: list[_Place]) -> None:
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
        found = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?) ?([kmgt]?)i?b?", memory.strip().lower(), re.ASCII)
        if found is None:
            raise ValueError(f"memory is a number of bytes, or such as '512MB' or '2G', not {memory!r}")
        memory = int(float(found[1]) * 1024 ** " kmgt".index(found[2] or " "))
    return min(check_integer("memory", memory, LEAST_MEMORY, " bytes"), MOST_MEMORY)
