"""How far a run has come that is not finished: what its journal says, read without touching it."""
from __future__ import annotations

import glob
import os
import re
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .output.durable import PARTIAL, read_records
from .output.shapes import CLUSTER_HEADER, TASK_HEADER, TASK_RECORD, check_shape
from .output.upload import claimed
from .reading.readers import Position
from .run.outputs import stems_of
from .sources.find import STDIN, Piece
from .sources.paths import RemotePath

__all__ = ["find_journals", "progress_at", "progress_of", "raw_before"]


def find_journals(path: str | os.PathLike[str]) -> list[Path]:
    """The journals of an output and of its ranks, found from its name, its folder, a journal or a temporary file."""
    path = Path(path)
    if path.name.endswith("journal") and path.is_file():
        return [path]
    folder, stems = path, ["", "tokens"]
    if not path.is_dir():
        name = path.name
        if name.endswith(PARTIAL):
            name = re.sub(r"(\.lengths|\.meta|\.tokens)?$", "", name.removesuffix(PARTIAL), count=1)
        folder, stems = path.parent, stems_of(name)
    for stem in stems:
        journal = folder / (f"{stem}.journal" if stem else "journal")
        ranks = sorted(glob.glob(f"{glob.escape(str(folder / stem))}.rank*of*.journal")) if stem else []
        found = ([journal] if journal.is_file() else []) + [Path(rank) for rank in ranks]
        if found:
            return found
    return []


def progress_at(url: str) -> list[dict[str, Any]]:
    """What has been done of the runs that say at a URL that they are writing there; see `progress_of`.

    Raises:
        FormatError: A journal is damaged.
        OSError: The store cannot be asked.
    """
    path = RemotePath(url)
    for home, stems in ((path, [""]), (path.parent, stems_of(path.name))):
        markers = [name for name in home.sizes() if name.endswith("unfinished")]
        for stem in stems:
            of_stem = rf"{re.escape(stem)}(\.rank\d{{5}}of\d{{5}})?\." if stem else r"(.*\.)?"
            ours = re.compile(of_stem + "unfinished")
            found = [_progress_in(home, name) for name in sorted(markers) if ours.fullmatch(name)]
            if found:
                return found
    return []


def _progress_in(home: RemotePath, marker: str) -> dict[str, Any]:
    said = claimed(home / marker) or {}
    journal = Path(str(said.get("staging")), marker.removesuffix("unfinished") + "journal")
    if said.get("host") == socket.gethostname() and journal.is_file():
        return progress_of(journal)
    where = f"{said.get('host')}:{said.get('staging')}"
    return {"output": str(home / marker), "state": f"unfinished: a run in {where}; the same command there goes on"}


def progress_of(journal: Path) -> dict[str, Any]:
    """What has been done of a run, as its journal says.

    Returns:
        "journal", "state" and, of a run that encodes, "format", "documents", "tokens" and "bytes" so far, "inputs"
        (read of all) and "input_bytes" (read of all; unknown ones count 0), "shards" that are finished, "problems".

    Raises:
        FormatError: It is damaged, or not a journal.
        OSError: It cannot be read.
    """
    records = read_records(journal)
    if not records or "merge" in records[0]:
        what = "merge" if records else "run that has not begun"
        return {"journal": str(journal), "state": f"unfinished: a {what}; the same command goes on"}
    header, *rest = records
    if "tasks" in header:
        check_shape(header, CLUSTER_HEADER, journal, "record 0")
        return {"journal": str(journal), "state": f"unfinished: {header['tasks']} tasks; the same command goes on"}
    check_shape(header, TASK_HEADER, journal, "record 0")
    for number, record in enumerate(rest, 1):
        check_shape(record, TASK_RECORD, journal, f"record {number}")
    pieces = [Piece(*described) for described in header["inputs"]]
    tally: dict[str, Any] = rest[-1]["tally"] if rest else {"documents": 0, "tokens": 0, "bytes": 0, "problems": {}}
    position = Position(**rest[-1]["position"]) if rest else Position()
    shards = sum(len(finished) for record in rest for finished in record["finished"].values())
    return {
        "journal": str(journal),
        "state": "unfinished: the same command goes on from here",
        "format": header["settings"].get("format"),
        **{name: tally[name] for name in ("documents", "tokens", "bytes")},
        "inputs": f"{min(position.piece, len(pieces))} of {len(pieces)} read",
        "input_bytes": f"{raw_before(pieces, position)} of {sum(piece.raw_bytes for piece in pieces)} read",
        "shards": shards,
        "problems": {kind: problem["count"] for kind, problem in tally["problems"].items()},
    }


def raw_before(pieces: Sequence[Piece], position: Position) -> int:
    """Bytes of input before a position; of a compressed file, only when all of it has been read."""
    before = sum(piece.raw_bytes for piece in pieces[: position.piece])
    if position.piece < len(pieces) and pieces[position.piece].compression is None:
        piece = pieces[position.piece]
        offset = position.offset if piece.path == STDIN else min(position.offset, piece.size)
        before += max(0, offset - piece.start)
    return before
