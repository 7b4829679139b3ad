"""Statistics of a run by groups: input files, their folders, or the values of a key of records.

A group is a flat table of numbers, which are only ever added: those of blocks in a part, those of parts in a manifest.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import PurePath
from typing import Any

from ..sources.find import Piece
from ..sources.urls import is_url

__all__ = ["MOST_GROUPS", "NO_LABEL", "Stats", "add_stats", "group_of", "sorted_stats", "stats_rows"]

#: The group of records that have no such key, or a problem.
NO_LABEL = "(none)"

#: Each record of a journal has all groups.
MOST_GROUPS = 1000

#: group -> "documents", "tokens", "bytes", "rejected" (records with a problem) and "lengths_N": documents of N to
#: 2 N - 1 tokens, where N is 0 or a power of two.
Stats = dict[str, "Counter[str]"]


def group_of(piece: Piece, by: str) -> str:
    """The group of what is in a file."""
    if by == "file":
        return piece.path
    if by == "folder":
        return piece.path.rpartition("/")[0] if is_url(piece.path) else str(PurePath(piece.path).parent)
    return NO_LABEL


def add_stats(stats: Stats, added: Iterable[tuple[str, Mapping[str, int]]], by: str | None) -> None:
    """Add to groups.

    Raises:
        ValueError: There are too many.
    """
    for group, numbers in added:
        stats.setdefault(group, Counter()).update(numbers)
    if len(stats) > MOST_GROUPS:
        raise ValueError(f"stats_by={by!r}: more than {MOST_GROUPS:,} groups")


def sorted_stats(stats: Mapping[str, Mapping[str, int]]) -> dict[str, dict[str, int]]:
    """Groups and numbers in an order that depends on nothing else, for a manifest."""
    return {
        group: {name: stats[group][name] for name in sorted(stats[group], key=lambda name: (len(name), name))}
        for group in sorted(stats)
    }


def stats_rows(manifest: dict[str, Any]) -> list[dict[str, Any]]:
    """A row for each group of a manifest: "group", its numbers, "bytes_per_token", and "lengths" (the least number of
    tokens -> documents)."""
    return [
        {
            "group": group,
            **{name: numbers.get(name, 0) for name in ("documents", "tokens", "bytes", "rejected")},
            "bytes_per_token": round(numbers.get("bytes", 0) / max(1, numbers.get("tokens", 0)), 3),
            "lengths": {name[8:]: count for name, count in numbers.items() if name.startswith("lengths_")},
        }
        for group, numbers in manifest["stats"].items()
    ]
