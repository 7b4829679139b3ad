"""Files of an output that lie among its inputs: what an earlier run of it wrote is never read as part of the corpus."""
from __future__ import annotations

import os
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

from ...errors import FormatError, file_exists
from ..output.durable import read_records
from ..output.manifest import listed_files, read_manifest
from ..output.naming import Names, ranks_folder
from ..output.shapes import TASK_HEADER, check_shape
from ..output.shards import outputs_in
from ..sources.find import STDIN, Piece, Sources
from ..sources.paths import AnyPath, RemotePath, path_of
from ..sources.urls import is_url

__all__ = ["Inputs", "leave_out_own"]


@dataclass(frozen=True)
class Inputs:
    """What is left of sources without the files of an output.

    Attributes:
        pieces: What is read.
        own: The paths of files that a reader knows, but that are of the output.
        unread: The paths of files that no reader knows, and that are of nobody.
    """

    pieces: tuple[Piece, ...]
    own: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()


def leave_out_own(sources: Sources, names: Names) -> Inputs:
    """Sources without the files of an output.

    Manifests say what is of an output, its own and those of its ranks, and the journal of a run that goes on; a file of
    the same name that none of them lists is an input that the run would replace.

    Raises:
        FileExistsError: There is such an input.
    """
    folder = _place(names.place)
    merged = _place(ranks_folder(names.place, names.stem))
    real: dict[str, object] = {}

    def place_of(path: str) -> tuple[object, str]:
        """(folder, name) of a file; (None, "") where no file of the output can be."""
        if path == STDIN or is_url(path) != (names.home is not None):
            return None, ""
        head, tail = os.path.split(path)
        if head not in real:
            real[head] = _place(path_of(path).parent)
        return real[head], tail

    found = [(piece.path, place_of(piece.path)) for piece in sources.pieces]
    unknown = [(path, place_of(path)) for path in sources.left_out]
    if not any(place in (folder, merged) for _, (place, _) in found + unknown):
        return Inputs(tuple(sources.pieces), (), tuple(sources.left_out))
    of_rank = re.compile(rf"{re.escape(names.stem or 'tokens')}\.rank\d{{5}}of\d{{5}}\.")
    own = _own(names, of_rank)
    ours = {names.journal.name if names.home is None else names.marker.name}

    def is_own(place: object, name: str) -> bool:
        if place == merged and of_rank.match(name):
            return True
        return place == folder and (name in own or names.is_temporary(name))

    kept, left_out = [], []
    for piece, (path, (place, name)) in zip(sources.pieces, found, strict=True):
        if is_own(place, name):
            left_out.append(path)
        elif place == folder and (name in (names.manifest.name, names.journal.name) or names.is_finished(name)):
            raise file_exists(path, "an input has the name of a file of the output; choose another output")
        else:
            kept.append(piece)
    unread = [
        path for path, (place, name) in unknown
        if not is_own(place, name)
        # what is left of an earlier run is no input, and whether it may be replaced is asked later
        and not (place == folder and (names.is_finished(name) or name in ours))
    ]  # fmt: skip
    return Inputs(tuple(kept), tuple(left_out), tuple(unread))


def _place(folder: AnyPath) -> object:
    """What is equal for two names of a folder."""
    return folder.place if isinstance(folder, RemotePath) else os.path.realpath(folder)


def _own(names: Names, of_rank: re.Pattern[str]) -> set[str]:
    """The names that the manifests of an output and of its ranks list, and their own; and what the journal lists."""
    own: set[str] = set()
    for name in names.there():
        if of_rank.match(name):
            own.add(name)
        if name == names.manifest.name:
            own.update(_listed(names.manifest))
    own.update(_finished_by(names))
    return own


def _listed(manifest: AnyPath) -> Iterable[str]:
    with suppress(FormatError, OSError):
        return [manifest.name, *(file["name"] for file in listed_files(read_manifest(manifest)))]
    return []


def _finished_by(names: Names) -> Iterable[str]:
    """The names of the files that an unfinished run has finished."""
    with suppress(FormatError, OSError):
        header, *records = read_records(names.journal)
        check_shape(header, TASK_HEADER, names.journal)
        # the manifest comes last, after the file that all shards have together
        finished = [names.layout.whole or "", *(output["name"] for output in outputs_in(records, names.journal))]
        return finished if records else []
    return []
