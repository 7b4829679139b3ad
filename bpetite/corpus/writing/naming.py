"""What the files of an output are called, and which files in a folder belong to it."""
from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from .durable import PARTIAL
from .layouts import Layout

__all__ = ["Names", "names_of", "splits_of"]


@dataclass(frozen=True)
class Names:
    """The file names of an output.

    Attributes:
        folder: Where the files are.
        stem: What every name begins with; "" when the output is a folder of its own.
        layout: Of the token files.
        numbered: Whether the names of shards have numbers.
    """

    folder: Path
    stem: str
    layout: Layout
    numbered: bool

    def base(self, split: str, index: int) -> Path:
        """The path of a shard without suffix: out, out_000001, out_train_000001; in a folder tokens, train, ..."""
        number = f"_{index:06d}" if self.numbered else ""
        return self.folder / (self._split(split) + number)

    def _split(self, split: str) -> str:
        if split == "all":
            return self.stem or "tokens"
        return f"{self.stem}_{split}" if self.stem else split

    def beside(self, name: str) -> Path:
        """The path of a file that belongs to the output."""
        return self.folder / (f"{self.stem}.{name}" if self.stem else name)

    @property
    def manifest(self) -> Path:
        return self.beside("manifest.json")

    @property
    def journal(self) -> Path:
        return self.beside("journal")

    def temporary(self) -> list[Path]:
        """The temporary files of this output that exist."""
        bases = "|".join(re.escape(self._split(split)) for split in ("all", "train", "val"))
        suffixes = [path.name.removeprefix("x") for path in self.layout.outputs(Path("x"))]
        suffixes += [".lengths", ".meta", self.layout.suffix + ".tokens"]
        endings = "|".join(map(re.escape, suffixes))
        ours = re.compile(rf"(?:{bases})(?:_\d{{6,}})?(?:{endings}){re.escape(PARTIAL)}")
        manifest = self.manifest.name + PARTIAL
        return [path for path in self.folder.iterdir() if ours.fullmatch(path.name) or path.name == manifest]


def names_of(
    output: str | os.PathLike[str],
    layout: Layout,
    *,
    shard_tokens: int | None = None,
    rank: int = 0,
    world_size: int = 1,
) -> Names:
    """The names of an output given on a command line: a file name with or without its suffix, or a folder.

    >>> from .layouts import NanoGPT
    >>> names_of("data/out.bin", NanoGPT()).base("train", 0).as_posix()
    'data/out_train'
    """
    name = os.fspath(output)
    path = Path(name)
    if name.endswith(("/", os.sep)) or path.is_dir():
        folder, stem = path, ""
    else:
        folder, stem = path.parent, path.name.removesuffix(layout.suffix) or path.name
    if world_size > 1:
        stem = f"{stem or 'tokens'}.rank{rank:05d}of{world_size:05d}"
    return Names(folder, stem, layout, layout.numbered or shard_tokens is not None)


def splits_of(val_fraction: float) -> tuple[str, ...]:
    """The names of the outputs of a run."""
    return ("train", "val") if val_fraction else ("all",)
