"""The output of commands: data on standard output; messages and progress, for people, on standard error."""
from __future__ import annotations

import codecs
import json
import os
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from ..errors import counted

if TYPE_CHECKING:
    from ..corpus import Piece

__all__ = [
    "Watch",
    "bytes_bar",
    "described",
    "discard_output",
    "duration",
    "manner",
    "progress_bar",
    "refuse_nothing",
    "report_cuts",
    "report_problems",
    "say",
    "show",
    "show_json",
    "show_summary",
]

#: Seconds between two lines.
LINE_SECONDS = 30.0


@dataclass
class Manner:
    """The amount of messages: the options -q and --no-progress of the command that runs."""

    quiet: bool = False
    no_progress: bool = False


manner: Manner = Manner()


def say(text: str, *, always: bool = False) -> None:
    """A line for people, above the progress bars. ``-q`` hides it, unless it is one of those that are ``always``
    shown."""
    if manner.quiet and not always:
        return
    tqdm = sys.modules.get("tqdm")
    if tqdm is None:
        click.echo(text, file=sys.stderr)
    else:
        tqdm.tqdm.write(text, file=sys.stderr)


def show(text: str, color: bool | None = None) -> None:
    """Print the answer of a command, on standard output."""
    click.echo(text, file=sys.stdout, color=color)


def discard_output() -> None:
    """Drop output that cannot be written: without this, flushing at exit would print an error."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def show_json(content: Any, indent: int | None = None) -> None:
    """A JSON value on standard output, in ASCII where that is not UTF-8."""
    unicode = codecs.lookup(sys.stdout.encoding or "ascii").name == "utf-8"
    show(json.dumps(content, ensure_ascii=not unicode, indent=indent))


def show_summary(summary: dict[str, Any], asked: bool) -> None:
    """The summary of a run as JSON, for programs: not on a terminal, unless it is asked for."""
    if asked or not sys.stdout.isatty():
        show_json(summary)


def report_problems(summary: dict[str, Any]) -> None:
    """Say which records of a corpus were left out or replaced."""
    treated = "left out" if summary["on_error"] == "skip" else "replaced"
    for kind, problem in summary["problems"].items():
        say(f"{problem['count']:,} x {kind} {treated}, the first at {problem['first']}")


def report_cuts(pieces: Sequence[Piece], summary: dict[str, Any]) -> None:
    """Say that separators have cut text files into documents."""
    if summary["documents"] > len(pieces) and all(piece.kind == "text" for piece in pieces):
        files = counted(len(pieces), "text file")
        say(f"{files} cut into {counted(summary['documents'], 'document')} at each separator, which is the end-of-text "
            "literal unless --separator names another; --whole-files: one document a file")


def refuse_nothing(summary: dict[str, Any]) -> None:
    """Raises RecordError where problems left no document: the next step would work on nothing."""
    from ..corpus import RecordError  # not at the top: other commands do without

    if not summary["documents"] and summary["problems"]:
        raise RecordError("no document was kept: every record had a problem")


class _NoBar:
    """The interface of a tqdm bar, as far as it is used; shows nothing."""

    disable = True
    total: int | None = None
    n = 0

    def __enter__(self) -> _NoBar:
        return self

    def __exit__(self, *exc: object) -> None:
        pass

    def update(self, count: float = 1) -> None:
        """Nothing to move."""


def progress_bar(**options: Any) -> Any:
    """A tqdm bar on standard error if that is a terminal and bars are wanted; else one that shows nothing, without the
    import of tqdm, which takes longer than encoding a megabyte."""
    if manner.quiet or manner.no_progress or not sys.stderr.isatty():
        return _NoBar()
    from tqdm import tqdm

    return tqdm(file=sys.stderr, dynamic_ncols=True, **options)


def bytes_bar(pieces: Iterable[Piece], **options: Any) -> Any:
    """A progress bar over the bytes of the inputs."""
    return progress_bar(total=sum(piece.raw_bytes for piece in pieces) or None, unit="B", unit_scale=True, **options)


class Watch:
    """Shows a run; a context manager around it.

    Args:
        pieces: What is read.
    """

    def __init__(self, pieces: Iterable[Piece]) -> None:
        pieces = tuple(pieces)
        self._total = sum(piece.raw_bytes for piece in pieces)
        self._bar = bytes_bar(pieces)
        self._lines = self._bar.disable and not manner.no_progress and not manner.quiet
        self._said = time.monotonic()
        self._first: tuple[float, int, int] | None = None  # when the first step came, and what had been done then
        self._read = self._problems = 0

    def __enter__(self) -> Watch:
        self._bar.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        self._bar.__exit__(kind, error, trace)

    def move(self, raw: int, tokens: int, documents: int) -> None:
        """A step of the run, as `corpus.run.part.Progress` has it."""
        now = time.monotonic()
        self._read += raw
        began, read, made = self._first = self._first or (now, self._read, tokens)
        seconds = max(1e-9, now - began)
        rate = (tokens - made) / seconds
        if not self._bar.disable:
            self._bar.set_postfix_str(f"{rate / 1e6:.1f}M tokens/s", refresh=False)
            self._bar.update(raw)
        if self._lines and now - self._said >= LINE_SECONDS:
            self._said = now
            left = max(0, self._total - self._read) * seconds / max(1, self._read - read)
            say(described({
                "tokens": tokens,
                "documents": documents,
                "problems": self._problems,
                "bytes_read": self._read,
                "bytes_total": self._total,
                "tokens_per_second": round(rate),
                "seconds_left": round(left) if self._read > read else None,
            }))

    def count_problems(self, count: int) -> None:
        """The number of problems so far."""
        self._problems = count


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
