"""The names of the files of an output, and the files in a folder that belong to it."""
from __future__ import annotations

import getpass
import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ...errors import file_exists
from ..layouts.layout import Layout
from ..layouts.npy import Npy
from ..layouts.registry import LAYOUTS, layout_of
from ..layouts.spool import Lines, Spool
from ..sources.paths import AnyPath, RemotePath, names_in, path_of
from ..sources.stores import local_name
from .durable import PARTIAL

__all__ = [
    "REJECTED", "Names", "check_output_name", "names_of", "part_stem", "sibling", "splits_of", "stems_of",
]  # fmt: skip

#: The stream of rejected records; the streams of tokens are "all", or "train" and "val".
REJECTED = "rejected"

#: All streams of an output.
STREAMS = ("all", "train", "val", REJECTED)

#: The end of the name of a shard's journal, see `run.assembly`.
SHARD = ".shard"


@dataclass(frozen=True)
class Names:
    """The file names of an output.

    Attributes:
        folder: Where the files grow, and where they are unless they are at a URL.
        stem: What every name begins with; "" when the output is a folder of its own.
        layout: Of the token files.
        numbered: Whether the names of shards have numbers.
        home: The folder of the finished files, if it is at a URL.
    """

    folder: Path
    stem: str
    layout: Layout
    numbered: bool
    home: RemotePath | None = None

    def base(self, stream: str, index: int = 0) -> Path:
        """The path of a shard without suffix: out, out_000001, out_train_000001; in a folder tokens, train, ..."""
        if stream == REJECTED:
            return self.sibling(REJECTED)
        number = f"_{index:06d}" if self.numbered else ""
        return self.folder / (self._split(stream) + number)

    def layout_of(self, stream: str) -> Layout:
        if stream != REJECTED:
            return self.layout
        return Spool(Lines()) if isinstance(self.layout, Spool) else Lines()

    def _split(self, split: str) -> str:
        if split == "all":
            return self.stem or "tokens"
        return f"{self.stem}_{split}" if self.stem else split

    def sibling(self, name: str) -> Path:
        return self.folder / sibling(self.stem, name)

    def final(self, name: str) -> AnyPath:
        return self.place / name

    @property
    def place(self) -> AnyPath:
        """The folder of the finished files."""
        return self.folder if self.home is None else self.home

    def free_bytes(self) -> int | None:
        """Bytes that are free where the output goes, unless that is a URL."""
        if self.home is not None:
            return None
        above = self.folder.absolute()
        return shutil.disk_usage(next(one for one in (above, *above.parents) if one.is_dir())).free

    @property
    def manifest(self) -> AnyPath:
        return self.final(sibling(self.stem, "manifest.json"))

    @property
    def runs(self) -> AnyPath:
        return self.final(sibling(self.stem, "runs"))

    @property
    def marker(self) -> RemotePath:
        """The object that marks an output at a URL as unfinished."""
        assert self.home is not None
        return self.home / sibling(self.stem, "unfinished")

    @property
    def journal(self) -> Path:
        return self.sibling("journal")

    def stored(self, path: Path) -> RemotePath | None:
        """The copy of a journal in the store of an output at a URL."""
        return None if self.home is None else self.home / path.name

    def refuse_finished(self, streams: Iterable[str]) -> None:
        """Raises FileExistsError if a file exists that these streams may write: of something else, at the start."""
        taken = self._finished([self.layout], streams)
        for name in self.there():
            if re.fullmatch(taken, name) or name == self.runs.name:
                raise file_exists(self.final(name), "exists already; overwrite=True replaces it")

    def _finished(
        self, layouts: Sequence[Layout], streams: Iterable[str] = STREAMS, *, growing: bool = False
    ) -> str:
        """The names of the finished files of streams, in one of some layouts, as a regular expression; ``growing`` adds
        those of files that are not final."""
        patterns = [] if self.stem else [re.escape(layout.whole) for layout in layouts if layout.whole is not None]
        for stream in streams:
            kinds = layouts if stream != REJECTED else [self.layout_of(REJECTED)]
            files = [path for kind in kinds for path in kind.outputs(Path("x")) + growing * kind.growing(Path("x"))]
            patterns.append(f"{self._base(stream)}(?:{'|'.join(re.escape(path.name[1:]) for path in files)})")
        return "|".join(patterns)

    def _base(self, stream: str) -> str:
        if stream == REJECTED:
            return re.escape(sibling(self.stem, REJECTED))
        return re.escape(self._split(stream)) + r"(?:_\d{6,})?"

    def remove(self, names: Iterable[str]) -> None:
        """Delete finished files of this output, of any layout; files of other names stay, whoever lists them."""
        ours = self._finished([self.layout, *(layout() for layout in LAYOUTS.values())])
        for name in names:
            if re.fullmatch(ours, name):
                self.final(name).unlink(missing_ok=True)

    def there(self) -> Set[str]:
        return names_in(self.place)

    def temporary(self) -> list[Path]:
        there = self.folder.iterdir() if self.folder.is_dir() else ()
        return [path for path in there if self.kind_of(path.name) == "temporary"]

    def shard_journals(self) -> list[Path]:
        """The journals of an unfinished assembly that exist, here or in the store."""
        names = {path.name for path in self.temporary()}
        names |= {re.sub(r"\.0{15}$", "", name) for name in self.there()}
        ours = [name for name in sorted(names) if name.endswith(SHARD)]
        return [self.folder / name for name in ours if self.kind_of(name) == "temporary"]

    def clear_home(self) -> None:
        """Delete what is in the store of an unfinished output alone."""
        assert self.home is not None
        for name in self.home.sizes():
            if name == self.marker.name or self.kind_of(name) == "increment":
                (self.home / name).unlink(missing_ok=True)

    def kind_of(self, name: str) -> str | None:
        """The kind of a file of this output or of its parts, by its name: "sign", which is there once the output, or a
        part of it, has been begun; "finished"; "temporary"; "increment", an object of a growing file, see
        `durable.Increments`. None for the name of any other file."""
        return next((kind for kind, names in self._kinds.items() if re.fullmatch(names, name)), None)

    @cached_property
    def _kinds(self) -> dict[str, str]:
        own = "|".join(re.escape(sibling(self.stem, one)) for one in ("manifest.json", "runs", "unfinished"))
        journal = re.escape(self.journal.name)
        part = re.escape(part_stem(self.stem, "", "")).replace("rankof", r"rank\d{5}of\d{5}[._].*")
        grows = rf"(?:{own}|{self._finished([self.layout], growing=True)}){re.escape(PARTIAL)}"
        grows += rf"|(?:{'|'.join(map(self._base, STREAMS))}){re.escape(SHARD)}"
        increment = rf"(?:{journal}|{grows})\.\d{{15}}"
        return {
            "sign": rf"{own}|{journal}|{part}",
            "finished": self._finished([self.layout]),
            "increment": increment,
            "temporary": rf"{grows}|(?:{increment}){re.escape(PARTIAL)}",
        }

    def clear_temporary(self, *, unknown: bool) -> None:
        """Delete the temporary files; unless also ``unknown`` ones, those that no journal has a record of are an
        error."""
        for path in self.temporary():
            if not unknown:
                raise file_exists(path, "exists, and no journal says that a run made it; overwrite=True deletes it")
            path.unlink()


def names_of(
    output: str | os.PathLike[str],
    layout: Layout,
    *,
    shard_tokens: int | None = None,
    val_fraction: float = 0.0,
    rank: int = 0,
    world_size: int = 1,
) -> Names:
    """The names of an output given on a command line: a file name with or without its suffix, or a folder.

    Args:
        output: Also a URL.
        layout: Of the final files; parts have spools.
        val_fraction: With one, an output named "train" has a second file, "val", beside it.

    >>> from ..layouts.nanogpt import NanoGPT
    >>> names_of("data/out.bin", NanoGPT()).base("train", 0).as_posix()
    'data/out_train'
    >>> names_of("data/train.bin", NanoGPT(), val_fraction=0.1).base("val", 0).as_posix()
    'data/val'

    Raises:
        ValueError: ``output`` is empty, or has the suffix of another layout.
    """
    place, stem = _place_and_stem(output, layout)
    if val_fraction and stem == "train":
        stem = ""
    numbered = layout.numbered or shard_tokens is not None
    if world_size > 1:
        stem, layout, numbered = part_stem(stem, f"{rank:05d}", f"{world_size:05d}"), Spool(layout), False
    home = place if isinstance(place, RemotePath) else None
    folder = place if isinstance(place, Path) else _staging(place, stem)
    return Names(folder, stem, layout, numbered, home)


def check_output_name(output: str | os.PathLike[str]) -> str:
    """The path or URL of an output, which is not empty."""
    if name := local_name(output):
        return name
    raise ValueError("the output has no name; give one, or a folder ('.' is this one)")


def _place_and_stem(output: str | os.PathLike[str], layout: Layout) -> tuple[AnyPath, str]:
    """(folder, start of all names) of an output; the start is "" where the output is a folder of its own."""
    name = check_output_name(output)
    path = path_of(name)
    if name.endswith(("/", os.sep)) or layout.whole is not None or path.is_dir():
        return path, ""
    for other, kind in LAYOUTS.items():
        if name.endswith(kind.suffix) and not name.endswith(layout.suffix):
            raise ValueError(f"{name}: {kind.suffix} is the suffix of format={other!r}; {layout.name} has "
                             f"{layout.suffix}")
    return path.parent, path.name.removesuffix(layout.suffix) or path.name


def sibling(stem: str, name: str) -> str:
    return f"{stem}.{name}" if stem else name


def part_stem(stem: str, rank: str, world_size: str) -> str:
    """The start of the names of a part's files."""
    return f"{stem or 'tokens'}.rank{rank}of{world_size}"


def stems_of(name: str) -> list[str]:
    """The stems that an output may have, by its own name or that of one of its files.

    >>> stems_of("x_text_document.bin")
    ['x_text_document.bin', 'x_text_document', 'x']
    >>> stems_of("x_train_000002.offsets.npy")
    ['x_train_000002.offsets.npy', 'x_train_000002.offsets', 'x_train_000002', 'x_train', 'x']
    """
    layouts = [*map(layout_of, LAYOUTS), Spool(Npy())]
    endings = {path.name.removeprefix("x") for layout in layouts for path in layout.outputs(Path("x"))}
    stems = [name, *(name.removesuffix(ending) for ending in sorted(endings, key=len) if name.endswith(ending))]
    stems += [re.sub(r"_\d{6,}$", "", stem) for stem in stems]
    stems += [re.sub(r"_(train|val)$", "", stem) for stem in stems]
    return list(dict.fromkeys(stems))


def _staging(home: RemotePath, stem: str) -> Path:
    """The folder, among the temporary files of the user, where an output at a URL grows: another for each output."""
    user = os.getuid() if hasattr(os, "getuid") else getpass.getuser()
    digest = hashlib.sha256(f"{home}/{stem}".encode()).hexdigest()[:16]
    return Path(tempfile.gettempdir(), f"bpetite-{user}", f"{stem or home.name or 'tokens'}-{digest}")


def splits_of(val_fraction: float) -> tuple[str, ...]:
    """The names of the outputs of a run."""
    return ("train", "val") if val_fraction else ("all",)
