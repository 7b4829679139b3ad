"""Documents packed into windows of a fixed number of tokens, for trainers that take rows of one length.

The documents of a split are one row of tokens, end-of-text tokens included, which is cut into windows; a document goes
on in the next window where it has to. Where documents begin and end in a window is kept as attention over variable
lengths takes it (``cu_seqlens`` of FlashAttention): ``[0, ..., N]``, from one document to the next.

While a shard grows, its spool of lengths has the places where documents end, so that neither how tokens come in nor an
interruption makes a boundary.
"""
from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, ClassVar

import numpy as np
import numpy.typing as npt

from ..segments import TRAINED, split_labels
from .layout import Layout, OpenShard

__all__ = ["MaskedWindows", "Windows", "npy_header"]

#: Tokens that are copied, and whose boundaries are worked on, at a time; at least one window.
GROUP = 1 << 20

#: Bytes of the header of an array: always the same, as NumPy leaves room for any shape.
HEADER = 128


class Windows(Layout):
    """NumPy: windows as the rows of an array, and the boundaries of documents in all of them in a row."""

    name = "npy"
    suffix = ".npy"
    exact = True
    lengths = True
    spooled = True

    def __init__(self, window: int) -> None:
        self.window = window

    def least_tail(self, shard_tokens: int) -> int:
        return self.window  # so a shard is never all of a window that is not full

    def check_shards(self, shard_tokens: int | None) -> None:
        if shard_tokens is not None and shard_tokens < self.window:
            raise ValueError(f"shard_tokens {shard_tokens} is less than one window of pack={self.window}")

    def outputs(self, base: Path) -> list[Path]:
        return [Path(f"{base}{ending}") for ending in (".npy", ".cu_seqlens.npy", ".windows.npy")]

    def index(self, shard: OpenShard, path: Path, file: BinaryIO) -> None:
        windows = shard.tokens // self.window
        if path.name.endswith(".cu_seqlens.npy"):
            file.write(npy_header(np.dtype("<i4"), sum(int(counts.sum()) for counts, _ in self._boundaries(shard))))
            for _, boundaries in self._boundaries(shard):
                file.write(boundaries.astype("<i4").tobytes())
        elif path.name.endswith(".windows.npy"):
            file.write(npy_header(np.dtype("<i8"), windows + 1))
            file.write(bytes(8))
            total = 0
            for counts, _ in self._boundaries(shard):
                file.write((np.cumsum(counts) + total).astype("<i8").tobytes())
                total += int(counts.sum())
        else:
            file.write(npy_header(self._numbers(path, np.zeros(0, shard.dtype)).dtype, windows, self.window))
            left = windows * self.window
            with shard.tokens_path.open("rb") as tokens:
                while left:
                    left -= len(taken := np.fromfile(tokens, shard.dtype, min(GROUP, left)))
                    file.write(self._numbers(path, taken).tobytes())

    def _numbers(self, path: Path, tokens: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """What a file of an array of windows has of tokens."""
        return tokens

    def _boundaries(self, shard: OpenShard) -> Iterator[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]]:
        """(how many boundaries each window has, all of them in a row), some windows at a time."""
        size = self.window
        group = max(1, GROUP // size)
        ends = shard.lengths()
        known = np.zeros(0, np.int64)
        for first in range(0, shard.tokens // size, group):
            windows = min(group, shard.tokens // size - first)
            start, stop = first * size, (first + windows) * size
            parts = [known]
            while not len(parts[-1]) or parts[-1][-1] < stop:
                found = next(ends, None)
                if found is None:
                    break
                parts.append(found)
            known = np.concatenate(parts)
            inside = np.unique(known[(known > start) & (known < stop)])
            inside = inside[inside % size > 0] - start
            known = known[np.searchsorted(known, stop) :]
            counts = np.bincount(inside // size, minlength=windows) + 2
            last = np.cumsum(counts)
            boundaries = np.empty(int(last[-1]), np.int64)
            between = np.ones(len(boundaries), bool)
            between[last - 1] = between[last - counts] = False
            boundaries[last - counts], boundaries[last - 1], boundaries[between] = 0, size, inside % size
            yield counts, boundaries


class MaskedWindows(Windows):
    """The same, and an array of the same shape that says which tokens are trained on. Tokens come with a bit for that,
    see `segments.TRAINED`."""

    dtypes: ClassVar[tuple[str, ...]] = ("uint32",)

    def outputs(self, base: Path) -> list[Path]:
        return [*super().outputs(base), Path(f"{base}.loss_mask.npy")]

    def dtype(self, vocab_size: int, wanted: str = "auto") -> str:
        if vocab_size > TRAINED:
            raise ValueError(f"ids up to {vocab_size - 1} leave no room for a mask; at most {TRAINED - 1}")
        return super().dtype(vocab_size, wanted)

    def _numbers(self, path: Path, tokens: npt.NDArray[Any]) -> npt.NDArray[Any]:
        ids, labels = split_labels(tokens)
        return labels if path.name.endswith(".loss_mask.npy") else ids


def npy_header(dtype: np.dtype[Any], *shape: int) -> bytes:
    """The header of a NumPy file."""
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        file, {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
    )
    if file.tell() != HEADER:
        raise OSError(f"NumPy wrote a header of {file.tell()} bytes, not {HEADER}")
    return file.getvalue()
