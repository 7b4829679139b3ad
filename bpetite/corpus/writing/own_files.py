"""Files of an output that lie among its inputs: what an earlier run of it wrote is never read as part of the corpus."""
from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from ...errors import FormatError, file_exists
from ..reading.sources import STDIN, Piece
from .manifest import read_manifest
from .naming import Names

__all__ = ["leave_out_own"]


def leave_out_own(pieces: Sequence[Piece], names: Names) -> tuple[tuple[Piece, ...], tuple[str, ...]]:
    """(the pieces that are not of this output, the paths of those that are).

    Manifests say what is of an output, its own and those of its ranks; a file of the same name that none of them lists
    is an input that the run would replace.

    Raises:
        FileExistsError: There is such an input.
    """
    folder = os.path.realpath(names.folder)
    real: dict[str, str] = {}

    def name_of(piece: Piece) -> str | None:
        """The name of a piece that is in the folder of the output."""
        head, tail = os.path.split(piece.path)
        if head not in real:
            real[head] = os.path.realpath(head or os.curdir)
        return tail if real[head] == folder and piece.path != STDIN else None

    named = [name_of(piece) for piece in pieces]
    if not any(named):
        return tuple(pieces), ()
    own = _own(names)
    kept: list[Piece] = []
    left_out: list[str] = []
    for piece, name in zip(pieces, named, strict=True):
        if name is not None and (name in own or names.is_temporary(name)):
            left_out.append(piece.path)
            continue
        if name is not None and (name in (names.manifest.name, names.journal.name) or names.is_finished(name)):
            raise file_exists(piece.path, "an input has the name of a file of the output; choose another output")
        kept.append(piece)
    return tuple(kept), tuple(left_out)


def _own(names: Names) -> set[str]:
    """The names that the manifests of an output and of its ranks list, and their own."""
    own: set[str] = set()
    rank = re.compile(rf"{re.escape(names.stem or 'tokens')}\.rank\d{{5}}of\d{{5}}\.")
    for name in os.listdir(names.folder) if names.folder.is_dir() else ():
        if rank.match(name):
            own.add(name)
        if name == names.manifest.name:
            own.update(_listed(names.folder / name))
    return own


def _listed(manifest: Path) -> Iterable[str]:
    with suppress(FormatError, OSError):
        return [manifest.name, *(file["name"] for file in read_manifest(manifest)["files"])]
    return []
