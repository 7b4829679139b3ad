"""Pre-tokens and how often each occurs: the result of counting and the input of training, in memory or in a file.

Counts made on many machines add up to the counts of one machine: a large corpus can be counted where it is stored, and
its merges learned on one machine.
"""
from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...atomic import create_file
from ...errors import check_integer
from ...patterns import Pattern
from ._count_table import CountTable, PretokenReader
from ._record_reader import RecordReader
from .count_file import READ_SIZE, Extent, SharedFile, open_table, summed, write_table
from .cutting import CountOptions, Cutting

if TYPE_CHECKING:
    from typing_extensions import Unpack

MAX_COUNT = 2**63 - 1
MERGE_MEMORY = 1 << 30  # bytes for the counts of a partition when files are added up


class Counts:
    """Counts that know how their text was cut: :class:`PretokenCounts` and :class:`CountFile`."""

    def __init__(self, cutting: Cutting, documents: int) -> None:
        self.cutting: Cutting = cutting
        self.pattern: Pattern = cutting.pattern
        self.normalization: str | None = cutting.normalization
        self.special_tokens: tuple[str, ...] = cutting.special_tokens
        #: The number of texts that were counted.
        self.documents: int = documents

    def __len__(self) -> int:
        return self._totals()[0]

    def __repr__(self) -> str:
        different, _, total = self._totals()
        return f"{type(self).__name__}({different} different pre-tokens, {total} in all, {self.documents} documents)"

    @property
    def total(self) -> int:
        """The sum of all counts."""
        return self._totals()[2]

    @property
    def size(self) -> int:
        """The bytes of all different pre-tokens."""
        return self._totals()[1]

    @property
    def training_memory(self) -> int:
        """About how many bytes learning takes, besides the counts themselves."""
        # For each byte a slot and about one noted strip, for each pre-token a strip and a sentinel, and the pairs.
        return 12 * self.size + 60 * len(self) + (16 << 20)

    def _totals(self) -> tuple[int, int, int]:
        """(different pre-tokens, their bytes, pre-tokens in all)."""
        raise NotImplementedError


class PretokenCounts(Counts, Mapping[bytes, int]):
    """An immutable mapping from the bytes of a pre-token to a count of 1..2^63-1, in order of bytes.

    Args:
        counts: A mapping or pairs; a pre-token that comes twice adds up, a count of 0 is left out.
        documents: The number of texts that were counted.
        options: The way the text was cut, as :func:`bpetite.count_pretokens` takes them. Counts that differ here do not
            add up, and training refuses options that contradict them.

    Raises:
        TypeError: A pre-token that is not bytes, a count that is no int.
        ValueError: A negative count or an empty pre-token.
        OverflowError: A count past 2^63 - 1.

    >>> counts = PretokenCounts({b" the": 3, b"cat": 1}) + PretokenCounts({b"cat": 1})
    >>> dict(counts)
    {b' the': 3, b'cat': 2}
    """

    def __init__(
        self,
        counts: Mapping[bytes, int] | Iterable[tuple[bytes, int]] = (),
        *,
        documents: int = 0,
        **options: Unpack[CountOptions],
    ) -> None:
        table = CountTable()
        for pretoken, count in pairs_of(counts):
            table.add(*check_count(pretoken, count))
        self._set(table, Cutting.of(**options), documents)

    def _set(self, table: CountTable, cutting: Cutting, documents: int) -> None:
        Counts.__init__(self, cutting, documents)
        self._table = table
        self._cached_totals: tuple[int, int, int] | None = None

    @classmethod
    def from_table(cls, table: CountTable, cutting: Cutting, documents: int) -> PretokenCounts:
        """Counts that own a table, which must not change any more."""
        counts = cls.__new__(cls)
        counts._set(table, cutting, documents)
        return counts

    def __getitem__(self, pretoken: bytes) -> int:
        count: int = self._table.get(pretoken) if isinstance(pretoken, bytes) else 0
        if count == 0:
            raise KeyError(pretoken)
        return count

    def __iter__(self) -> Iterator[bytes]:
        return iter(sorted(pretoken for pretoken, _ in self._table.pretokens()))

    def __add__(self, other: PretokenCounts) -> PretokenCounts:
        """The sum. OverflowError where a count would pass 2^63 - 1."""
        if not isinstance(other, PretokenCounts):
            return NotImplemented
        _check_same(self, other, "these counts", "those added")
        table = CountTable()
        table.update(self._table)
        table.update(other._table)
        return self.from_table(table, self.cutting, self.documents + other.documents)

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled, ([block for _, block in self._table.blocks(READ_SIZE)], self.cutting, self.documents)

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write a count file, the same bytes for the same counts. A partial file is never left behind.

        Raises:
            FileExistsError: There is such a file and `overwrite` is false.
        """
        with create_file(path, overwrite=overwrite) as file:
            write_table(file, [self._table], self.cutting, self.documents)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> PretokenCounts:
        """Read a count file.

        Raises:
            FormatError: The file is no count file, damaged or cut short.
        """
        with CountFile(path) as counts:
            return counts.load()

    def _totals(self) -> tuple[int, int, int]:
        if self._cached_totals is None:
            self._cached_totals = self._table.totals()
        return self._cached_totals


def _unpickled(blocks: list[bytes], cutting: Cutting, documents: int) -> PretokenCounts:
    table = CountTable()
    table.add_all(RecordReader(iter(blocks), "pickled counts"))
    return PretokenCounts.from_table(table, cutting, documents)


class CountFile(Counts):
    """Pre-token counts that stay on disk: the result of :func:`bpetite.count_pretokens` with `memory`, or a count file.

    It is an iterable of (pre-token, count), read as a stream and as often as wanted, in the order of a hash that is
    always the same. It has the options and the totals of :class:`bpetite.PretokenCounts`, and training takes it in
    their place.

    Args:
        path: A count file, as :meth:`bpetite.PretokenCounts.save` writes it.

    Raises:
        FormatError: The file is no count file, or of another version; or, when it is read, damaged.

    >>> from bpetite import count_pretokens
    >>> sorted(count_pretokens(["the cat", "the dog"], memory="16MB"))
    [(b' cat', 1), (b' dog', 1), (b'the', 2)]
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._open(SharedFile(Path(path).open("rb"), path))  # noqa: SIM115  # stays open

    def _open(self, file: SharedFile) -> None:
        self._file = file
        self.extents: list[Extent]
        self.extents, cutting, self._stored_totals = open_table(file)
        Counts.__init__(self, cutting, self._stored_totals.documents)

    @classmethod
    def of(cls, file: SharedFile) -> CountFile:
        """Counts that own a file."""
        counts = cls.__new__(cls)
        counts._open(file)
        return counts

    def __iter__(self) -> Iterator[tuple[bytes, int]]:
        return chain.from_iterable(extent.records() for extent in self.extents)

    def __reduce__(self) -> Any:
        raise TypeError("a CountFile belongs to its process: save it, and give the other process the path")

    def _totals(self) -> tuple[int, int, int]:
        return self._stored_totals[:3]

    def load(self) -> PretokenCounts:
        """These counts in memory."""
        table = CountTable()
        for extent in self.extents:
            table.add_all(extent.records())
        return PretokenCounts.from_table(table, self.cutting, self.documents)

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write a count file, the one that :meth:`bpetite.PretokenCounts.save` writes for the same counts.

        Raises:
            FileExistsError: There is such a file and `overwrite` is false.
        """
        with create_file(path, overwrite=overwrite) as file:
            at = 0
            while part := self._file.read(at, READ_SIZE):
                at += file.write(part)

    def close(self) -> None:
        """Close the file; counts that were not saved are gone."""
        self._file.close()

    def __enter__(self) -> CountFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def readers_of(counts: Mapping[bytes, int] | CountFile) -> Iterator[PretokenReader]:
    """Readers of the pre-tokens, in any order; :class:`PretokenCounts` lists the errors of a mapping."""
    if isinstance(counts, CountFile):
        return (extent.records() for extent in counts.extents)
    return iter([(counts if isinstance(counts, PretokenCounts) else PretokenCounts(counts))._table.pretokens()])


def pairs_of(counts: Any) -> Iterable[tuple[Any, Any]]:
    """The pairs (pre-token, count) of a mapping, a CountFile, or an iterable of pairs."""
    return counts.items() if isinstance(counts, Mapping) else counts


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
    paths: Iterable[str | os.PathLike[str]],
    out: str | os.PathLike[str],
    *,
    min_count: int = 1,
    overwrite: bool = False,
) -> None:
    """Add up count files into one. At most a part of the counts is in memory, so their size does not matter.

    Args:
        min_count: Pre-tokens whose sum is less are left out.

    Raises:
        ValueError: Files counted with different options, or no file.
        FormatError: A file is no count file, of another version or damaged.
        OverflowError: A count would pass 2^63 - 1.
    """
    least = check_min_count(min_count)
    with contextlib.ExitStack() as stack:
        files = [stack.enter_context(CountFile(path)) for path in paths]
        if not files:
            raise ValueError("no count files to merge")
        for file in files[1:]:
            _check_same(files[0], file, str(files[0]._file.name), str(file._file.name))
        tables = summed(list(zip(*(file.extents for file in files), strict=True)), MERGE_MEMORY)
        with create_file(out, overwrite=overwrite) as written:
            write_table(written, tables, files[0].cutting, sum(file.documents for file in files), least)


def check_min_count(min_count: object) -> int:
    """The number of a count, or the error that says why it is not one."""
    return min(check_integer("min_count", min_count, 1), MAX_COUNT)


def _check_same(one: Counts, other: Counts, one_name: str, other_name: str) -> None:
    name = one.cutting.difference(other.cutting)
    if name is not None:
        raise ValueError(
            f"{one_name} and {other_name} do not add up: {name} is {getattr(one, name)!r} and {getattr(other, name)!r}"
        )
