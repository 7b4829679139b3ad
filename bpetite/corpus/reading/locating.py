"""Where problems are, for people: file and line. Lines are counted here alone, when they are asked for."""
from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any

from ..sources.find import GIVEN, STDIN, Piece
from ..sources.streams import Stream, open_stream
from .records import Problem

__all__ = ["Locator"]


class Locator:
    """Says where problems are. A file is read once for all of them, as long as they come in its order.

    Args:
        pieces: The inputs that the problems number.
        checked: Whether reading goes on behind damage.
    """

    def __init__(self, pieces: Sequence[Piece], *, checked: bool) -> None:
        self._pieces = pieces
        self._checked = checked
        self._piece = -1
        self._stream: Stream | None = None
        self._line = 1

    def where(self, problem: Problem) -> str:
        """file:line; for Parquet, the row."""
        name, line = self._name(problem), self.line(problem)
        return f"{name}: row {problem.offset + 1}" if line is None else f"{name}:{line}"

    def record(self, problem: Problem, treated: str) -> bytes:
        """A line of the file of rejected records.

        Args:
            problem: What is wrong.
            treated: "skip" or "replace".
        """
        piece, line = self._pieces[problem.piece], self.line(problem)
        found: dict[str, Any] = {"file": self._name(problem)}
        if line is None:
            found["row"] = problem.offset + 1
        else:
            found["line"] = line
            if piece.kind != "json":  # records of .json have no offset
                found["offset"] = problem.offset
        found |= {"reason": problem.what, "detail": problem.detail, "treated": treated}
        return json.dumps(found).encode() + b"\n"

    def line(self, problem: Problem) -> int | None:
        """The line, from 1; None where rows are counted."""
        if self._pieces[problem.piece].kind in ("parquet", GIVEN):
            return None
        if problem.line is not None:
            return problem.line
        if self._piece != problem.piece or self._stream is None or self._stream.offset > problem.offset:
            self.close()
            self._piece, self._line = problem.piece, 1
            self._stream = open_stream(self._pieces[problem.piece], checked=self._checked)
            self._stream.pass_gaps(sys.maxsize)
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
        """Close the file that was read last."""
        if self._stream is not None:
            self._stream.__exit__()
            self._stream = None

    def _name(self, problem: Problem) -> str:
        path = self._pieces[problem.piece].path
        return "<stdin>" if path == STDIN else path
