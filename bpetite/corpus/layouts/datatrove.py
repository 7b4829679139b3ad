"""datatrove: tokens, the end of each document, and a text with the tokenizer and the size of a token."""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from ..read.paths import AnyPath, read_numbers
from .layout import LENGTHS, Layout, OpenShard


class Datatrove(Layout):
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
