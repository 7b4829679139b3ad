"""Counts of a run, its statistics by groups, and the problems that it has met.

A group is an input file, a folder, or a value of a key of records: a flat table of numbers, which are only ever added,
those of blocks in a part, those of parts in a manifest.
"""
from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from ..encoding.rows import Encoded
from ..output.manifest import LISTED
from ..reading.problems import Problems
from ..reading.sums import Sums, add_sums
from ..sources.find import Piece
from ..sources.stores import is_url

__all__ = ["Stats", "Tally", "add_stats", "group_of", "sorted_stats", "stats_rows"]

#: The attributes of a tally that a journal records.
STATE = (
    "documents", "tokens", "bytes", "problems", "final_separator", "piece", "records", "all_records", "stats",
    "marks",
)  # fmt: skip

#: Problems of records whose bytes are not kept, so that there is no checksum of them.
NOT_KEPT = ("too-long", "damaged-file")

#: The group of records that have no such key, or a problem.
NO_LABEL = "(none)"

#: Each record of a journal has all groups.
MOST_GROUPS = 1000

#: group -> "documents", "tokens", "bytes", "rejected" (records with a problem) and "lengths_N": documents of N to
#: 2 N - 1 tokens, where N is 0 or a power of two.
Stats = dict[str, "Counter[str]"]


class Tally:
    """Documents, tokens, bytes and problems so far: the part of a run's state that is not in its output files.

    Attributes:
        documents, tokens, bytes: Written so far; bytes of the documents as UTF-8.
        problems: `Problem.what` -> count, and where the first one was.
        final_separator: Whether a separator followed the last document of text; None before there was one.
        piece, records: The number of records that have been read from the piece.
        all_records: The number of all records that have been read, whatever became of them.
        marks: Byte order marks that were skipped at the start of lines.
        stats: By the groups of ``stats_by``, if that is given.
        sums: Number of a piece -> the checksums of what was read of it; None where that was not kept.
        recorded: The first piece whose checksums a journal may not have.
    """

    def __init__(
        self, pieces: Sequence[Piece], policy: str, log: Callable[[str], None] | None = None,
        max_errors: str | int | None = None, stats_by: str | None = None,
    ) -> None:
        self._pieces = pieces
        self._stats_by = stats_by
        self.stats: Stats = {}
        self.noted: Problems = Problems(pieces, policy, log, max_errors)
        self.problems: dict[str, dict[str, Any]] = self.noted.found
        self.documents: int = 0
        self.tokens: int = 0
        self.bytes: int = 0
        self.final_separator: bool | None = None
        self.piece: int = 0
        self.records: int = 0
        self.all_records: int = 0
        self.marks: int = 0
        self.sums: dict[int, Sums | None] = {}
        self.recorded: int = 0

    def add(self, encoded: Encoded) -> list[int]:
        """Count a result; returns the number in its file of the first record of each block. Its problems may be errors
        (`Problems.add`), or be too many."""
        for problem in encoded.problems:
            self.noted.add(problem)
        self.documents += encoded.documents
        self.bytes += encoded.text_bytes
        self.marks += encoded.marks
        self.tokens += sum(int(rows.lengths.sum()) for rows in encoded.splits.values())
        if encoded.final_separator is not None:
            self.final_separator = encoded.final_separator
        if self._stats_by is not None:
            self._add_stats(encoded, self._stats_by)
        firsts = []
        for piece, records, sums in encoded.blocks:
            if piece != self.piece:
                self.piece, self.records = piece, 0
            firsts.append(self.records)
            self.records += records
            self.all_records += records
            if len(self._pieces) <= LISTED and (known := self.sums.setdefault(piece, {})) is not None:
                add_sums(known, sums)
        self.sums.update((problem.piece, None) for problem in encoded.problems if problem.what in NOT_KEPT)
        if encoded.problems:
            self.check_limit()
        return firsts

    def _add_stats(self, encoded: Encoded, by: str) -> None:
        added = [
            (group_of(self._pieces[group], by) if isinstance(group, int) else group or NO_LABEL, numbers)
            for group, numbers in (encoded.stats or {}).items()
        ]
        added += [(group_of(self._pieces[problem.piece], by), {"rejected": 1}) for problem in encoded.problems]
        add_stats(self.stats, added, by)

    def check_limit(self, *, at_end: bool = False) -> None:
        self.noted.check_limit(self.all_records, at_end=at_end)

    def state(self) -> dict[str, Any]:
        new = {str(piece): sums for piece, sums in self.sums.items() if piece >= self.recorded}
        return {**{name: getattr(self, name) for name in STATE}, "sums": new}

    def restore(self, states: Sequence[dict[str, Any]]) -> None:
        for name in STATE:
            setattr(self, name, copy.deepcopy(states[-1][name]))
        for state in states:
            self.sums.update((int(piece), copy.deepcopy(sums)) for piece, sums in state["sums"].items())
        self.recorded, self.noted.found = self.piece, self.problems
        self.stats = {group: Counter(numbers) for group, numbers in self.stats.items()}


def group_of(piece: Piece, by: str) -> str:
    if by == "file":
        return piece.path
    if by == "folder":
        return piece.path.rpartition("/")[0] if is_url(piece.path) else str(PurePath(piece.path).parent)
    return NO_LABEL


def add_stats(stats: Stats, added: Iterable[tuple[str, Mapping[str, int]]], by: str | None) -> None:
    """Add to groups; too many are an error."""
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
