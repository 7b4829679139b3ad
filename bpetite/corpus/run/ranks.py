"""The outputs of the ranks of a run: found, checked to be all of one run, and put away when they have been merged."""
from __future__ import annotations

import errno
import glob
import itertools
import os
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ...errors import FormatError, file_exists
from ..output.manifest import listed_files
from ..output.naming import ranks_folder
from ..sources.paths import AnyPath, RemotePath, exists, path_of, same_place
from .outputs import find_manifest

__all__ = ["check_ranks", "check_room", "find_ranks", "put_away"]

#: What the manifests of all ranks agree in.
_COMMON = ("run", "format", "dtype", "eot", "separator", "on_error", "options", "libraries")

Found = list[tuple[AnyPath, dict[str, Any]]]


def find_ranks(output: str | os.PathLike[str], parts: Iterable[str | os.PathLike[str]]) -> Found:
    """(path, manifest) of the ranks of one run, in order: of those that are given, or that are beside the output or in
    the folder that an earlier merge has put them in.

    Raises:
        FileNotFoundError: There are none, or one that is given is not finished.
        FormatError: They are of different runs.
    """
    given = [os.fspath(part) for part in parts]
    found = [_manifest_of(part) for part in given] if given else _beside(os.fspath(output))
    first_path, first = found[0]
    for path, manifest in found:
        if manifest["rank"] is None:
            raise FormatError(f"{path}: not the output of one rank of several")
        if any(manifest[name] != first[name] for name in _COMMON):
            raise FormatError(f"{path}: from another run than {first_path} (inputs, options or tokenizer differ)")
        if manifest["rank"][1] != first["rank"][1]:
            raise FormatError(
                f"{path}: one of {manifest['rank'][1]} ranks, but {first_path} is one of {first['rank'][1]}; "
                "name those of one run"
            )
    found.sort(key=lambda item: item[1]["rank"])
    return found


def _manifest_of(part: str) -> tuple[AnyPath, dict[str, Any]]:
    located = find_manifest(part)
    if located is None:
        raise FileNotFoundError(errno.ENOENT, "no manifest of a finished rank", part)
    return located[:2]


def _beside(name: str) -> Found:
    path = path_of(name)
    folder, stem = (path, "tokens") if path.is_dir() else (path.parent, path.name)
    for suffix in (".npy", ".bin", ".ds", ".parquet"):
        stem = stem.removesuffix(suffix)
    here = _manifests_in(folder, stem)
    found = [_manifest_of(part) for part in here]
    put_away = [_manifest_of(part) for part in _manifests_in(ranks_folder(folder, stem), stem)]
    if here:  # with those that were moved already, where a merge was killed while it moved them
        first = found[0][1]
        known = [manifest["rank"] for _, manifest in found]
        found += [one for one in put_away if _same_ranks(one[1], first) and one[1]["rank"] not in known]
    elif put_away:
        found = _latest(put_away, name)
    if not found:
        what = "no outputs of ranks (NAME.rankNNNNNofNNNNN.manifest.json) beside it"
        raise FileNotFoundError(errno.ENOENT, what, name)
    return found


def _manifests_in(folder: AnyPath, stem: str) -> list[str]:
    """The paths of the manifests of an output's ranks that are in a folder."""
    if isinstance(folder, RemotePath):
        ours = re.compile(re.escape(stem) + r"\.rank\d+of\d+\.manifest\.json")
        return [str(folder / name) for name in folder.sizes() if ours.fullmatch(name)]
    return glob.glob(os.path.join(glob.escape(str(folder)), glob.escape(stem) + ".rank*of*.manifest.json"))


def _same_ranks(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two manifests are of ranks of one run, as many of them."""
    return bool(one["run"] == other["run"] and one["rank"] and other["rank"] and one["rank"][1] == other["rank"][1])


def _latest(found: Found, name: str) -> Found:
    """Of the ranks that merges have put away, those of the output that is there: earlier ones may have been of another
    run, or as many as now are not. All of them where no output says which."""
    if all(_same_ranks(manifest, found[0][1]) for _, manifest in found):
        return found
    merged = None
    with suppress(FormatError):
        merged = find_manifest(name)
    if merged is None:
        return found
    of_run = [one for one in found if one[1]["run"] == merged[1]["run"] and one[1]["rank"]]
    for _, first in of_run:
        same = [one for one in of_run if _same_ranks(one[1], first)]
        if len(same) == first["rank"][1]:
            return same
    return found


def check_ranks(found: Found, output: str | os.PathLike[str]) -> None:
    """Raises FormatError unless each rank of the run is there once."""
    size = found[0][1]["rank"][1]
    ranks = [manifest["rank"][0] for _, manifest in found]
    twice = [rank for rank, following in itertools.pairwise(ranks) if rank == following]
    if twice:
        raise FormatError(f"{os.fspath(output)}: ranks {twice} of {size} are given more than once")
    if len(ranks) < size:
        # a size that is damaged could be any number
        given = set(ranks)
        missing = list(itertools.islice((rank for rank in range(size) if rank not in given), 10))
        more = " and others" if len(missing) < size - len(ranks) else ""
        raise FormatError(f"{os.fspath(output)}: ranks {missing}{more} of {size} are missing")


def _away(path: AnyPath) -> AnyPath:
    """Where the files of a rank are moved, of which this is the manifest."""
    return ranks_folder(path.parent, path.name.rpartition(".rank")[0])


def _to_move(found: Found, folder: AnyPath) -> list[AnyPath]:
    """The manifests of ranks whose files are in a folder."""
    return [path for path, _ in found if same_place(path.parent, folder)]


def check_room(found: Found, folder: AnyPath, *, overwrite: bool) -> None:
    """Find out before the work that ranks cannot be moved out of a folder.

    Raises:
        FileExistsError: The files of other ranks are there.
    """
    for path in _to_move(found, folder):
        there = _away(path) / path.name
        if not overwrite and exists(there):
            raise file_exists(there, "a rank of an earlier merge; overwrite=True replaces it, delete=True keeps none")


def put_away(found: Sequence[tuple[AnyPath, dict[str, Any]]], folder: AnyPath, *, delete: bool) -> None:
    """Move the files of ranks out of a folder, or delete those of all; doing it again does the rest."""
    move = set(_to_move(list(found), folder))
    for path, manifest in found:
        files = [path.parent / file["name"] for file in listed_files(manifest)]
        for file in [*files, path]:  # the manifest last: until then the others are found by it
            if delete:
                file.unlink(missing_ok=True)
            elif path in move:
                _move(file, _away(path))


def _move(file: AnyPath, folder: AnyPath) -> None:
    """Move a file, unless it has been moved, into a folder."""
    if isinstance(file, RemotePath):
        assert isinstance(folder, RemotePath)
        file.move(folder / file.name)
    elif isinstance(folder, Path) and os.path.lexists(file):
        folder.mkdir(exist_ok=True)
        os.replace(file, folder / file.name)
