"""The layouts of token files by their names: how each is written, and which file is read by which."""
from __future__ import annotations

import csv
import gzip
import io
import os
import struct
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO, ClassVar, cast

import numpy as np
import numpy.typing as npt

from ...errors import FormatError, importing
from ..read.pieces import grouped
from ..read.stores import AnyPath, path_of, read_numbers
from .layout import LENGTHS, Layout, OpenShard, gzip_file
from .token_file import NPY_HEADER, NpyFile, TokenFile, count_tokens, npy_header


class Npy(Layout):
    """NumPy: tokens and int64 offsets of documents, which can be mapped into memory."""

    name = "npy"
    suffix = ".npy"
    others: tuple[str, ...] = (".offsets.npy",)
    header = NPY_HEADER
    lengths = True

    def head(self, shard: OpenShard) -> bytes:
        return npy_header(shard.dtype, shard.tokens)

    def index(self, shard: OpenShard, path: Path, file: BinaryIO) -> None:
        file.write(npy_header(np.dtype("<i8"), shard.documents + 1) + bytes(8))
        for ends in shard.ends():
            file.write(ends.astype("<i8").tobytes())

    def lengths_in(self, paths: Sequence[AnyPath]) -> Iterator[npt.NDArray[np.int64]]:
        return NpyFile(paths[0]).lengths()


class NanoGPT(Layout):
    """nanoGPT: uint16 tokens and nothing else, because its trainer reads every file as that."""

    name = "nanogpt"
    suffix = ".bin"
    fills_shards = True
    dtypes: tuple[str, ...] = ("uint16",)


class LlmC(Layout):
    """llm.c and modded-nanogpt: a header of 256 int32, then tokens."""

    name = "llmc"
    suffix = ".bin"
    header = 1024
    eot = "prepend"
    fills_shards = True
    numbered = True
    joins = False
    shard_tokens: int | None = 10**8  # as its own scripts have it
    most_tokens = 2**31 - 1
    codes: ClassVar[dict[str, tuple[int, int]]] = {"uint16": (20240520, 1), "uint32": (20240801, 7)}

    def least_tail(self, shard_tokens: int) -> int:
        # Training stops at a shard smaller than one step of all its processes, usually half a million tokens.
        return max(1, min(shard_tokens // 10, 1 << 20))

    def head(self, shard: OpenShard) -> bytes:
        magic, version = self.codes[shard.dtype.name]
        return struct.pack("<3i", magic, version, shard.tokens) + bytes(self.header - 12)


class Megatron(Layout):
    """Megatron-LM and NeMo: tokens, and an index of sequences and documents."""

    name = "megatron"
    suffix = "_text_document.bin"
    others: tuple[str, ...] = ("_text_document.idx",)
    reader: str | None = "megatron.core.datasets.indexed_dataset.IndexedDataset"
    lengths = True
    dtypes: tuple[str, ...] = ("uint16", "int32")
    longest = 2**31 - 1
    eot_of_empty = False  # as in its own script, where an empty document has no sequence either
    codes: ClassVar[dict[str, int]] = {"uint16": 8, "int32": 4}
    eot = "none"

    def auto(self, vocab_size: int) -> str:
        return "uint16" if vocab_size < 65500 else "int32"

    def index(self, shard: OpenShard, path: Path, file: BinaryIO) -> None:
        sequences = sum(int(np.count_nonzero(lengths)) for lengths in shard.lengths())
        file.write(b"MMIDIDX\0\0" + struct.pack("<QB", 1, self.codes[shard.dtype.name]))
        file.write(struct.pack("<QQ", sequences, shard.documents + 1))
        for lengths in shard.lengths():
            file.write(lengths[lengths > 0].astype("<i4").tobytes())
        start = 0
        for lengths in shard.lengths():
            lengths = lengths[lengths > 0] * shard.dtype.itemsize
            ends = np.cumsum(lengths) + start
            file.write((ends - lengths).astype("<i8").tobytes())
            start = int(ends[-1]) if len(ends) else start
        file.write(bytes(8))
        first = 0
        for lengths in shard.lengths():
            firsts = np.cumsum(lengths > 0) + first
            file.write(firsts.astype("<i8").tobytes())
            first = int(firsts[-1])

    def lengths_in(self, paths: Sequence[AnyPath]) -> Iterator[npt.NDArray[np.int64]]:
        head = 9 + struct.calcsize("<QBQQ")
        with paths[1].open("rb") as sizes, paths[1].open("rb") as firsts:
            magic = sizes.read(head)
            if len(magic) < head or magic[:9] != b"MMIDIDX\0\0":
                raise FormatError(f"{paths[1]}: not an index of Megatron's")
            sequences, documents = struct.unpack("<QQ", magic[18:])
            firsts.seek(head + 12 * sequences + 8)
            last, left = 0, documents - 1
            while left:
                ends = read_numbers(firsts, "<i8", min(LENGTHS, left))
                if not len(ends):
                    raise FormatError(f"{paths[1]}: ends before its last document")
                has_one = np.diff(ends, prepend=last) > 0
                lengths = np.zeros(len(ends), np.int64)
                lengths[has_one] = read_numbers(sizes, "<i4", int(has_one.sum()))
                last, left = int(ends[-1]), left - len(ends)
                yield lengths


class Datatrove(Layout):
    """datatrove: tokens, the end of each document, and a text with the tokenizer and the size of a token."""

    name = "datatrove"
    suffix = ".ds"
    others: tuple[str, ...] = (".ds.index", ".ds.metadata")
    reader: str | None = "datatrove.utils.dataset.DatatroveFileDataset"
    lengths = True

    def index(self, shard: OpenShard, path: Path, file: BinaryIO) -> None:
        if path.suffix == ".metadata":
            name = shard.tokenizer.replace("\n", " ")
            lines = [f"{name}|{shard.dtype.itemsize}", str(shard.tokens), _metric(shard.tokens)]
            file.write("\n".join(lines).encode("utf-8", "surrogateescape"))
            return
        for ends in shard.ends():
            file.write(ends.astype("<u8").tobytes())

    def lengths_in(self, paths: Sequence[AnyPath]) -> Iterator[npt.NDArray[np.int64]]:
        last = 0
        with paths[1].open("rb") as file:
            while len(ends := read_numbers(file, "<u8", LENGTHS).astype(np.int64)):
                yield np.diff(ends, prepend=last)
                last = int(ends[-1])


def _metric(count: int) -> str:
    """A number of tokens as `humanize.metric(count, unit="T")` writes it.

    >>> _metric(0), _metric(12_345), _metric(2_500_000_000), _metric(999_999)
    ('0.00 T', '12.3 kT', '2.50 GT', '1.00 MT')
    """
    power = len(str(count)) - 1
    if round(count / 10 ** (power // 3 * 3), 2 - power % 3) >= 10 ** (power % 3 + 1):
        power += 1  # rounding gives it one digit more
    prefix = ["", *"kMGTPE"][power // 3]
    return f"{count / 10 ** (power // 3 * 3):.{2 - power % 3}f} {prefix}T"


class Dolma(Layout):
    """dolma and OLMo-core: tokens without any header, in a file named .npy, and a table of documents."""

    name = "dolma"
    suffix = ".npy"
    others: tuple[str, ...] = (".csv.gz",)
    reader: str | None = "numpy.memmap or OLMo-core"
    lengths = True
    meta = True

    def check_meta(self, name: str | None, source: str) -> None:
        # OLMo-core splits the table into lines before it looks for quotes
        for what, value, advice in (("path", source, "rename it"), ("id", name or "", "id_key= names another key")):
            if "\n" in value or "\r" in value:
                raise ValueError(f"{source}: the {what} {value!a} has a line break, which a table of format='dolma' "
                                 f"cannot hold; {advice}")

    def index(self, shard: OpenShard, path: Path, file: BinaryIO) -> None:
        with (
            gzip_file(file) as packed,
            io.TextIOWrapper(packed, "utf-8", "surrogateescape", newline="") as text,  # file names can be any bytes
        ):
            table = csv.writer(text, lineterminator="\n")
            start = 0
            ends = chain.from_iterable(ends.tolist() for ends in shard.ends())
            for end, (name, source, number) in zip(ends, shard.meta()):
                table.writerow([start, end, name or "", source, number + 1])  # lines count from 1
                start = end

    def lengths_in(self, paths: Sequence[AnyPath]) -> Iterator[npt.NDArray[np.int64]]:
        lengths = (int(row[1]) - int(row[0]) for row in _rows(paths[1]))
        while some := list(islice(lengths, LENGTHS)):
            yield np.array(some, np.int64)

    def meta_in(self, paths: Sequence[AnyPath]) -> Iterator[list[Any]]:
        for _, _, name, source, number in _rows(paths[1]):
            yield [name or None, source, int(number) - 1]


def _rows(path: AnyPath) -> Iterator[list[str]]:
    with (
        path.open("rb") as file,
        gzip.GzipFile("", "rb", fileobj=cast(BinaryIO, file)) as unpacked,
        io.TextIOWrapper(unpacked, "utf-8", "surrogateescape", newline="") as text,
    ):
        yield from csv.reader(text)


class Parquet(Layout):
    """Parquet: one row for each document, with the id of its record."""

    name = "parquet"
    suffix = ".parquet"
    reader: str | None = "pyarrow.parquet.read_table"
    lengths = True
    meta = True
    dtypes: tuple[str, ...] = ("uint32",)
    spooled = True
    keeps_whole = True
    joins = False
    eot = "none"
    row_group_tokens: ClassVar[int] = 4 << 20
    row_group_rows: ClassVar[int] = 1 << 16

    def require(self) -> None:
        with importing("writing .parquet", "pyarrow", "corpus"):
            import pyarrow  # noqa: F401 - only whether it is installed

    def index(self, shard: OpenShard, path: Path, file: BinaryIO) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        schema = pa.schema([("id", pa.string()), ("input_ids", pa.list_(pa.uint32()))])
        meta = shard.meta()
        with self.growing(shard.base)[0].open("rb") as tokens, pq.ParquetWriter(file, schema) as writer:
            each = chain.from_iterable(lengths.tolist() for lengths in shard.lengths())
            for group in grouped(each, int, self.row_group_tokens, self.row_group_rows):
                lengths = np.array(group, np.int64)
                ids = np.fromfile(tokens, "<u4", int(lengths.sum()))
                offsets = np.zeros(len(lengths) + 1, np.int32)
                np.cumsum(lengths, out=offsets[1:])
                rows = pa.ListArray.from_arrays(pa.array(offsets), pa.array(ids))
                names = pa.array([next(meta)[0] for _ in range(len(lengths))], pa.string())
                writer.write_table(pa.table([names, rows], schema=schema), row_group_size=len(lengths))


LAYOUTS: dict[str, type[Layout]] = {
    layout.name: layout for layout in (Npy, NanoGPT, LlmC, Megatron, Datatrove, Dolma, Parquet)
}

DTYPES = ("uint16", "uint32", "int32")


def layout_of(name: str) -> Layout:
    if name not in LAYOUTS:
        raise ValueError(f"format {name!r} is not one of {', '.join(LAYOUTS)}")
    return LAYOUTS[name]()


def open_token_file(path: str | os.PathLike[str], *, format: str | None = None, dtype: str | None = None) -> TokenFile:
    """A token file of NumPy, nanoGPT or llm.c, in bounded memory.

    Args:
        format: The layout, where the file does not say.
        dtype: Of the tokens, where the file does not say.

    Raises:
        FormatError: The file is damaged, nothing says its layout, or its layout has a reader of its own.
        OSError: It cannot be read.
    """
    path = path_of(path)
    format = format or _sniff(path)
    layout = layout_of(format)  # the error for a wrong name lists the right ones
    if dtype not in (None, *DTYPES):
        raise ValueError(f"dtype {dtype!r} is not one of {', '.join(DTYPES)}")
    if layout.reader is not None:
        raise FormatError(f"{path}: {format} files are read by {layout.reader}")
    if format == "npy":
        return NpyFile(path)
    if format == "llmc":
        return _open_llmc(path)
    of_tokens = np.dtype(dtype or layout.dtypes[0])
    return TokenFile(path, format, of_tokens, 0, count_tokens(path, 0, of_tokens))


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


def _sniff(path: AnyPath) -> str:
    """The layout by a file's first bytes and name."""
    with path.open("rb") as file:
        head = file.read(12)
    index = path.with_name(path.name.removesuffix(".bin") + ".idx")
    if head.startswith(b"MMIDIDX") or (path.name.endswith(".bin") and index.exists()):
        return "megatron"
    if head[:8] in [struct.pack("<2i", magic, version) for magic, version in LlmC.codes.values()]:
        return "llmc"
    for start, format in ((b"\x93NUMPY", "npy"), (b"PAR1", "parquet")):
        if head.startswith(start):
            return format
    if path.name.endswith((".ds", ".ds.index", ".ds.metadata")):
        return "datatrove"
    raise FormatError(f"{path}: not a token file with a header; give format= (nanogpt, dolma, ...) for one without")
