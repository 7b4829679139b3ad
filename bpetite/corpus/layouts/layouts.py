"""The token files that trainers read, to the byte: one small class each. What they have in common is in `layout.py`,
those that hold a table of samples in `samples.py`.
"""
from __future__ import annotations

import csv
import gzip
import io
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, ClassVar

import numpy as np
import numpy.typing as npt

from ...errors import MissingExtraError
from .layout import LENGTHS, Layout, OpenShard, meta_line
from .samples import Litdata, Mds
from .windows import HEADER, MaskedWindows, Windows, npy_header

__all__ = [
    "LAYOUTS", "LENGTHS", "Layout", "MaskedWindows", "OpenShard", "Windows", "layout_in", "layout_of", "meta_line",
]  # fmt: skip


class Npy(Layout):
    """NumPy: tokens and int64 offsets of documents, memory-mappable."""

    name = "npy"
    suffix = ".npy"
    header = HEADER
    lengths = True

    def outputs(self, base: Path) -> list[Path]:
        return [Path(f"{base}.npy"), Path(f"{base}.offsets.npy")]

    def head(self, shard: OpenShard) -> bytes:
        return npy_header(shard.dtype, shard.tokens)

    def index(self, shard: OpenShard, path: Path, file: BinaryIO) -> None:
        file.write(npy_header(np.dtype("<i8"), shard.documents + 1))
        file.write(bytes(8))
        for ends in shard.ends():
            file.write(ends.astype("<i8").tobytes())


class NanoGPT(Layout):
    """nanoGPT: uint16 tokens and nothing else, because its trainer reads every file as that."""

    name = "nanogpt"
    suffix = ".bin"
    exact = True
    dtypes: ClassVar[tuple[str, ...]] = ("uint16",)


class LlmC(Layout):
    """llm.c and modded-nanogpt: a header of 256 int32, then tokens."""

    name = "llmc"
    suffix = ".bin"
    header = 1024
    eot = "prepend"
    exact = True
    numbered = True
    shard_tokens: ClassVar[int | None] = 10**8  # as its own scripts have it
    most_tokens = 2**31 - 1
    codes: ClassVar[dict[str, tuple[int, int]]] = {"uint16": (20240520, 1), "uint32": (20240801, 7)}

    def least_tail(self, shard_tokens: int) -> int:
        # Training stops at a shard that is smaller than one step of all its processes, usually half a million tokens;
        # so shards of the usual 100 million tokens get a last one of at least a million.
        return max(1, min(shard_tokens // 10, 1 << 20))

    def head(self, shard: OpenShard) -> bytes:
        if shard.tokens > self.most_tokens:
            raise ValueError(f"{shard.base}: {shard.tokens} tokens are too many for one llm.c file (below 2^31); "
                             "give shard_tokens=")
        magic, version = self.codes[shard.dtype.name]
        return struct.pack("<3i", magic, version, shard.tokens) + bytes(self.header - 12)


class Megatron(Layout):
    """Megatron-LM and NeMo: tokens, and an index of sequences and documents."""

    name = "megatron"
    suffix = "_text_document.bin"
    lengths = True
    dtypes: ClassVar[tuple[str, ...]] = ("uint16", "int32")
    longest = 2**31 - 1
    eot_of_empty = False  # as in its own script, where an empty document has no sequence either
    codes: ClassVar[dict[str, int]] = {"uint16": 8, "int32": 4}
    eot = "none"

    def auto(self, vocab_size: int) -> str:
        return "uint16" if vocab_size < 65500 else "int32"

    def outputs(self, base: Path) -> list[Path]:
        return [Path(f"{base}_text_document.bin"), Path(f"{base}_text_document.idx")]

    def index(self, shard: OpenShard, path: Path, file: BinaryIO) -> None:
        sequences = 0
        for lengths in shard.lengths():
            sequences += int(np.count_nonzero(lengths))
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


class Datatrove(Layout):
    """datatrove: tokens, where each document ends, and a text with the tokenizer and the size of a token."""

    name = "datatrove"
    suffix = ".ds"
    lengths = True

    def outputs(self, base: Path) -> list[Path]:
        return [Path(f"{base}.ds"), Path(f"{base}.ds.index"), Path(f"{base}.ds.metadata")]

    def index(self, shard: OpenShard, path: Path, file: BinaryIO) -> None:
        if path.suffix == ".metadata":
            name = shard.tokenizer.replace("\n", " ")
            lines = [f"{name}|{shard.dtype.itemsize}", str(shard.tokens), _metric(shard.tokens)]
            file.write("\n".join(lines).encode("utf-8", "surrogateescape"))
            return
        for ends in shard.ends():
            file.write(ends.astype("<u8").tobytes())


class Dolma(Layout):
    """dolma and OLMo-core: tokens without any header, in a file named .npy, and a table of documents."""

    name = "dolma"
    suffix = ".npy"
    lengths = True
    meta = True

    def outputs(self, base: Path) -> list[Path]:
        return [Path(f"{base}.npy"), Path(f"{base}.csv.gz")]

    def check_meta(self, found: str | None, source: str) -> None:
        # OLMo-core splits the table into lines before it looks for quotes
        for what, value, way_out in (("path", source, "rename it"), ("id", found or "", "id_key= names another key")):
            if "\n" in value or "\r" in value:
                raise ValueError(f"{source}: the {what} {value!a} has a line break, which a table of format='dolma' "
                                 f"cannot hold; {way_out}")

    def index(self, shard: OpenShard, path: Path, file: BinaryIO) -> None:
        # no name and no time in the gzip header: equal tables are equal files
        with (
            gzip.GzipFile("", "wb", 6, file, mtime=0) as packed,
            io.TextIOWrapper(packed, "utf-8", "surrogateescape", newline="") as text,  # file names can be any bytes
        ):
            table = csv.writer(text, lineterminator="\n")
            start = 0
            meta = shard.meta()
            for ends in shard.ends():
                for end in ends.tolist():
                    found, source, number = next(meta)
                    table.writerow([start, end, found or "", source, number + 1])  # lines count from 1
                    start = end


class Parquet(Layout):
    """Parquet: one row for each document, with the id of its record."""

    name = "parquet"
    suffix = ".parquet"
    lengths = True
    meta = True
    dtypes: ClassVar[tuple[str, ...]] = ("uint32",)
    spooled = True
    eot = "none"
    row_group_tokens: ClassVar[int] = 4 << 20
    row_group_rows: ClassVar[int] = 1 << 16

    def require(self) -> None:
        try:
            import pyarrow  # noqa: F401 - only whether it is installed
        except ImportError:
            raise MissingExtraError("writing .parquet", "pyarrow", "corpus") from None

    def index(self, shard: OpenShard, path: Path, file: BinaryIO) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        schema = pa.schema([("id", pa.string()), ("input_ids", pa.list_(pa.uint32()))])
        meta = shard.meta()
        with shard.tokens_path.open("rb") as tokens, pq.ParquetWriter(file, schema) as writer:
            for lengths in self._groups(shard):
                ids = np.fromfile(tokens, "<u4", int(lengths.sum()))
                offsets = np.zeros(len(lengths) + 1, np.int32)
                np.cumsum(lengths, out=offsets[1:])
                rows = pa.ListArray.from_arrays(pa.array(offsets), pa.array(ids))
                names = pa.array([next(meta)[0] for _ in range(len(lengths))], pa.string())
                writer.write_table(pa.table([names, rows], schema=schema), row_group_size=len(lengths))

    def _groups(self, shard: OpenShard) -> Iterator[npt.NDArray[np.int64]]:
        """Lengths of the documents of each row group."""
        group: list[int] = []
        tokens = 0
        for lengths in shard.lengths():
            for length in lengths.tolist():
                if group and (tokens + length > self.row_group_tokens or len(group) == self.row_group_rows):
                    yield np.array(group, np.int64)
                    group, tokens = [], 0
                group.append(length)
                tokens += length
        if group:
            yield np.array(group, np.int64)


def _metric(count: int) -> str:
    """A number of tokens for people, as `humanize.metric(count, unit="T")` writes it.

    >>> _metric(0), _metric(12_345), _metric(2_500_000_000), _metric(999_999)
    ('0.00 T', '12.3 kT', '2.50 GT', '1.00 MT')
    """
    power = len(str(count)) - 1
    if round(count / 10 ** (power // 3 * 3), 2 - power % 3) >= 10 ** (power % 3 + 1):
        power += 1  # rounding gives it one digit more
    prefix = ["", *"kMGTPE"][power // 3]
    return f"{count / 10 ** (power // 3 * 3):.{2 - power % 3}f} {prefix}T"


LAYOUTS: dict[str, type[Layout]] = {
    layout.name: layout for layout in (Npy, NanoGPT, LlmC, Megatron, Datatrove, Dolma, Parquet, Mds, Litdata)
}


def layout_of(name: str, pack: int | None = None, loss_mask: bool = False) -> Layout:
    """The layout of a ``format``.

    Args:
        pack: Tokens of the windows into which documents are packed; None keeps documents.
        loss_mask: Which tokens are trained on is kept, too.

    Raises:
        ValueError: There is none of that name, or none of windows.
    """
    if name not in LAYOUTS:
        raise ValueError(f"format {name!r} is not one of {', '.join(LAYOUTS)}")
    if pack is None:
        return LAYOUTS[name]()
    if name != "npy":
        raise ValueError(f"pack= writes windows for format='npy' alone, not {name!r}: what reads that format cuts "
                         "documents into windows itself, or wants documents")
    return MaskedWindows(pack) if loss_mask else Windows(pack)


def layout_in(manifest: dict[str, Any]) -> Layout:
    """The layout of the files that a manifest lists."""
    options = manifest["options"]
    return layout_of(manifest["format"], options.get("pack"), options.get("loss_mask", False))
