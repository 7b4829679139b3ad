"""Pre-tokens and how often each occurs: what counting gives, what training takes, and the file in between.

Counts made on many machines add up to what one machine would have counted: a large corpus can be counted where it is
stored, and its merges learned on one machine.
"""
from __future__ import annotations

import contextlib
import json
import os
import struct
import weakref
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any, BinaryIO

from .. import patterns
from ..atomic import create_file
from ..errors import FormatError
from ..patterns import Pattern, PatternLike
from ..splitting.pattern.unicode_version import check_unicode
from ._count_records import RecordMerger, RecordReader
from ._count_table import CountTable

__all__ = ["CountReader", "PretokenCounts", "merge_count_files"]

MAGIC = b"bpetite counts 1\n"
TRAILER = struct.Struct("<IQQ")  # 0, different pre-tokens, documents; the CRC-32 of all before it follows
MAX_COUNT = 2**63 - 1
MAX_DOCUMENTS = 2**64 - 1
PART = 1 << 20  # bytes read or written at a time


class PretokenCounts(Mapping[bytes, int]):
    """An immutable mapping from the bytes of a pre-token to a count of 1..2^63-1, in order of bytes.

    Args:
        counts: A mapping or pairs; a pre-token that comes twice adds up, a count of 0 is left out.
        pattern, normalization, special_tokens, unicode: How the text was split. Counts that differ here do not add up,
            and training refuses a pattern, a normalization or a version of Unicode that contradicts them.
        documents: How many texts were counted.

    Raises:
        TypeError: A pre-token that is not bytes, a count that is no int.
        ValueError: A negative count or an empty pre-token.
        OverflowError: A count past 2^63 - 1.

    >>> counts = PretokenCounts({b" the": 3, b"cat": 1}) + PretokenCounts({b"cat": 1})
    >>> dict(counts)
    {b' the': 3, b'cat': 2}
    """

    __slots__ = ("_table", "_totals", "documents", "normalization", "pattern", "special_tokens", "unicode")

    def __init__(
        self,
        counts: Mapping[bytes, int] | Iterable[tuple[bytes, int]] = (),
        *,
        pattern: PatternLike = patterns.GPT2,
        normalization: str | None = None,
        special_tokens: Sequence[str] = (),
        documents: int = 0,
        unicode: str | None = None,
    ) -> None:
        self._table = CountTable()
        self._totals: tuple[int, int, int] | None = None
        self.pattern: Pattern = patterns.resolve(pattern)
        self.normalization: str | None = normalization
        self.special_tokens: tuple[str, ...] = tuple(special_tokens)
        self.documents: int = documents
        self.unicode: str | None = unicode
        for pretoken, count in counts.items() if isinstance(counts, Mapping) else counts:
            self._table.add(*check_count(pretoken, count))

    @classmethod
    def from_table(cls, table: CountTable, settings: Mapping[str, Any], documents: int) -> PretokenCounts:
        """Counts that own a table, which must not change any more; settings are the other keyword arguments."""
        counts = cls(documents=documents, **settings)
        counts._table = table
        return counts

    def __getitem__(self, pretoken: bytes) -> int:
        count = self._table.get(pretoken) if isinstance(pretoken, bytes) else 0
        if count == 0:
            raise KeyError(pretoken)
        return count

    def __iter__(self) -> Iterator[bytes]:
        return (pretoken for pretoken, _ in self._table.sorted())

    def __len__(self) -> int:
        return self._sums()[0]

    def __add__(self, other: PretokenCounts) -> PretokenCounts:
        """Both together. OverflowError where a count would pass 2^63 - 1."""
        if not isinstance(other, PretokenCounts):
            return NotImplemented
        _check_same(self._settings(), other._settings(), "these counts", "those added")
        table = CountTable()
        table.update(self._table)
        table.update(other._table)
        return self.from_table(table, self._settings(), self.documents + other.documents)

    def __repr__(self) -> str:
        return f"PretokenCounts({len(self)} different pre-tokens, {self.total} in all, {self.documents} documents)"

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(PretokenCounts, documents=self.documents, **self._settings()), (list(self._table.sorted()),)

    @property
    def total(self) -> int:
        """The sum of all counts."""
        return self._sums()[2]

    @property
    def size(self) -> int:
        """Bytes of the different pre-tokens together."""
        return self._sums()[1]

    @property
    def training_memory(self) -> int:
        """About how many bytes learning from these counts takes, beyond what the counts themselves hold."""
        return training_memory(len(self), self.size)

    def summary(self) -> str:
        """One line for people: what was found and what learning will need."""
        return (
            f"{self.documents:,} documents, {self.total:,} pre-tokens, {len(self):,} different "
            f"({self.size / 1e6:,.1f} MB); learning takes about {self.training_memory / 1e6:,.0f} MB"
        )

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write a table file: sorted, the same bytes for the same counts. A partial file is never left behind.

        Layout: the line ``bpetite counts 1``, one line of JSON with the settings; then for each pre-token, by bytes
        ascending, u32 length, u64 count, the bytes; a length of 0, u64 different pre-tokens, u64 documents and the
        u32 CRC-32 of everything before it. Numbers are little-endian.

        Raises:
            FileExistsError: There is such a file and `overwrite` is false.
        """
        with create_file(path, overwrite=overwrite) as file:
            blocks = self._table.blocks(PART)
            write_records(file, head_of(self._settings()), blocks, lambda: (len(self), self.documents))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> PretokenCounts:
        """Read a table file.

        Raises:
            FormatError: The file is no table file, damaged or cut short.
        """
        with CountReader(path) as reader:
            table = CountTable()
            records = reader.records()
            records.add_to(table)
            return cls.from_table(table, reader.settings, records.documents)

    def _settings(self) -> dict[str, Any]:
        settings = {
            "pattern": self.pattern,
            "normalization": self.normalization,
            "special_tokens": list(self.special_tokens),
        }
        return settings if self.unicode is None else settings | {"unicode": self.unicode}

    def _sums(self) -> tuple[int, int, int]:
        if self._totals is None:
            self._totals = self._table.totals()
        return self._totals


def table_of(counts: Mapping[bytes, int]) -> CountTable:
    """The table of counts, which must not change; :class:`PretokenCounts` lists the errors."""
    return (counts if isinstance(counts, PretokenCounts) else PretokenCounts(counts))._table


def training_memory(different: int, size: int) -> int:
    """About how many bytes learning from so many pre-tokens of so many bytes together takes."""
    # For each byte a slot and about one noted stretch, for each pre-token a stretch and a sentinel, and the pairs.
    return 12 * size + 60 * different + (16 << 20)


def check_count(pretoken: object, count: object) -> tuple[bytes, int]:
    """A pre-token and its count, checked; :class:`PretokenCounts` lists the errors."""
    if not isinstance(pretoken, bytes):
        raise TypeError(f"a pre-token is bytes, not {pretoken!r}; encode str as UTF-8")
    if not pretoken:
        raise ValueError("a pre-token must not be empty")
    try:
        number = count.__index__()  # type: ignore[attr-defined]
    except AttributeError:
        raise TypeError(f"the count of {pretoken!r} must be an int, not {count!r}") from None
    if number < 0:
        raise ValueError(f"the count of {pretoken!r} is negative: {number}")
    if number > MAX_COUNT:
        raise OverflowError(f"the count of {pretoken!r} is past 2^63 - 1: {number}")
    return pretoken, number


def merge_count_files(
    paths: Iterable[str | os.PathLike[str]], out: str | os.PathLike[str], *, overwrite: bool = False
) -> None:
    """Add up table files into one. They are read and written a record at a time, so their size does not matter.

    Raises:
        ValueError: Files counted with different settings, or no file.
        FormatError: A file is no table file, damaged or cut short.
        OverflowError: A count would pass 2^63 - 1, or the documents 2^64 - 1.
    """
    with contextlib.ExitStack() as stack:
        readers = [stack.enter_context(CountReader(path)) for path in paths]
        if not readers:
            raise ValueError("no count files to merge")
        for reader in readers[1:]:
            _check_same(readers[0].settings, reader.settings, str(readers[0].path), str(reader.path))
        records = [reader.records(PART // 4) for reader in readers]
        merger = RecordMerger(records)
        with create_file(out, overwrite=overwrite) as file:
            ends = lambda: (merger.totals()[0], sum(one.documents for one in records))  # noqa: E731
            write_records(file, head_of(readers[0].settings), merger, ends)


class CountReader:
    """A table file open for reading: its settings, and its records as often as they are asked for."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path: Path = Path(path)
        file = self.path.open("rb")
        self.file: SharedFile = SharedFile(file, self.path)
        self.settings: dict[str, Any] = self._read_head(file)

    def __enter__(self) -> CountReader:
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()

    def __iter__(self) -> Iterator[tuple[bytes, int]]:
        return iter(self.records())

    def records(self, buffer_bytes: int = PART) -> RecordReader:
        """The records from the first one on, read so many bytes at a time."""
        return self.file.records(self.start, self.checksum, buffer_bytes)

    def _read_head(self, file: BinaryIO) -> dict[str, Any]:
        magic = file.read(len(MAGIC))
        if magic != MAGIC:
            raise FormatError(f"{self.path}: not a table of pre-token counts (begins with {magic[:20]!r})")
        line = file.readline(1 << 24)
        try:
            settings = json.loads(line)
            pattern = settings["pattern"]
            settings["pattern"] = tuple(pattern) if isinstance(pattern, list) else pattern
            known = {name: settings[name] for name in ("pattern", "normalization", "special_tokens")}
            if "unicode" in settings:
                check_unicode(settings["unicode"])
                known["unicode"] = settings["unicode"]
        except (ValueError, KeyError, TypeError, RecursionError) as bad:
            raise FormatError(f"{self.path}: line 2 should hold the settings as JSON: {bad}") from None
        _check_settings(known, self.path)
        #: CRC-32 of what is before the records, and where they begin.
        self.checksum: int = zlib.crc32(line, zlib.crc32(magic))
        self.start: int = len(magic) + len(line)
        return known


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
        # not __del__: in a cycle of garbage that of the file may come first, which warns that nobody closed it
        self.close: Callable[[], object] = weakref.finalize(self, file.close)

    def read(self, offset: int, buffer: memoryview) -> int:
        """Fill the buffer from an offset; how many bytes there were."""
        with self._lock:
            self.file.seek(offset)
            return self.file.readinto(buffer)  # type: ignore[attr-defined, no-any-return]

    def records(self, start: int, checksum: int, buffer_bytes: int = PART, signed: bool = False) -> RecordReader:
        """The records from an offset on, where CRC-32 of all before them is `checksum`."""
        return RecordReader(self.read, self.name, start, checksum, buffer_bytes, signed)


def head_of(settings: Mapping[str, Any]) -> bytes:
    """What a table file begins with."""
    known = {name: value for name, value in settings.items() if value is not None or name != "unicode"}
    return MAGIC + json.dumps(known, ensure_ascii=True, sort_keys=True).encode() + b"\n"


def write_records(
    file: BinaryIO, head: bytes, blocks: Iterable[bytes], ends: Callable[[], tuple[int, int]]
) -> tuple[int, int]:
    """Write a table file: its head, blocks of records, the trailer.

    Args:
        ends: Called when all blocks have been written: how many records and documents there are.

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


def _check_settings(settings: Mapping[str, Any], path: Path) -> None:
    """Raise FormatError unless the settings of a file are of the types that they are written with."""
    pattern, normalization, specials = (settings[name] for name in ("pattern", "normalization", "special_tokens"))
    stages = pattern if isinstance(pattern, tuple) else () if pattern is None else (pattern,)
    for name, good in (
        ("pattern", all(isinstance(stage, str) for stage in stages)),
        ("normalization", normalization is None or isinstance(normalization, str)),
        ("special_tokens", isinstance(specials, list) and all(isinstance(literal, str) for literal in specials)),
    ):
        if not good:
            raise FormatError(f"{path}: line 2 should hold the settings: {name} is {settings[name]!r}")


def _check_same(one: Mapping[str, Any], other: Mapping[str, Any], one_name: str, other_name: str) -> None:
    for setting in {**one, **other}:
        if one.get(setting) != other.get(setting):
            raise ValueError(
                f"{one_name} and {other_name} do not add up: {setting} is {one.get(setting)!r} and "
                f"{other.get(setting)!r}"
            )
