"""The progress of an unfinished output, from the journals of all its ranks: whoever runs them, on whatever machine.

Every record of a journal has a stamp, see `stamp`. A rank that reads on between two records touches its journal.
"""
from __future__ import annotations

import os
import platform
import time
from pathlib import Path
from typing import Any

from ..output.durable import read_records
from ..output.manifest import read_manifest
from ..output.naming import beside, part_stem
from ..sources.paths import AnyPath
from .outputs import begun_at

__all__ = ["status_of", "stamp"]


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
    manifest, journal = folder / beside(stem, "manifest.json"), folder / beside(stem, "journal")
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
    first = next(one for one in records if [one["stamp"][key] for key in ("host", "pid")] == [by["host"], by["pid"]])
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
