"""The spool of a part: tokens, lengths and ids as they grew, in the type of the final files and without a header.

It is what `run.assembly` copies byte ranges from, whatever the layout of the final files.
"""
from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ..sources.paths import AnyPath, read_numbers
from .layout import LENGTHS, Layout
from .token_file import TokenFile, count_tokens

__all__ = ["Spool", "SpoolFile"]


class Spool(Layout):
    """The spool of a part whose final files have the layout ``final``: the growing files themselves are kept."""

    def __init__(self, final: Layout) -> None:
        self.final = final
        self.name: str = final.name
        self.suffix: str = final.spool_suffix
        self.dtypes: tuple[str, ...] = final.dtypes
        self.exact: bool = final.exact
        self.lengths: bool = final.lengths
        self.meta: bool = final.meta
        self.longest: int = final.longest

    def outputs(self, base: Path) -> list[Path]:
        kept = [(self.suffix, True), (".lengths", self.lengths), (".meta", self.meta)]
        return [Path(f"{base}{ending}") for ending, is_kept in kept if is_kept]

    growing = outputs


class SpoolFile(TokenFile):
    """The tokens of a spool, and their lengths where there are any."""

    def __init__(self, path: AnyPath, layout: Spool, dtype: str) -> None:
        kind = np.dtype(dtype)
        super().__init__(path, layout.name, kind, 0, count_tokens(path, 0, kind))
        self.columns: int = layout.columns
        self.lengths_path: AnyPath = path.with_name(path.name.removesuffix(layout.suffix) + ".lengths")
        if layout.lengths:
            self.documents: int | None = self.lengths_path.stat().st_size // (8 * self.columns)

    def lengths(self) -> Iterator[npt.NDArray[np.int64]]:
        start = document = 0
        with self.lengths_path.open("rb") as file:
            while len(rows := read_numbers(file, "<i8", self.columns * LENGTHS)):
                lengths = rows[:: self.columns]
                self._check(self.lengths_path, document, lengths, start)
                yield lengths
                start, document = start + int(lengths.sum()), document + len(lengths)
