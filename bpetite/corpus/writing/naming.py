"""What the files of an output are called, and which files in a folder belong to it."""
from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...errors import file_exists
from ..urls import refuse_url
from .durable import PARTIAL
from .layouts import LAYOUTS, Layout

__all__ = ["REJECTED", "REJECTED_SUFFIX", "Names", "names_of", "ranks_folder", "splits_of"]

#: The file of rejected records, without its suffix.
REJECTED = "rejected"
REJECTED_SUFFIX = ".jsonl.gz"


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

    def refuse_whole(self) -> None:
        """Raises FileExistsError if the file that all shards have together exists: of something else."""
        whole = self.layout.whole
        if whole is not None and not self.stem and os.path.lexists(self.folder / whole):
            raise file_exists(self.folder / whole, "exists already; overwrite=True replaces it")

    def _pattern(self, layouts: Iterable[Layout], endings: Sequence[str]) -> re.Pattern[str]:
        """The names of this output's files: shards of these layouts, and with other endings."""
        bases = "|".join(re.escape(self._split(split)) for split in ("all", "train", "val"))
        suffixes = [path.name.removeprefix("x") for layout in layouts for path in layout.outputs(Path("x"))]
        rejected = re.escape(self.beside(REJECTED).name + REJECTED_SUFFIX)
        spool = "(?:\\.tokens)?" if endings else ""
        return re.compile(
            rf"(?:{bases})(?:_\d{{6,}})?(?:{'|'.join(map(re.escape, [*suffixes, *endings]))})|{rejected}{spool}"
        )

    def remove(self, names: Iterable[str]) -> None:
        """Delete finished files of this output, of any layout; files of other names stay, whoever lists them."""
        ours = self._pattern([layout() for layout in LAYOUTS.values()], [])
        wholes = {layout.whole for layout in LAYOUTS.values()} if not self.stem else set()
        for name in names:
            if name in wholes or ours.fullmatch(name):
                (self.folder / name).unlink(missing_ok=True)

    def finished(self) -> list[str]:
        """The names in the folder that finished files of this output have."""
        return [path.name for path in self.folder.iterdir() if self.is_finished(path.name)]

    def temporary(self) -> list[Path]:
        """The temporary files of this output that exist."""
        return [path for path in self.folder.iterdir() if self.is_temporary(path.name)]

    def is_temporary(self, name: str) -> bool:
        """Whether a temporary file of this output would have a name."""
        final = name.removesuffix(PARTIAL)
        ours = self._pattern([self.layout], [".lengths", ".meta", self.layout.suffix + ".tokens"])
        return final != name and (final in (self.manifest.name, self.layout.whole) or ours.fullmatch(final) is not None)

    def is_finished(self, name: str) -> bool:
        """Whether a finished file of this output would have a name."""
        return name == self.layout.whole or self._pattern([self.layout], []).fullmatch(name) is not None

    def clear_temporary(self, *, unknown: bool) -> None:
        """Delete the temporary files.

        Args:
            unknown: Also if no journal says that a run of this output made them.

        Raises:
            FileExistsError: There is one, and ``unknown`` is false.
        """
        for path in self.temporary():
            if not unknown:
                raise file_exists(path, "exists, and no journal says that a run made it; overwrite=True deletes it")
            path.unlink()


def names_of(
    output: str | os.PathLike[str],
    layout: Layout,
    *,
    shard_tokens: int | None = None,
    rank: int = 0,
    world_size: int = 1,
) -> Names:
    """The names of an output given on a command line: a file name with or without its suffix, or a folder.

    Raises:
        ValueError: It is a URL.

    >>> from .layouts import NanoGPT
    >>> names_of("data/out.bin", NanoGPT()).base("train", 0).as_posix()
    'data/out_train'

    Raises:
        ValueError: ``output`` is empty.
    """
    refuse_url(output, "written")
    name = os.fspath(output)
    if not name:
        raise ValueError("the output has no name; give one, or a folder ('.' is this one)")
    path = Path(name)
    if name.endswith(("/", os.sep)) or path.is_dir() or layout.whole is not None:
        folder, stem = path, ""
    else:
        folder, stem = path.parent, path.name.removesuffix(layout.suffix) or path.name
    if world_size > 1:
        stem = f"{stem or 'tokens'}.rank{rank:05d}of{world_size:05d}"
    return Names(folder, stem, layout, layout.numbered or shard_tokens is not None)


def ranks_folder(folder: Path, stem: str) -> Path:
    """Where `merge` puts the files of the ranks of an output."""
    return folder / f"{stem or 'tokens'}.ranks"


def splits_of(val_fraction: float) -> tuple[str, ...]:
    """The names of the outputs of a run."""
    return ("train", "val") if val_fraction else ("all",)
