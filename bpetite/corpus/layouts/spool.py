"""The spool of a part: tokens, lengths and ids as they grew, in the type of the final files and without a header.

It is what `run.assembly` copies byte ranges from, whatever the layout of the final files.
"""
from __future__ import annotations

from pathlib import Path

from .layout import Layout

__all__ = ["Spool"]


class Spool(Layout):
    """The spool of a part whose final files have the layout ``final``: the growing files themselves are kept."""

    reader: str | None = "bpetite merge, which makes the final files"

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
