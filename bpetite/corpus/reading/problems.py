"""Problems of records: counted by kind, the first of each kind reported with its file and line.

Lines are counted here alone, when they are asked for.
"""
from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..sources.find import STDIN, Piece
from ..sources.streams import Stream

__all__ = ["Flaw", "Problem", "Problems", "RecordError", "error_limit"]

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


@dataclass(frozen=True)
class Flaw:
    """A problem in the place of a text, before it is known which record it is of.

    Attributes:
        what: A key of `PROBLEMS`.
        detail: What was found, for people.
        replacement: The nearest text, in UTF-8.
        at: The offset in the text.
    """

    what: str
    detail: str
    replacement: bytes = b""
    at: int = 0

    def __len__(self) -> int:
        return len(self.replacement)


@dataclass(frozen=True)
class Problem:
    """A problem of a record.

    Attributes:
        what, detail: As of a `Flaw`.
        piece: Number of the piece.
        offset: In bytes of the (decompressed) file; the number of the record where ``row`` is true.
        line: The line, if it is known already.
        row: The file has numbered records, and no lines.
    """

    what: str
    detail: str
    piece: int
    offset: int
    line: int | None = None
    row: bool = False


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
    match = re.fullmatch(r"(\d+)|(\d+(?:\.\d+)?)\s*%", str(limit))
    if not match or (match[2] and float(match[2]) > 100):
        raise ValueError(f"max_errors {limit!r} is neither a number such as 100 nor a share such as 0.1%")
    return (int(match[1]), None) if match[1] else (None, float(match[2]) / 100)


class Problems:
    """Problems so far, and where they are: a file is read once for all of them, as long as they come in its order.

    Args:
        policy: "fail", "skip" or "replace".
        log: Called with the first problem of each kind.
        max_errors: See `error_limit`.

    Attributes:
        found: `Problem.what` -> count, and where the first one was.
    """

    def __init__(
        self, pieces: Sequence[Piece], policy: str, log: Callable[[str], None] | None = None,
        max_errors: str | int | None = None,
    ) -> None:
        self._pieces = pieces
        self._piece = -1
        self._stream: Stream | None = None
        self._line = 1
        self.found: dict[str, dict[str, Any]] = {}
        self._policy = policy
        self._log = log
        self._limit = max_errors
        self._most, self._share = error_limit(max_errors)

    @property
    def count(self) -> int:
        return sum(problem["count"] for problem in self.found.values())

    def add(self, problem: Problem) -> None:
        """Count a problem; with the policy "fail", raise it as a RecordError."""
        known = self.found.get(problem.what)
        if known is not None:
            known["count"] += 1
            return
        where = self.where(problem)
        self.close()
        line = f"{where}: {PROBLEMS[problem.what]}: {problem.detail}"
        if self._policy == "fail":
            # a key that the first record lacks is a wrong one: to skip would drop them all
            no_key = problem.what == "no-text" and problem.detail.startswith("no ")
            key = "text_key= names another key" if problem.what == "no-text" else ""
            skip = "" if no_key and where.endswith((":1", " 1")) else "on_error='skip' goes on, and counts"
            raise RecordError(f"{line} ({', '.join(filter(None, (key, skip)))})")
        self.found[problem.what] = {"count": 1, "first": where, "detail": problem.detail}
        if self._log is not None:
            treated = "left out" if self._policy == "skip" else "replaced"
            self._log(f"{line} ({treated}; further ones are only counted)")

    def check_limit(self, records: int, *, at_end: bool = False) -> None:
        """Raises RecordError where there are more problems than ``max_errors`` allows for a number of records; a share
        counts from `ENOUGH` records on, and at the end."""
        count = self.count
        records = max(records, count)  # damage is a problem, and no record
        too_many = self._most is not None and count > self._most
        if self._share is not None and (at_end or records >= ENOUGH):
            too_many = count > self._share * records
        if too_many:
            kinds = ", ".join(f"{problem['count']:,} x {kind}" for kind, problem in self.found.items())
            raise RecordError(
                f"{count:,} problems in {records:,} records ({kinds}), more than max_errors {self._limit}; with "
                "a larger one, the run goes on"
            )

    def where(self, problem: Problem) -> str:
        """file:line; of records that are numbered, the row."""
        name, line = self._name(problem), self.line(problem)
        return f"{name}: row {problem.offset + 1}" if line is None else f"{name}:{line}"

    def record(self, problem: Problem) -> bytes:
        """A line of the file of rejected records."""
        line = self.line(problem)
        entry: dict[str, Any] = {"file": self._name(problem)}
        if line is None:
            entry["row"] = problem.offset + 1
        else:
            entry |= {"line": line, "offset": problem.offset}
        entry |= {"reason": problem.what, "detail": problem.detail, "treated": self._policy}
        return json.dumps(entry).encode() + b"\n"

    def line(self, problem: Problem) -> int | None:
        """The line, from 1; None where rows are counted."""
        if problem.row:
            return None
        if problem.line is not None:
            return problem.line
        if self._piece != problem.piece or self._stream is None or self._stream.offset > problem.offset:
            self.close()
            self._piece, self._line = problem.piece, 1
            self._stream = Stream(self._pieces[problem.piece])
        while self._stream.offset < problem.offset:
            try:
                data = self._stream.read(min(1 << 20, problem.offset - self._stream.offset))
            except ValueError:
                break
            if not data:
                break
            self._line += data.count(b"\n")
        return self._line

    def close(self) -> None:
        if self._stream is not None:
            self._stream.__exit__()
            self._stream = None

    def _name(self, problem: Problem) -> str:
        path = self._pieces[problem.piece].path
        return "<stdin>" if path == STDIN else path
