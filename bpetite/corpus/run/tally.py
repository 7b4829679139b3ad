"""Counts of a run, and the problems that it has met."""
from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from ..encoding.rows import Encoded
from ..reading.problems import Problems
from ..sources.find import Piece
from .stats import NO_LABEL, Stats, add_stats, group_of

__all__ = ["Tally"]

#: The attributes of a tally that a journal records.
STATE = (
    "documents", "tokens", "bytes", "problems", "final_separator", "piece", "records", "all_records", "stats",
    "marks",
)  # fmt: skip


class Tally:
    """Documents, tokens, bytes and problems so far: the part of a run's state that is not in its output files.

    Attributes:
        documents, tokens, bytes: Written so far; bytes are those of the documents as UTF-8.
        final_separator: Whether a separator followed the last document of text; None before there was one.
        piece, records: The number of records that have been read from the piece.
        all_records: The number of all records that have been read, whatever became of them.
        marks: Byte order marks that were skipped at the start of lines.
        stats: By the groups of ``stats_by``, if that is given.
    """

    def __init__(
        self, pieces: Sequence[Piece], policy: str, log: Callable[[str], None] | None = None,
        max_errors: str | int | None = None, stats_by: str | None = None,
    ) -> None:
        self._pieces = pieces
        self._stats_by = stats_by
        self.stats: Stats = {}
        self.noted: Problems = Problems(pieces, policy, log, max_errors)
        self.documents: int = 0
        self.tokens: int = 0
        self.bytes: int = 0
        self.final_separator: bool | None = None
        self.piece: int = 0
        self.records: int = 0
        self.all_records: int = 0
        self.marks: int = 0

    def add(self, encoded: Encoded) -> list[int]:
        """Count a result; returns the number in its file of the first record of each block.

        Raises:
            RecordError: It has a problem and the policy is "fail", or there have been too many.
        """
        for problem in encoded.problems:
            self.noted.add(problem)
        self.documents += encoded.documents
        self.bytes += encoded.text_bytes
        self.marks += encoded.marks
        self.tokens += sum(len(split.tokens) for split in encoded.splits.values())
        if encoded.final_separator is not None:
            self.final_separator = encoded.final_separator
        if self._stats_by is not None:
            self._add_stats(encoded, self._stats_by)
        firsts = []
        for piece, records in encoded.blocks:
            if piece != self.piece:
                self.piece, self.records = piece, 0
            firsts.append(self.records)
            self.records += records
            self.all_records += records
        if encoded.problems:
            self.check_limit()
        return firsts

    def _add_stats(self, encoded: Encoded, by: str) -> None:
        added = [
            (group_of(self._pieces[found], by) if isinstance(found, int) else found or NO_LABEL, numbers)
            for found, numbers in (encoded.stats or {}).items()
        ]
        added += [(group_of(self._pieces[problem.piece], by), {"rejected": 1}) for problem in encoded.problems]
        add_stats(self.stats, added, by)

    @property
    def problems(self) -> dict[str, dict[str, Any]]:
        """`Problem.what` -> count, and where the first one was."""
        return self.noted.found

    @problems.setter
    def problems(self, found: dict[str, dict[str, Any]]) -> None:
        self.noted.found = found

    def check_limit(self, *, at_end: bool = False) -> None:
        """Raises RecordError where there are more problems than ``max_errors``."""
        self.noted.check_limit(self.all_records, at_end=at_end)

    def state(self) -> dict[str, Any]:
        """The part of the journal's record."""
        return {name: getattr(self, name) for name in STATE}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a state that the journal recorded."""
        for name, value in copy.deepcopy(state).items():
            setattr(self, name, value)
        self.stats = {group: Counter(numbers) for group, numbers in self.stats.items()}
