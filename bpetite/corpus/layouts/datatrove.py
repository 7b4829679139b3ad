"""datatrove: tokens, the end of each document, and a text with the tokenizer and the size of a token."""
from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

from .layout import Layout, OpenShard

__all__ = ["Datatrove"]


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
