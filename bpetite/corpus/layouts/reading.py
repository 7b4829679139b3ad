"""Token files read back: every layout that `layouts.py` writes, in bounded memory.

A layout with a header says what the file is; for one without (nanoGPT, dolma) the manifest beside it, or the caller,
has to say it.
"""
from __future__ import annotations

import csv
import gzip
import os
import re
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import FormatError, MissingExtraError
from ..samples import LitdataFile, MdsFile, litdata_dtype
from ..sources.paths import AnyPath, path_of, read_numbers, readable
from .layouts import LENGTHS, LlmC, Megatron, layout_of
from .token_file import CHUNK, SampleFile, Span, TokenFile, count_tokens

__all__ = [
    "CHUNK",
    "Span",
    "TokenFile",
    "open_token_file",
]

#: The most characters of a line of a table of documents.
ROW = 1 << 20

DTYPES = ("uint16", "uint32", "int32")


class _Npy(TokenFile):
    def __init__(self, path: AnyPath) -> None:
        dtype, count, header = _npy_head(path)
        super().__init__(path, "npy", dtype, header, count)
        self.offsets = path.with_name(path.name.removesuffix(".npy") + ".offsets.npy")
        if self.offsets.exists():
            self._offsets_dtype, ends, self._offsets_header = _npy_head(self.offsets)
            if not ends or read_numbers(self.offsets, self._offsets_dtype, 1, offset=self._offsets_header)[0]:
                raise FormatError(f"{self.offsets}: does not begin with offset 0")
            self.documents = ends - 1

    def lengths(self) -> Iterator[npt.NDArray[np.int64]]:
        return self._ends(self.offsets, self._offsets_dtype, self._offsets_header + self._offsets_dtype.itemsize)


class _Megatron(TokenFile):
    def __init__(self, path: AnyPath) -> None:
        base = path.name.removesuffix(".bin").removesuffix(".idx")
        self.index = path.with_name(base + ".idx")
        path = path.with_name(base + ".bin")
        size = self.index.stat().st_size
        with self.index.open("rb") as file:
            head = file.read(34)
        if len(head) < 34 or head[:9] != b"MMIDIDX\0\0":
            raise FormatError(f"{self.index}: not a Megatron index")
        version, code, self.sequences, self.ends = struct.unpack("<QBQQ", head[9:])
        kinds = {code: name for name, code in Megatron.codes.items()}
        if version != 1 or code not in kinds:
            raise FormatError(f"{self.index}: version {version}, dtype code {code}; expected 1 and one of {[*kinds]}")
        if size != 34 + 12 * self.sequences + 8 * self.ends:
            raise FormatError(f"{self.index}: {size} bytes, expected {34 + 12 * self.sequences + 8 * self.ends}")
        if not self.ends:
            raise FormatError(f"{self.index}: does not say where the first document begins")
        dtype = np.dtype(kinds[code])
        super().__init__(path, "megatron", dtype, 0, count_tokens(path, 0, dtype))
        self.documents = self.ends - 1

    def lengths(self) -> Iterator[npt.NDArray[np.int64]]:
        # a document is one or more sequences, so the tables are read side by side
        with self.index.open("rb") as sizes, self.index.open("rb") as pointers, self.index.open("rb") as documents:
            sizes.seek(34)
            pointers.seek(34 + 4 * self.sequences)
            documents.seek(34 + 12 * self.sequences)
            first = read_numbers(documents, "<i8", 1)[0]
            if first:
                raise FormatError(f"{self.index}: the first document begins at sequence {first}, not 0")
            document = start = first = 0
            while len(firsts := read_numbers(documents, "<i8", LENGTHS)):
                steps = np.diff(firsts, prepend=first)
                if int(steps.min()) < 0 or int(firsts[-1]) > self.sequences:
                    raise FormatError(f"{self.index}: documents {document} to {document + len(firsts) - 1} are not "
                                      f"consecutive ranges of the {self.sequences} sequences")
                count = int(firsts[-1]) - first
                lengths = read_numbers(sizes, "<i4", count).astype(np.int64)
                self._check(self.index, document, lengths, start)
                ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
                expected = (start + ends[:-1]) * self.dtype.itemsize
                if not np.array_equal(read_numbers(pointers, "<i8", count), expected):
                    raise FormatError(f"{self.index}: sequences {first} to {first + count - 1} are not in a row")
                yield np.diff(ends[firsts - first], prepend=0)
                document, start, first = document + len(firsts), start + int(ends[-1]), int(firsts[-1])
        if (start, first) != (self.tokens, self.sequences):
            raise FormatError(f"{self.index}: {document} documents end at token {start}, not {self.tokens}")


class _Datatrove(TokenFile):
    def __init__(self, path: AnyPath, dtype: str | None) -> None:
        path = path.with_name(path.name.removesuffix(".index").removesuffix(".metadata"))
        self.index = path.with_name(path.name + ".index")
        last = 0
        size = self.index.stat().st_size
        if size % 8:
            raise FormatError(f"{self.index}: {size} bytes are not a whole number of ends of documents")
        if size:
            last = int(read_numbers(self.index, "<u8", 1, offset=size - 8)[0])
        # the file does not say the type, but the last end is the number of tokens
        itemsize = path.stat().st_size // last if last else 2
        found = dtype or {2: "uint16", 4: "uint32"}.get(itemsize)
        if found is None:
            raise FormatError(f"{path}: {path.stat().st_size} bytes for {last} tokens are neither uint16 nor uint32")
        super().__init__(path, "datatrove", np.dtype(found), 0, count_tokens(path, 0, np.dtype(found)))
        self.documents = size // 8

    def lengths(self) -> Iterator[npt.NDArray[np.int64]]:
        return self._ends(self.index, np.dtype("<u8"), 0)


class _Dolma(TokenFile):
    def __init__(self, path: AnyPath, dtype: str) -> None:
        super().__init__(path, "dolma", np.dtype(dtype), 0, count_tokens(path, 0, np.dtype(dtype)))
        self.table = path.with_name(path.name.removesuffix(".npy") + ".csv.gz")
        if self.table.exists():
            self.documents = sum(1 for _ in self._rows())

    def _rows(self) -> Iterator[tuple[int, str | None, str, int]]:
        """(end, id, path of the input, number of the record in it) of each document."""
        last = number = 0
        try:
            with gzip.open(readable(self.table), "rt", encoding="utf-8", errors="surrogateescape", newline="") as text:
                # a line at a time, but of damaged data with no end of line only so much
                for row in csv.reader(iter(lambda: text.readline(ROW), "")):
                    start, end, found, source, record = row
                    if not last == int(start) <= int(end) <= self.tokens or not 1 <= int(record) < 2**63:
                        raise ValueError(f"from {start} to {end}, record {record}")
                    last, number = int(end), number + 1
                    yield last, found or None, source, int(record) - 1
        except (ValueError, EOFError, zlib.error, gzip.BadGzipFile, csv.Error) as wrong:
            raise FormatError(f"{self.table}: document {number} cannot be read: {wrong}") from None
        if last != self.tokens:
            raise FormatError(f"{self.table}: {number} documents end at token {last}, not {self.tokens}")

    def lengths(self) -> Iterator[npt.NDArray[np.int64]]:
        rows = self._rows()
        last = np.zeros(1, np.int64)
        while len(found := np.fromiter((row[0] for row in islice(rows, LENGTHS)), np.int64)):
            ends = np.concatenate([last, found])
            yield ends[1:] - ends[:-1]
            last = ends[-1:]

    def _meta(self) -> Iterator[tuple[str | None, str, int]]:
        return (row[1:] for row in self._rows())


class _Parquet(SampleFile):
    def __init__(self, path: AnyPath) -> None:
        tokens = 0
        with self._open(path) as file:
            kind = dict(zip(file.schema_arrow.names, file.schema_arrow.types, strict=True)).get("input_ids")
            if kind is None:
                raise FormatError(f"{path}: no column input_ids (columns: {', '.join(file.schema_arrow.names)})")
            if str(getattr(kind, "value_type", None)) != "uint32" or not str(kind).startswith(("list<", "large_list<")):
                raise FormatError(f"{path}: input_ids are {kind}, not lists of uint32")
            documents = file.metadata.num_rows
            for group in range(file.num_row_groups):
                with self._damage(path, group):
                    tokens += len(_lists(file.read_row_group(group, ["input_ids"])).flatten())
        super().__init__(path, "parquet", np.dtype("uint32"), 0, tokens)
        self.documents = documents

    def _open(self, path: AnyPath) -> Any:
        try:
            import pyarrow.parquet as pq
        except ImportError:
            raise MissingExtraError("reading .parquet", "pyarrow", "corpus") from None
        with self._damage(path):
            return pq.ParquetFile(readable(path))

    @staticmethod
    @contextmanager
    def _damage(path: AnyPath, group: int | None = None) -> Iterator[None]:
        """Errors of Arrow as errors that name the file."""
        import pyarrow as pa

        try:
            yield
        except (pa.ArrowException, OSError, ValueError, TypeError, OverflowError) as wrong:
            if isinstance(wrong, FormatError) or (isinstance(wrong, OSError) and wrong.errno is not None):
                raise
            where = "" if group is None else f"row group {group}: "
            raise FormatError(f"{path}: {where}{' '.join(str(wrong).split())}") from None

    def extent(self, first: int, count: int) -> Iterator[Span]:
        with self._open(self.path) as file:
            columns = [name for name in ("id", "input_ids") if name in file.schema_arrow.names]
            for group in range(file.num_row_groups):
                with self._damage(self.path, group):
                    size = file.metadata.row_group(group).num_rows
                    if first >= size or not count:
                        first = max(0, first - size)
                        continue
                    table = file.read_row_group(group, columns).slice(first, count)
                    first, count = 0, count - len(table)
                    rows = _lists(table)
                    ids = table.column("id").to_pylist() if "id" in columns else [None] * len(table)
                    lengths = np.diff(rows.offsets.to_numpy()).astype(np.int64)
                    origins = [("", 0)] * len(lengths)  # not in the file, and not needed to write it again
                    tokens = rows.flatten().to_numpy()
                yield Span(tokens, lengths, ids, origins)


def _lists(table: Any) -> Any:
    """The lists of ids of a table; none of them, and no id, may be missing."""
    rows = table.column("input_ids").combine_chunks()
    rows.validate(full=True)
    if rows.null_count or rows.values.null_count:
        raise ValueError("input_ids have nulls")
    return rows


def open_token_file(
    path: str | os.PathLike[str], *, format: str | None = None, dtype: str | None = None
) -> TokenFile:
    """A token file of any layout.

    Args:
        format: The layout, where the file does not say.
        dtype: Of the tokens, where the file does not say.

    Raises:
        FormatError: The file is damaged, or nothing says what it is.
        OSError: It cannot be read.
    """
    path = path_of(path)
    format = format or _sniff(path)
    layout_of(format)  # the error for a wrong name lists the right ones
    if dtype not in (None, *DTYPES):
        raise ValueError(f"dtype {dtype!r} is not one of {', '.join(DTYPES)}")
    if format == "npy":
        return _Npy(path)
    if format == "llmc":
        return _open_llmc(path)
    if format == "megatron":
        return _Megatron(path)
    if format == "datatrove":
        return _Datatrove(path, dtype)
    if format == "parquet":
        return _Parquet(path)
    if format == "mds":
        return MdsFile(path)
    if format == "litdata":
        return LitdataFile(path, dtype)
    if format == "nanogpt":
        return TokenFile(path, format, np.dtype("uint16"), 0, count_tokens(path, 0, np.dtype("uint16")))
    if dtype is None:
        raise FormatError(f"{path}: a dolma file does not say the type of its tokens; give dtype= (uint16 or uint32)")
    return _Dolma(path, dtype)


def _sniff(path: AnyPath) -> str:
    """The layout that a file's first bytes and name say."""
    with path.open("rb") as file:
        head = file.read(12)
    if head.startswith(b"\x93NUMPY"):
        return "npy"
    if head.startswith(b"PAR1"):
        return "parquet"
    index = path.with_name(path.name.removesuffix(".bin") + ".idx")
    if head.startswith(b"MMIDIDX") or (path.name.endswith(".bin") and index.exists()):
        return "megatron"
    if head[:8] in [struct.pack("<2i", magic, version) for magic, version in LlmC.codes.values()]:
        return "llmc"
    if path.name.endswith((".ds", ".ds.index", ".ds.metadata")):
        return "datatrove"
    if path.name.endswith(".mds"):
        return "mds"
    if path.name.endswith(".bin") and litdata_dtype(path):
        return "litdata"
    raise FormatError(f"{path}: nothing says what kind of token file this is; give format= (nanogpt, dolma, ...)")


def _open_llmc(path: AnyPath) -> TokenFile:
    with path.open("rb") as file:
        head = file.read(12)
    codes = {code: name for name, code in LlmC.codes.items()}
    magic, version, count = struct.unpack("<3i", head) if len(head) == 12 else (0, 0, 0)
    if (magic, version) not in codes:
        raise FormatError(f"{path}: begins with {magic}, {version}; an llm.c file begins with one of {[*codes]}")
    dtype = np.dtype(codes[magic, version])
    if count_tokens(path, LlmC.header, dtype) != count:
        raise FormatError(f"{path}: the header says {count} tokens, the size {count_tokens(path, LlmC.header, dtype)}")
    return TokenFile(path, "llmc", dtype, LlmC.header, count)


def _npy_head(path: AnyPath) -> tuple[np.dtype[Any], int, int]:
    """(dtype, count, bytes of the header) of a one-dimensional .npy file of integers.

    NumPy's own reader of headers raises many kinds of errors for damaged ones, and parses what no NumPy writes.
    """
    with path.open("rb") as file:
        head = file.read(4096)
    start, size = (12, 4) if head[6:7] > b"\1" else (10, 2)
    header = start + int.from_bytes(head[start - size : start], "little")
    if head[:6] != b"\x93NUMPY" or not b"\1" <= head[6:7] <= b"\3" or header > len(head):
        raise FormatError(f"{path}: not a NumPy file, or one that is cut short")
    said = re.fullmatch(
        rb"\s*\{'descr': '([<>|=]?[ui][1248])', 'fortran_order': (?:True|False), "
        rb"'shape': \((\d{1,19}),(?: (\d{1,19}))?\),? *\}\s*",
        head[start:header],
    )
    if said is None:
        found = ascii(head[start:header].decode("latin-1").strip())
        raise FormatError(f"{path}: an array with header {found[:200]}, not rows of integers")
    dtype, count = np.dtype(said[1].decode()), int(said[2]) * int(said[3] or 1)
    if count_tokens(path, header, dtype) != count:
        raise FormatError(f"{path}: the header says {count} elements, the size {count_tokens(path, header, dtype)}")
    return dtype, count, header
