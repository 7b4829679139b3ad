"""Problems of records: counted by kind, the first of each kind reported with its file and line."""
from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from .find import STDIN, Input
from .streams import Stream

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
    """A problem in the place of a text, before it is known which record it is of."""

    what: str  # a key of `PROBLEMS`
    detail: str
    replacement: bytes = b""  # the nearest text, in UTF-8
    at: int = 0  # offset in the text

    def __len__(self) -> int:
        return len(self.replacement)


@dataclass(frozen=True)
class Problem:
    """A problem of a record."""

    what: str
    detail: str
    input: int
    offset: int  # in (decompressed) bytes; with ``row``, in records
    line: int | None = None  # if it is known already
    row: bool = False  # the file has no lines


class RecordError(ValueError):
    """A record has a problem, and the policy is to stop there; or more of them have than ``max_errors`` allows."""


@dataclass(eq=False)
class Problems:
    """Problems so far, and where they are: a file is read once for all of them, as long as they come in its order.
    ``log`` is called with the first problem of each kind."""

    inputs: Sequence[Input]
    policy: str
    log: Callable[[str], None] | None = None
    max_errors: int | None = None
    by_kind: dict[str, dict[str, Any]] = field(default_factory=dict)  # `Problem.what` -> count, and the first one
    _number: int = -1  # of the input that is read
    _stream: Stream | None = None
    _line: int = 1

    @property
    def count(self) -> int:
        return sum(problem["count"] for problem in self.by_kind.values())

    def add(self, problem: Problem) -> None:
        """Count a problem; with the policy "fail", raise it as a RecordError."""
        if problem.what in self.by_kind:
            self.by_kind[problem.what]["count"] += 1
            return
        where = self.where(problem)
        self.close()
        line = f"{where}: {PROBLEMS[problem.what]}: {problem.detail}"
        if self.policy == "fail":
            # a key that the first record lacks is a wrong one: to skip would drop them all
            no_key = problem.what == "no-text" and problem.detail.startswith("no ")
            key = "text_key= names another key" if problem.what == "no-text" else ""
            skip = "" if no_key and where.endswith((":1", " 1")) else "on_error='skip' goes on, and counts"
            raise RecordError(f"{line} ({', '.join(filter(None, (key, skip)))})")
        self.by_kind[problem.what] = {"count": 1, "first": where, "detail": problem.detail}
        if self.log is not None:
            treated = "left out" if self.policy == "skip" else "replaced"
            self.log(f"{line} ({treated}; further ones are only counted)")

    def check_limit(self) -> None:
        if self.max_errors is not None and self.count > self.max_errors:
            kinds = ", ".join(f"{problem['count']:,} x {kind}" for kind, problem in self.by_kind.items())
            raise RecordError(f"{self.count:,} problems ({kinds}), more than max_errors {self.max_errors}; "
                              "with a larger one, the run goes on")

    def where(self, problem: Problem) -> str:
        """file:line; of records that are numbered, the row."""
        name, line = self._name(problem), self.line(problem)
        return f"{name}: row {problem.offset + 1}" if line is None else f"{name}:{line}"

    def record(self, problem: Problem) -> bytes:
        """A line of the file of rejected records."""
        line = self.line(problem)
        place = {"row": problem.offset + 1} if line is None else {"line": line, "offset": problem.offset}
        reason = {"reason": problem.what, "detail": problem.detail, "treated": self.policy}
        return json.dumps({"file": self._name(problem), **place, **reason}).encode() + b"\n"

    def line(self, problem: Problem) -> int | None:
        """The line, from 1; None where rows are counted."""
        if problem.row or problem.line is not None:
            return problem.line
        if self._number != problem.input or self._stream is None or self._stream.offset > problem.offset:
            self.close()
            self._number, self._line = problem.input, 1
            self._stream = Stream(self.inputs[problem.input])
        while (left := problem.offset - self._stream.offset) > 0:
            at, size = self._stream.offset, min(1 << 20, left)
            with suppress(ValueError):  # damage
                self._stream.window(at, size)
            if not (data := self._stream.take(at + size)):
                break
            self._line += data.count(b"\n")
        return self._line

    def close(self) -> None:
        if self._stream is not None:
            self._stream.__exit__()
            self._stream = None

    def _name(self, problem: Problem) -> str:
        path = self.inputs[problem.input].path
        return "<stdin>" if path == STDIN else path
