"""Counting what a run has done and met."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .reading.records import Problem
from .reading.sources import STDIN, Piece
from .reading.streams import open_stream
from .work import Encoded

__all__ = ["RecordError", "Tally"]

KINDS = {
    "invalid-utf8": "text that is not UTF-8",
    "lone-surrogate": "a lone surrogate escape",
    "malformed-json": "malformed JSON",
    "no-text": "no text",
    "damaged-file": "damaged or cut short compressed data",
    "special-token": "a special token in the text",
    "unencodable": "text that the tokenizer cannot encode",
}


class RecordError(ValueError):
    """A record is not as it should be, and the policy is to stop there."""


class Tally:
    """Documents, tokens, bytes and problems so far; the part of a run's state that is no file.

    Attributes:
        documents, tokens, bytes: Written so far; bytes are those of the documents as UTF-8.
        problems: kind -> how many, and where the first one was.
        final_separator: Whether the last document of text had a separator behind it; None before there was one.
        piece, records: How many records of the piece have been read.
    """

    def __init__(self, pieces: Sequence[Piece], policy: str, log: Callable[[str], None] | None = None) -> None:
        self._pieces = pieces
        self._policy = policy
        self._log = log
        self.documents = self.tokens = self.bytes = 0
        self.problems: dict[str, dict[str, Any]] = {}
        self.final_separator: bool | None = None
        self.piece = self.records = 0

    def add(self, encoded: Encoded) -> list[int]:
        """Count a result; returns, for each of its blocks, the number of its first record in the file.

        Raises:
            RecordError: It has a problem and the policy is "fail".
        """
        for problem in encoded.problems:
            self._meet(problem)
        self.documents += encoded.documents
        self.bytes += encoded.text_bytes
        self.tokens += sum(len(part.tokens) for part in encoded.parts.values())
        if encoded.final_separator is not None:
            self.final_separator = encoded.final_separator
        firsts = []
        for piece, records in encoded.blocks:
            if piece != self.piece:
                self.piece, self.records = piece, 0
            firsts.append(self.records)
            self.records += records
        return firsts

    def _meet(self, problem: Problem) -> None:
        known = self.problems.get(problem.kind)
        if known is not None:
            known["count"] += 1
            return
        place = self._place(problem)
        what = f"{place}: {KINDS[problem.kind]}: {problem.detail}"
        if self._policy == "fail":
            raise RecordError(f"{what} (--on-error skip or replace goes on, and counts)")
        self.problems[problem.kind] = {"count": 1, "first": place, "detail": problem.detail}
        if self._log is not None:
            self._log(f"{what} ({'left out' if self._policy == 'skip' else 'replaced'}; further ones are only counted)")

    def _place(self, problem: Problem) -> str:
        """file:line; the line is counted only now, for the few that are shown."""
        piece = self._pieces[problem.piece]
        name = "<stdin>" if piece.path == STDIN else piece.path
        if piece.kind == "parquet":
            return f"{name}: row {problem.place + 1}"
        line = problem.line
        if line is None:
            line = 1
            with open_stream(piece) as stream:
                while stream.offset < problem.place:
                    try:
                        data = stream.read(min(1 << 20, problem.place - stream.offset))
                    except ValueError:
                        break
                    if not data:
                        break
                    line += data.count(b"\n")
        return f"{name}:{line}"

    def state(self) -> dict[str, Any]:
        """What the journal keeps."""
        return {
            "documents": self.documents,
            "tokens": self.tokens,
            "bytes": self.bytes,
            "problems": self.problems,
            "final_separator": self.final_separator,
            "piece": self.piece,
            "records": self.records,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a state that the journal kept."""
        for name, value in state.items():
            setattr(self, name, value)
