"""Files that begin with a table of samples, read back: MDS and litdata's chunks."""
from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import FormatError
from .layouts.layouts import LENGTHS
from .layouts.samples import Litdata, mds_config, mds_heads, mds_sizes
from .layouts.token_file import CHUNK, SampleFile, Span, TokenFile, count_tokens
from .sources.paths import AnyPath, read_numbers

__all__ = ["LitdataFile", "MdsFile", "litdata_dtype"]


class _Table:
    """The number of samples and their offsets."""

    def __init__(self, path: AnyPath) -> None:
        self.path = path
        self.size = path.stat().st_size
        with path.open("rb") as file:
            head = file.read(4)
            self.samples = int.from_bytes(head, "little")
            self.end = 4 * (self.samples + 2)
            first = file.read(4)
        if len(first) < 4 or self.end > self.size:
            raise FormatError(f"{path}: {self.size} bytes, fewer than a table of {self.samples} samples")
        self.start = int.from_bytes(first, "little")
        if self.start < self.end:
            raise FormatError(f"{path}: the first sample is at {self.start}, inside the table of "
                              f"{self.samples} samples")

    def sizes(self) -> Iterator[npt.NDArray[np.int64]]:
        """The bytes of each sample, up to `LENGTHS` at a time.

        Raises:
            FormatError: They are not in a row, or not the whole file.
        """
        last, number = self.start, 0
        with self.path.open("rb") as file:
            file.seek(8)
            while number < self.samples:
                ends = read_numbers(file, "<u4", min(LENGTHS, self.samples - number)).astype(np.int64)
                sizes = np.diff(ends, prepend=last)
                if not len(sizes) or int(sizes.min()) < 0 or int(ends[-1]) > self.size:
                    raise FormatError(f"{self.path}: samples {number} to {number + len(sizes) - 1} are not in a row in "
                                      f"its {self.size} bytes")
                number, last = number + len(sizes), int(ends[-1])
                yield sizes
        if last != self.size:
            raise FormatError(f"{self.path}: the last sample ends at {last}, the file has {self.size} bytes")


class MdsFile(SampleFile):
    """A shard of MDS with a column ``tokens``, as `writing.samples.Mds` writes it."""

    def __init__(self, path: AnyPath) -> None:
        self._table = _Table(path)
        with path.open("rb") as file:
            file.seek(self._table.end)
            config = file.read(min(self._table.start - self._table.end, 1 << 16))
        try:
            encoding = json.loads(config)["column_encodings"][0]
            dtype = np.dtype({f"ndarray:{name}": name for name in ("uint16", "uint32", "int32")}[encoding])
            if json.loads(config) != {**mds_config(dtype.name), "size_limit": json.loads(config)["size_limit"]}:
                raise ValueError
        except (ValueError, KeyError, IndexError, TypeError, RecursionError):
            raise FormatError(f"{path}: the samples are not one column 'tokens' of arrays: {config[:300]!a}") from None
        super().__init__(path, "mds", dtype, self._table.start, 0)
        self.documents: int = self._table.samples
        self.tokens: int = sum(int(lengths.sum()) for lengths in self.lengths())

    def lengths(self) -> Iterator[npt.NDArray[np.int64]]:
        width = self.dtype.itemsize
        for sizes in self._table.sizes():
            heads = np.choose((sizes > 255 * width + 6).astype(int) + (sizes > 65535 * width + 7), [6, 7, 9])
            lengths = (sizes - heads) // width
            if int(lengths.min()) < 0 or not np.array_equal(mds_sizes(lengths, width), sizes):
                raise FormatError(f"{self.path}: a sample has a size that no array of {self.dtype.name} has")
            yield lengths

    def extent(self, first: int, count: int) -> Iterator[Span]:
        number, width = 0, self.dtype.itemsize
        with self.path.open("rb") as file:
            file.seek(self._table.start)
            for lengths in self.lengths():
                passed = min(max(0, first - number), len(lengths))
                file.seek(int(mds_sizes(lengths[:passed], width).sum()), 1)
                number += len(lengths)
                lengths = lengths[passed : passed + count]
                count -= len(lengths)
                ends = np.cumsum(lengths)
                done = before = 0
                while done < len(lengths):
                    upto = max(done + 1, int(np.searchsorted(ends, before + CHUNK, side="right")))
                    yield Span(self._read(file, lengths[done:upto]), lengths[done:upto])
                    done, before = upto, int(ends[upto - 1])
                if not count:
                    return

    def _read(self, file: Any, lengths: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        """The tokens of the next samples."""
        parts = []
        for length, head in zip(lengths.tolist(), mds_heads(lengths, self.dtype.itemsize), strict=True):
            sample = file.read(len(head) + length * self.dtype.itemsize)
            if not sample.startswith(head):
                raise FormatError(f"{self.path}: the sample that ends at {file.tell()} is not an array of "
                                  f"{length} tokens")
            parts.append(sample[len(head) :])
        return np.frombuffer(b"".join(parts), self.dtype)


class LitdataFile(TokenFile):
    """A chunk of litdata for its TokensLoader. The index of all chunks has the type of tokens."""

    def __init__(self, path: AnyPath, dtype: str | None) -> None:
        dtype = dtype or litdata_dtype(path)
        if dtype is None:
            raise FormatError(f"{path}: no index.json beside it says the type of its tokens; give dtype=")
        self._table = _Table(path)
        if self._table.start != self._table.end:
            raise FormatError(f"{path}: the first sample is at {self._table.start}, not behind the table at "
                              f"{self._table.end}")
        kind = np.dtype(dtype)
        super().__init__(path, "litdata", kind, self._table.end, count_tokens(path, self._table.end, kind))
        self.documents: int = self._table.samples

    def lengths(self) -> Iterator[npt.NDArray[np.int64]]:
        for sizes in self._table.sizes():
            if (sizes % self.dtype.itemsize).any():
                raise FormatError(f"{self.path}: a sample is not a whole number of {self.dtype.name} tokens")
            yield sizes // self.dtype.itemsize


def litdata_dtype(path: AnyPath) -> str | None:
    """The type of tokens by the index.json beside a chunk, if there is one that lists it."""
    try:
        index = json.loads(path.with_name("index.json").read_bytes())
        if path.name in [chunk["filename"] for chunk in index["chunks"]]:
            names = {f"no_header_tensor:{code}": name for name, code in Litdata.codes.items()}
            return names.get(index["config"]["data_format"][0])
    except (OSError, ValueError, KeyError, IndexError, TypeError, RecursionError):
        pass
    return None
