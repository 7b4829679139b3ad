"""The names of the files of an output, and what in a folder belongs to it."""
from __future__ import annotations

import getpass
import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import xxhash

from ...errors import FormatError, file_exists
from ..layouts.layout import Layout
from ..layouts.registry import LAYOUTS
from ..read.find import STDIN
from ..read.stores import AnyPath, RemotePath, exists, is_url, local_name, names_in, path_of, store_of
from .manifest import entries_in, read_manifest

#: The list of rejected records, among the streams of an output; those of tokens are "all", or "train" and "val".
REJECTED = "rejected"


@dataclass(frozen=True)
class Names:
    """The file names of an output in the folder ``place``; ``stem`` is "" for a folder of its own."""

    place: AnyPath
    stem: str
    layout: Layout
    numbered: bool

    def base(self, split: str, index: int = 0) -> str:
        """The name of a shard without suffix: out, out_000001, out_train_000001; in a folder tokens, train, ..."""
        name = self.stem or "tokens"
        if split != "all":
            name = f"{self.stem}_{split}" if self.stem else split
        return f"{name}_{index:06d}" if self.numbered else name

    def sibling(self, name: str) -> str:
        return f"{self.stem}.{name}" if self.stem else name

    @property
    def manifest(self) -> AnyPath:
        return self.place / self.sibling("manifest.json")

    @property
    def rejected(self) -> str:
        return self.sibling("rejected.jsonl.gz")

    @property
    def folder(self) -> Path:
        """The local folder of all that is unfinished; for a URL, among the user's temporary files."""
        if isinstance(self.place, Path):
            return self.place / self.sibling("partial")
        user = os.getuid() if hasattr(os, "getuid") else getpass.getuser()
        digest = xxhash.xxh3_64(f"{self.place}/{self.stem}".encode()).hexdigest()
        return Path(tempfile.gettempdir(), f"bpetite-{user}", f"{self.stem or 'tokens'}-{digest}.partial")

    def of_rank(self, rank: int, world_size: int) -> Names:
        return replace(self, stem=f"{self.stem or 'tokens'}.rank{rank:05d}of{world_size:05d}")

    def ranks(self, ending: str) -> list[Names]:
        """The names of the ranks that have a file or folder with this ending, in order."""
        start = f"{self.stem or 'tokens'}.rank"
        stems = sorted(name.removesuffix(ending) for name in names_in(self.place)
                       if name.startswith(start) and name.endswith(ending))
        return [replace(self, stem=stem) for stem in stems
                if len(stem) == len(start) + 12 and stem[len(start) + 5 :].startswith("of")]

    def refuse_existing(self, splits: Iterable[str]) -> None:
        """Raises FileExistsError if a file of this output is there before a run."""
        for split in splits:
            for path in self.layout.outputs(Path(self.base(split))):
                if exists(self.place / path.name):
                    raise file_exists(self.place / path.name, "exists already; overwrite=True replaces it")


def names_of(
    output: str | os.PathLike[str], layout: Layout, *, shard_tokens: int | None = None, val_fraction: float = 0.0
) -> Names:
    """The names of an output: a path or URL with or without its suffix, or a folder, which ends with "/". With
    ``val_fraction``, an output named "train" has a second file, "val", beside it.

    >>> from ..layouts.registry import NanoGPT
    >>> names_of("data/out.bin", NanoGPT()).base("train")
    'out_train'
    >>> names_of("data/train.bin", NanoGPT(), val_fraction=0.1).base("val")
    'val'
    """
    name = local_name(output)
    if not name:
        raise ValueError("the output has no name; give one, or a folder ('.' is this one)")
    path = path_of(name)
    if name.endswith(("/", os.sep)) or path.name in ("", ".", ".."):
        place, stem = path, ""
    elif path.is_dir():
        raise ValueError(f"{name}: a folder has this name; {name}/ writes into it, another name makes files beside it")
    else:
        for other, written in LAYOUTS.items():
            if name.endswith(written.suffix) and not name.endswith(layout.suffix):
                raise ValueError(f"{name}: {written.suffix} is the suffix of format={other!r}; {layout.name} has "
                                 f"{layout.suffix}")
        place, stem = path.parent, path.name.removesuffix(layout.suffix) or path.name
        if val_fraction and stem == "train":
            stem = ""
    return Names(place, stem, layout, layout.numbered or shard_tokens is not None)


def splits_of(val_fraction: float) -> tuple[str, ...]:
    return ("train", "val") if val_fraction else ("all",)


def names_like(path: AnyPath) -> list[Names]:
    """The outputs that a path may be, or be a file of, with the stem "" for a folder of its own. Nothing says their
    layout: npy stands there.

    >>> [names.stem for names in names_like(Path("data/x_train_000002.offsets.npy"))]
    ['x_train_000002.offsets.npy', 'x_train_000002', 'x_train', 'x', 'x_train_000002.offsets']
    """
    layout = LAYOUTS["npy"]()
    if path.is_dir():
        return [Names(path, "", layout, False)]
    endings = {one.name.removeprefix("x") for written in LAYOUTS.values() for one in written().outputs(Path("x"))}
    endings |= {".manifest.json", ".partial"}
    names = [path.name, *(path.name.removesuffix(end) for end in sorted(endings, key=len, reverse=True)
                          if path.name.endswith(end))]
    stems: list[str] = []
    for name in names:
        stems.append(name)
        head, _, number = name.rpartition("_")
        if len(number) >= 6 and number.isdecimal():
            stems.append(head)
            name = head
        stems += [name.removesuffix(f"_{split}") for split in ("train", "val") if name.endswith(f"_{split}")]
    if {"train", "val", "tokens"} & {*stems} or path.name == "manifest.json":
        stems.append("")  # a folder of its own
    return [Names(path.parent, stem, layout, False) for stem in dict.fromkeys(stems)]


def _one_spelling(url: RemotePath) -> str:
    store, path = store_of(str(url))
    return f"{type(store)}:{path}"


def without_own(paths: Iterable[str], names: Names) -> Iterator[bool]:
    """Yield for each path if it may be an input: False for files of the output and its ranks, unfinished ones too."""
    files: set[str] = set()
    for output in (names, *names.ranks(".manifest.json")):
        with suppress(FileNotFoundError, FormatError):
            listed = entries_in(read_manifest(output.manifest, of_any_version=True))
            files |= {output.manifest.name, *(one["name"] for one in listed)}
    with suppress(OSError, FormatError):  # of a run that was killed while its files moved here
        files |= {one["name"] for one in entries_in(read_manifest(names.folder / "manifest.json"))}
    local = isinstance(names.place, Path)
    ranks = names.ranks(".partial" if local else ".partial.state.json")
    begun = [one.sibling("partial") for one in (names, *ranks)]
    for name in () if local else begun:  # shards are at a URL as soon as they are finished
        with suppress(FileNotFoundError, ValueError, LookupError, TypeError):
            finished = json.loads((names.place / f"{name}.state.json").read_bytes())["finished"]
            files |= {file["name"] for shards in finished.values() for shard in shards for file in shard["files"]}
    place = os.path.realpath(names.place) if isinstance(names.place, Path) else _one_spelling(names.place)
    own = {os.path.join(place, name) for name in files}
    inside = tuple(os.path.join(place, name) + (os.sep if local else ".") for name in begun)
    real_head = cache(os.path.realpath)
    for path in paths:
        if path != STDIN and not is_url(path):
            head, tail = os.path.split(path)
            path = os.path.join(real_head(head), tail)
        elif path != STDIN and not isinstance(names.place, Path):
            path = _one_spelling(RemotePath(path))
        yield path not in own and not path.startswith(inside)
