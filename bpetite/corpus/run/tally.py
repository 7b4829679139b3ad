"""Counts of a run, and the problems that it has met."""
from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from ..encoding.rows import Encoded
from ..reading.locating import Locator
from ..reading.records import Problem
from ..sources.find import Piece

__all__ = ["RecordError", "Tally", "error_limit"]

#: Records after which a share of problems means something before the end.
ENOUGH = 1000

PROBLEMS = {
    "invalid-utf8": "text that is not UTF-8",
    "lone-surrogate": "a lone surrogate escape",
    "malformed-json": "malformed JSON",
    "no-text": "no text",
    "damaged-file": "damaged or cut short data",
    "too-long": "a document longer than max_document_bytes",
    "special-token": "a special token in the text",
    "unencodable": "text that the tokenizer cannot encode",
}

#: The attributes of a tally that a journal records.
STATE = (
    "documents", "tokens", "bytes", "problems", "final_separator", "piece", "records", "all_records",
)  # fmt: skip


class RecordError(ValueError):
    """A record has a problem, and the policy is to stop there; or more of them have than ``max_errors`` allows."""


def error_limit(limit: str | int | None) -> tuple[int | None, float | None]:
    """(most problems, largest share of them among all records) of ``max_errors``.

    >>> error_limit(5), error_limit("12"), error_limit("0.5%"), error_limit(None)
    ((5, None), (12, None), (None, 0.005), (None, None))

    Raises:
        ValueError: It is neither.
    """
    if limit is None:
        return None, None
    found = re.fullmatch(r"(\d+)|(\d+(?:\.\d+)?)\s*%", str(limit))
    if not found or (found[2] and float(found[2]) > 100):
        raise ValueError(f"max_errors {limit!r} is neither a number such as 100 nor a share such as 0.1%")
    return (int(found[1]), None) if found[1] else (None, float(found[2]) / 100)


class Tally:
    """Documents, tokens, bytes and problems so far: the part of a run's state that is not in its output files.

    Attributes:
        documents, tokens, bytes: Written so far; bytes are those of the documents as UTF-8.
        problems: `Problem.what` -> count, and where the first one was.
        final_separator: Whether a separator followed the last document of text; None before there was one.
        piece, records: The number of records that have been read from the piece.
        all_records: The number of those that have been read from all pieces, whatever became of them.
    """

    def __init__(
        self, pieces: Sequence[Piece], policy: str, log: Callable[[str], None] | None = None,
        max_errors: str | int | None = None,
    ) -> None:
        self.locator: Locator = Locator(pieces, checked=policy != "fail")
        self._policy = policy
        self._log = log
        self._limit = max_errors
        self._most, self._share = error_limit(max_errors)
        self.documents: int = 0
        self.tokens: int = 0
        self.bytes: int = 0
        self.problems: dict[str, dict[str, Any]] = {}
        self.final_separator: bool | None = None
        self.piece: int = 0
        self.records: int = 0
        self.all_records: int = 0

    def add(self, encoded: Encoded) -> list[int]:
        """Count a result; returns the number in its file of the first record of each block.

        Raises:
            RecordError: It has a problem and the policy is "fail", or there have been too many.
        """
        for problem in encoded.problems:
            self._note(problem)
        self.documents += encoded.documents
        self.bytes += encoded.text_bytes
        self.tokens += sum(len(split.tokens) for split in encoded.splits.values())
        if encoded.final_separator is not None:
            self.final_separator = encoded.final_separator
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

    @property
    def problem_count(self) -> int:
        """Problems so far."""
        return sum(problem["count"] for problem in self.problems.values())

    def check_limit(self, *, at_end: bool = False) -> None:
        """Raises RecordError where there are more problems than ``max_errors``; a share counts from `ENOUGH` records
        on, and at the end."""
        count = self.problem_count
        records = max(self.all_records, count)  # damage is a problem, and no record
        too_many = self._most is not None and count > self._most
        if self._share is not None and (at_end or records >= ENOUGH):
            too_many = count > self._share * records
        if too_many:
            kinds = ", ".join(f"{problem['count']:,} x {kind}" for kind, problem in self.problems.items())
            raise RecordError(
                f"{count:,} problems in {records:,} records ({kinds}), more than max_errors {self._limit}; with "
                "a larger one, the run goes on"
            )

    def _note(self, problem: Problem) -> None:
        known = self.problems.get(problem.what)
        if known is not None:
            known["count"] += 1
            return
        where = self.locator.where(problem)
        self.locator.close()
        line = f"{where}: {PROBLEMS[problem.what]}: {problem.detail}"
        if self._policy == "fail":
            raise RecordError(f"{line} (on_error='skip' goes on, and counts)")
        self.problems[problem.what] = {"count": 1, "first": where, "detail": problem.detail}
        if self._log is not None:
            self._log(f"{line} ({'left out' if self._policy == 'skip' else 'replaced'}; further ones are only counted)")

    def state(self) -> dict[str, Any]:
        """The part of the journal's record."""
        return {name: getattr(self, name) for name in STATE}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a state that the journal recorded."""
        for name, value in state.items():
            setattr(self, name, value)
