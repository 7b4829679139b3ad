"""The outputs of runs and of their parts: found by any of their names, and never read as inputs of their own run; and
the progress of those that are not finished, whoever runs them, on whatever machine.

Every record of a journal has a stamp, see `stamp`, and the first one of each process what `begun` gives. A rank that
reads on between two records touches its journal.
"""
from __future__ import annotations

import errno
import itertools
import json
import os
import platform
import re
import shlex
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeAlias

from ...errors import FormatError, file_exists
from ..layouts.registry import layout_in
from ..output.durable import read_records
from ..output.manifest import read_manifest
from ..output.naming import Names, part_stem, sibling, stems_of
from ..sources.find import STDIN, Sources
from ..sources.paths import AnyPath, RemotePath, names_in, path_of
from ..sources.stores import is_url

__all__ = [
    "Parts", "Output", "begun", "begun_at", "check_parts", "file_of_all", "find_manifest", "find_parts",
    "leave_out_own", "read_runs", "run_lines", "runs_beside", "shards_in", "stamp", "status_of",
]  # fmt: skip

#: The variables by which schedulers name a job, and the part of it that a process is, such as SLURM_JOB_ID.
JOB = re.compile(r"(?:.*_)?(?:JOB_?ID|TASK_ID|PROCID|JOBINDEX|ARRAY_INDEX)")

#: Characters of a command that are kept: a shell may have made it of a pattern.
COMMAND = 10_000

#: Entries of a manifest.
ShardFiles: TypeAlias = list[dict[str, Any]]

#: (path of a manifest, its content, the entries of the files of each shard that is meant, that of its tokens first).
Output: TypeAlias = tuple[AnyPath, dict[str, Any], list[ShardFiles]]

#: (path, manifest) of parts.
Parts: TypeAlias = list[tuple[AnyPath, dict[str, Any]]]


def find_manifest(path: str | os.PathLike[str]) -> Output | None:
    """The manifest of an output, found from its own path, the output's name, its folder, or one of its files."""
    path = path_of(path)
    if path.name.endswith("manifest.json") and path.is_file():
        manifest = read_manifest(path)
        return path, manifest, shards_in(manifest)
    if path.is_dir():
        return find_manifest(path / "manifest.json") if (path / "manifest.json").is_file() else None
    named = [path.with_name(f"{stem}.manifest.json") for stem in stems_of(path.name)]
    for candidate in [*named, path.with_name("manifest.json")]:
        if not candidate.is_file():
            continue
        manifest = read_manifest(candidate)
        shards = shards_in(manifest)
        meant = [shard for shard in shards if path.name in [file["name"] for file in shard]]
        if meant or not path.exists():
            return candidate, manifest, meant or shards
    return None


def begun_at(path: str | os.PathLike[str]) -> tuple[AnyPath, str, int] | None:
    """(folder, stem, number of ranks) of an output that was begun and is not finished, or whose ranks are not merged;
    0 ranks for a single process. None if there is none."""
    folder, stems = _place(path_of(path))
    there = names_in(folder)
    for stem in stems:
        if there & {sibling(stem, "journal"), sibling(stem, "unfinished")}:
            return folder, stem, 0
        if begun := _parts_in(there, stem, r"manifest\.json|journal|unfinished"):
            return folder, stem, max(int(one[1]) for one in begun)
    return None


def _place(path: AnyPath) -> tuple[AnyPath, list[str]]:
    """The folder of an output, and the stems that it may have; "" for a folder of its own."""
    if path.is_dir():
        return path, [""]
    stems = stems_of(path.name)
    return path.parent, stems + [""] * ("train" in stems)  # of train and val, which have a folder of their own


def shards_in(manifest: dict[str, Any]) -> list[ShardFiles]:
    """The entries of each shard's files, the file of tokens first."""
    layout = layout_in(manifest)
    size = len(layout.outputs(Path("x")))
    files = [file for file in manifest["files"] if file["name"] != layout.whole]
    return [files[at : at + size] for at in range(0, len(files), size)]


def file_of_all(manifest: dict[str, Any]) -> ShardFiles:
    whole = layout_in(manifest).whole
    return [file for file in manifest["files"] if file["name"] == whole]


# Parts


def find_parts(output: str | os.PathLike[str], parts: Iterable[str | os.PathLike[str]] = ()) -> Parts:
    """(path, manifest) of the parts of one run, in order: of those that are given, or that are beside the output.

    Raises:
        FileNotFoundError: There are none, or one that is given is not finished.
        FormatError: They are of different runs.
    """
    given = [os.fspath(part) for part in parts]
    outputs = [] if given else _beside(os.fspath(output))
    for part in given:
        if (located := find_manifest(part)) is None:
            raise FileNotFoundError(errno.ENOENT, "no manifest of a finished rank", part)
        outputs.append(located[:2])
    first_path, first = outputs[0]
    for path, manifest in outputs:
        if manifest["rank"] is None:
            raise FormatError(f"{path}: not the output of one rank of several")
        if manifest["run"] != first["run"]:
            raise FormatError(f"{path}: from another run than {first_path} (inputs, options or tokenizer differ)")
        if manifest["rank"][1] != first["rank"][1]:
            raise FormatError(
                f"{path}: one of {manifest['rank'][1]} ranks, but {first_path} is one of {first['rank'][1]}; "
                "name those of one run"
            )
    outputs.sort(key=lambda item: item[1]["rank"])
    return outputs


def _beside(name: str) -> Parts:
    folder, stems = _place(path_of(name))
    for stem in stems:
        if named := _parts_in(names_in(folder), stem, r"manifest\.json$"):
            return [(folder / one.string, read_manifest(folder / one.string)) for one in named]
    what = "no outputs of ranks (NAME.rankNNNNNofNNNNN.manifest.json) beside it"
    raise FileNotFoundError(errno.ENOENT, what, name)


def _parts_in(names: Iterable[str], stem: str, kind: str) -> list[re.Match[str]]:
    """The names that are files of this kind, of an output's parts, as matches; group 1 is the number of parts."""
    ours = re.escape(part_stem(stem, "R", "R")).replace("rankRofR", r"rank\d{5}of(\d{5})")
    return [match for name in sorted(names) if (match := re.match(rf"{ours}\.(?:{kind})", name))]


def check_parts(outputs: Parts, output: str | os.PathLike[str]) -> None:
    """Raises FormatError unless each part of the run is there once."""
    size = outputs[0][1]["rank"][1]
    ranks = [manifest["rank"][0] for _, manifest in outputs]
    twice = [rank for rank, following in itertools.pairwise(ranks) if rank == following]
    if twice:
        raise FormatError(f"{os.fspath(output)}: ranks {twice} of {size} are given more than once")
    missing = sorted({*range(size)} - {*ranks})
    if missing:
        more = " and others" if len(missing) > 10 else ""
        raise FormatError(f"{os.fspath(output)}: ranks {missing[:10]}{more} of {size} are missing")


# Inputs


def leave_out_own(sources: Sources, names: Names) -> tuple[Sources, tuple[str, ...]]:
    """Leave out the files that an earlier call of the same run wrote, by their names. Returns (the other sources, the
    paths left out that a reader would know).

    Raises:
        FileExistsError: A file of such a name is there, and no manifest or journal of the output.
    """
    here = _identity(names.place)
    folders: dict[str, object] = {}

    def is_own(path: str) -> bool:
        if path == STDIN or is_url(path) != (names.home is not None):
            return False
        head, tail = os.path.split(path)
        if head not in folders:
            folders[head] = _identity(path_of(path).parent)
        return folders[head] == here and names.kind_of(tail) is not None

    own = tuple(piece.path for piece in sources.pieces if is_own(piece.path))
    begun = not own or any(names.kind_of(name) == "sign" for name in names.there())
    if not begun:
        raise file_exists(own[0], "an input has the name of a file of the output; choose another output")
    pieces = tuple(piece for piece in sources.pieces if piece.path not in own)
    left_out = tuple(path for path in sources.left_out if not is_own(path))
    return replace(sources, pieces=pieces, left_out=left_out), own


def _identity(folder: AnyPath) -> object:
    """Equal for two names of a folder."""
    return folder.place if isinstance(folder, RemotePath) else os.path.realpath(folder)


# Runs


def begun() -> dict[str, Any]:
    """The process that begins to work on an output."""
    return {
        "begin": _time(time.time()), "host": platform.node(), "pid": os.getpid(),
        "job": {name: value for name, value in sorted(os.environ.items()) if JOB.fullmatch(name)},
        "command": shlex.join(sys.orig_argv)[:COMMAND],
    }  # fmt: skip


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def run_lines(records: Sequence[dict[str, Any]]) -> bytes:
    """A JSON line for each process that worked on an output, by the records of its journal: as of `begun`, with "end",
    when it recorded something last, and perhaps "error"."""
    runs: list[dict[str, Any]] = []
    for record in records[1:]:
        if "run" in record and "error" not in record:
            runs.append(record["run"])
        runs[-1] = {**runs[-1], "end": _time(record["stamp"]["time"])}
        if "error" in record:
            runs[-1]["error"] = record["error"]
    return b"".join(json.dumps(run).encode() + b"\n" for run in runs)


def runs_beside(manifest: AnyPath) -> AnyPath:
    return manifest.with_name(manifest.name.removesuffix("manifest.json") + "runs")


def read_runs(manifest: AnyPath) -> list[dict[str, Any]]:
    """The runs that made an output, as of `run_lines`; none if their file is not there.

    Raises:
        FormatError: It is something else.
    """
    path = runs_beside(manifest)
    try:
        return list(map(json.loads, path.read_bytes().splitlines())) if path.is_file() else []
    except ValueError as wrong:
        raise FormatError(f"{path}: not a record of runs: {wrong}") from None


# Progress


def stamp(read: int, total: int) -> dict[str, Any]:
    """Who makes a record, when (seconds since 1970), and how many bytes of its input are read."""
    return {"host": platform.node(), "pid": os.getpid(), "time": round(time.time(), 3), "read": read, "total": total}


def status_of(path: str | os.PathLike[str]) -> list[dict[str, Any]] | None:
    """The state of each rank of an output that is begun and not finished, and of the whole; None if there is no such
    output.

    Returns:
        For each rank "rank", "state" ("finished", "running", "failed", "not begun"; one that was killed is "running",
        and no sign of life comes any more), "documents", "tokens", "problems" (a number), "bytes_read", "bytes_total",
        "tokens_per_second" and "seconds_left" (at the rate of its process, or None), "age_seconds" (since the last sign
        of life), "host", "pid" and, of one that failed, "error". Then the same for the whole, whose "state" has the
        number of ranks in each.
    """
    begun = begun_at(path)
    if begun is None:
        return None
    folder, stem, count = begun
    stems = [part_stem(stem, f"{rank:05d}", f"{count:05d}") for rank in range(count)] if count else [stem]
    ranks = [{"rank": f"{rank} of {len(stems)}", **_state(folder, one)} for rank, one in enumerate(stems)]
    return ranks if len(ranks) == 1 else [*ranks, _whole(ranks)]


def _state(folder: AnyPath, stem: str) -> dict[str, Any]:
    manifest, journal = folder / sibling(stem, "manifest.json"), folder / sibling(stem, "journal")
    try:
        made = read_manifest(manifest)
        read = sum(file["bytes"] for file in made["inputs"]["files"])
        return _numbers("finished", made, read, read)
    except FileNotFoundError:
        pass
    try:
        records = read_records(journal)[1:]
    except FileNotFoundError:
        return _numbers("not begun", {}, 0, 0)
    if not records:
        return {**_numbers("running", {}, 0, 0), **_age(journal, 0)}
    last = records[-1]
    by, tally = last["stamp"], last["tally"]
    mine = [one for one in records if one["stamp"]["host"] == by["host"] and one["stamp"]["pid"] == by["pid"]]
    first = mine[0]
    seconds = max(by["time"] - first["stamp"]["time"], 1e-9)
    read = by["read"] - first["stamp"]["read"]
    state = _numbers("failed" if "error" in last else "running", tally, by["read"], by["total"])
    state["tokens_per_second"] = round((tally["tokens"] - first["tally"]["tokens"]) / seconds)
    if read:
        state["seconds_left"] = round((by["total"] - by["read"]) * seconds / read)
    state |= {**_age(journal, by["time"]), "host": by["host"], "pid": by["pid"]}
    return state | ({"error": last["error"]} if "error" in last else {})


def _numbers(state: str, counts: dict[str, Any], read: int, total: int) -> dict[str, Any]:
    return {
        "state": state,
        **{name: counts.get(name, 0) for name in ("documents", "tokens")},
        "problems": sum(problem["count"] for problem in counts.get("problems", {}).values()),
        "bytes_read": read, "bytes_total": total,
        "tokens_per_second": 0, "seconds_left": 0 if state == "finished" else None,
    }  # fmt: skip


def _age(journal: AnyPath, recorded: float) -> dict[str, int]:
    """Seconds since the last sign of life; in a store, since the last record."""
    touched = journal.stat().st_mtime if isinstance(journal, Path) else recorded
    return {"age_seconds": max(0, round(time.time() - max(recorded, touched)))}


def _whole(ranks: list[dict[str, Any]]) -> dict[str, Any]:
    states = [rank["state"] for rank in ranks]
    left = [rank["seconds_left"] for rank in ranks]
    return {
        "rank": "all",
        "state": ", ".join(f"{states.count(state)} {state}" for state in dict.fromkeys(states)),
        **{name: sum(rank[name] for rank in ranks) for name in (
            "documents", "tokens", "problems", "bytes_read", "bytes_total", "tokens_per_second"
        )},
        "seconds_left": None if None in left else max(left),
    }  # fmt: skip
