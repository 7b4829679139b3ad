"""The progress of a run over a corpus: a bar in a terminal, lines elsewhere."""
from __future__ import annotations

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from . import reports
from .reports import bytes_bar, counted

if TYPE_CHECKING:
    from ..corpus import Piece

__all__ = ["Watch", "described", "duration"]

#: Seconds between two lines.
LINE_SECONDS = 30.0


class Watch:
    """Shows a run; a context manager around it.

    Args:
        pieces: What is read.
    """

    def __init__(self, pieces: Iterable[Piece]) -> None:
        pieces = tuple(pieces)
        self._total = sum(piece.raw_bytes for piece in pieces)
        self._bar = bytes_bar(pieces)
        self._lines = self._bar.disable and not reports.manner.no_progress and not reports.manner.quiet
        self._said = time.monotonic()
        self._first: tuple[float, int, int] | None = None  # when the first step came, and what had been done then
        self._read = self._tokens = self._documents = self._problems = 0

    def __enter__(self) -> Watch:
        self._bar.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        self._bar.__exit__(kind, error, trace)

    def move(self, raw: int, tokens: int, documents: int) -> None:
        """A step of the run, as `corpus.run.part.Progress` has it."""
        now = time.monotonic()
        self._read += raw
        self._tokens, self._documents = tokens, documents
        if self._first is None:
            self._first = now, self._read, tokens
        if not self._bar.disable:
            self._bar.set_postfix_str(f"{self.rate() / 1e6:.1f}M tokens/s", refresh=False)
            self._bar.update(raw)
        if self._lines and now - self._said >= LINE_SECONDS:
            self._said = now
            found = self.numbers()
            reports.say(described(found), event="progress", **found)

    def count_problems(self, count: int) -> None:
        """The number of problems so far."""
        self._problems = count

    def rate(self) -> float:
        """Tokens a second, since the first step."""
        if self._first is None:
            return 0.0
        return (self._tokens - self._first[2]) / max(1e-9, time.monotonic() - self._first[0])

    def left(self) -> float | None:
        """Seconds that the rest takes at the rate so far, if that can be said."""
        if self._first is None or self._read <= self._first[1] or not self._total:
            return None
        seconds = time.monotonic() - self._first[0]
        return max(0, self._total - self._read) * seconds / (self._read - self._first[1])

    def numbers(self) -> dict[str, Any]:
        """The progress of the run."""
        left = self.left()
        return {
            "tokens": self._tokens,
            "documents": self._documents,
            "problems": self._problems,
            "bytes_read": self._read,
            "bytes_total": self._total,
            "tokens_per_second": round(self.rate()),
            "seconds_left": None if left is None else round(left),
        }


def described(numbers: dict[str, Any]) -> str:
    """The progress of a run, or of a rank, in a line."""
    line = ", ".join(counted(numbers[f"{noun}s"], noun) for noun in ("document", "token", "problem"))
    if numbers["bytes_total"]:
        line += f", {min(1, numbers['bytes_read'] / numbers['bytes_total']):.0%} read"
    if numbers["tokens_per_second"]:
        line += f", {numbers['tokens_per_second'] / 1e6:.1f}M tokens/s"
    if numbers["seconds_left"]:
        line += f", {duration(numbers['seconds_left'])} left"
    return line


def duration(seconds: int) -> str:
    """A time for people.

    >>> duration(59), duration(61), duration(7260), duration(90061)
    ('59 s', '1 min', '2 h 1 min', '1 d 1 h')
    """
    if seconds < 60:
        return f"{seconds} s"
    minutes, hours = seconds // 60 % 60, seconds // 3600 % 24
    if seconds < 3600:
        return f"{minutes} min"
    return f"{hours} h {minutes} min" if seconds < 86400 else f"{seconds // 86400} d {hours} h"
