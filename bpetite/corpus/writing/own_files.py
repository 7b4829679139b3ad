"""Files of an output that lie among its inputs: what an earlier run of it wrote is never read as part of the corpus."""
from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress

from ...errors import FormatError, file_exists
from ..reading.sources import STDIN, Piece
from ..remote.paths import AnyPath, RemotePath, path_of
from ..urls import is_url
from .manifest import listed_files, read_manifest
from .naming import Names, ranks_folder

__all__ = ["leave_out_own"]


def leave_out_own(pieces: Sequence[Piece], names: Names) -> tuple[tuple[Piece, ...], tuple[str, ...]]:
    """(the pieces that are not of this output, the paths of those that are).

    Manifests say what is of an output, its own and those of its ranks; a file of the same name that none of them lists
    is an input that the run would replace.

    Raises:
        FileExistsError: There is such an input.
    """
    folder = _place(names.place)
    merged = _place(ranks_folder(names.place, names.stem))
    real: dict[str, object] = {}

    def name_in(place: object, piece: Piece) -> str | None:
        """The name of a piece that is in a folder."""
        if piece.path == STDIN or is_url(piece.path) != (names.home is not None):
            return None
        head, tail = os.path.split(piece.path)
        if head not in real:
            real[head] = _place(path_of(piece.path).parent)
        return tail if real[head] == place else None

    named = [name_in(folder, piece) for piece in pieces]
    put_away = [name_in(merged, piece) for piece in pieces]
    if not any(named) and not any(put_away):
        return tuple(pieces), ()
    of_rank = re.compile(rf"{re.escape(names.stem or 'tokens')}\.rank\d{{5}}of\d{{5}}\.")
    own = _own(names, of_rank)
    kept: list[Piece] = []
    left_out: list[str] = []
    for piece, name, away in zip(pieces, named, put_away, strict=True):
        if away is not None and of_rank.match(away):
            left_out.append(piece.path)
            continue
        if name is not None and (name in own or names.is_temporary(name)):
            left_out.append(piece.path)
            continue
        if name is not None and (name in (names.manifest.name, names.journal.name) or names.is_finished(name)):
            raise file_exists(piece.path, "an input has the name of a file of the output; choose another output")
        kept.append(piece)
    return tuple(kept), tuple(left_out)


def _place(folder: AnyPath) -> object:
    """What is equal for two names of a folder."""
    return folder.place if isinstance(folder, RemotePath) else os.path.realpath(folder)


def _own(names: Names, of_rank: re.Pattern[str]) -> set[str]:
    """The names that the manifests of an output and of its ranks list, and their own."""
    own: set[str] = set()
    for name in names.there():
        if of_rank.match(name):
            own.add(name)
        if name == names.manifest.name:
            own.update(_listed(names.manifest))
    return own


def _listed(manifest: AnyPath) -> Iterable[str]:
    with suppress(FormatError, OSError):
        return [manifest.name, *(file["name"] for file in listed_files(read_manifest(manifest)))]
    return []
