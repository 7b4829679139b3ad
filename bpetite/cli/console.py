"""Messages and progress, for people, on standard error; numbers and JSON, for programs, on standard output."""
from __future__ import annotations

import codecs
import json
import os
import sys
import time
from collections.abc import Iterable, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import click

from ..errors import counted

if TYPE_CHECKING:
    from ..corpus import Input

#: Seconds between two lines of progress where there is no terminal.
LINE_SECONDS = 30.0

#: If ``-q`` was given to the command that runs.
settings: SimpleNamespace = SimpleNamespace(quiet=False)


def say(text: str, *, always: bool = False) -> None:
    """A line for people, above a line of progress. ``-q`` hides it, unless it is one of those that are ``always``
    shown."""
    if settings.quiet and not always:
        return
    if "tqdm" in sys.modules:
        sys.modules["tqdm"].tqdm.write(text, file=sys.stderr)
    else:
        click.echo(text, err=True)


def discard_output() -> None:
    """Drop output that cannot be written: without this, flushing at exit would print an error."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def show_json(content: Any, indent: int | None = None) -> None:
    """A JSON value on standard output, in ASCII where that is not UTF-8."""
    unicode = codecs.lookup(sys.stdout.encoding or "ascii").name == "utf-8"
    click.echo(json.dumps(content, ensure_ascii=not unicode, indent=indent))


def show_summary(summary: dict[str, Any], asked: bool) -> None:
    """The summary of a run as JSON, for programs: not on a terminal, unless it is asked for."""
    if asked or not sys.stdout.isatty():
        show_json(summary)


def report_problems(summary: dict[str, Any]) -> None:
    treated = "left out" if summary["on_error"] == "skip" else "replaced"
    for name, problem in summary["problems"].items():
        say(f"{problem['count']:,} x {name} {treated}, the first at {problem['first']}")


def report_cuts(inputs: Sequence[Input], summary: dict[str, Any]) -> None:
    if summary["documents"] > len(inputs) and all(source.kind == "text" for source in inputs):
        files = counted(len(inputs), "text file")
        say(f"{files} cut into {counted(summary['documents'], 'document')} at each separator, which is the end-of-text "
            "literal unless --separator names another; --whole-files: one document a file")


def require_documents(summary: dict[str, Any]) -> None:
    """Raises RecordError where problems left no document: the next step would work on nothing."""
    from ..corpus import RecordError  # not at the top: other commands do without

    if not summary["documents"] and summary["problems"]:
        raise RecordError("no document was kept: every record had a problem")


class ProgressLine:
    """One line of progress on standard error, as tqdm writes it. In a terminal it stays in its place until the work is
    done; elsewhere a line comes every LINE_SECONDS.

    Args:
        total: The work, where it is known.
        unit: What it is counted in.
        desc: What is done.
    """

    def __init__(self, total: int | None = None, unit: str = "B", desc: str = "") -> None:
        self.total: int | None = total
        self.done: int = 0
        self.problems: int = 0
        self._looks: dict[str, Any] = {"unit": unit, "unit_scale": True}
        self._desc = desc
        self._began = self._said = time.monotonic()
        self._bar: Any = None
        if sys.stderr.isatty() and not settings.quiet:
            from tqdm import tqdm  # not at the top: its import takes longer than encoding a megabyte

            self._bar = tqdm(
                total=total, desc=desc or None, leave=False, file=sys.stderr, dynamic_ncols=True, **self._looks
            )

    def __enter__(self) -> ProgressLine:
        return self

    def __exit__(self, *raised: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def update(self, count: int, more: str = "") -> None:
        """So much more is done; ``more`` is said of it."""
        self.done += count
        if self._bar is not None:
            self._bar.total = self.total
            self._bar.set_postfix_str(more, refresh=False)
            self._bar.update(count)
        elif not settings.quiet and (now := time.monotonic()) - self._said >= LINE_SECONDS:
            from tqdm import tqdm

            self._said = now
            say(tqdm.format_meter(
                self.done, self.total or 0, now - self._began, prefix=self._desc, postfix=more, ncols=0, **self._looks
            ))

    def move(self, raw: int, tokens: int, documents: int) -> None:
        """A step of the run, as `corpus.run.Progress` has it."""
        self.update(raw, progress_in({"documents": documents, "tokens": tokens, "problems": self.problems}))

    def count_problems(self, count: int) -> None:
        self.problems = count


def bytes_read(inputs: Iterable[Input], desc: str = "") -> ProgressLine:
    """The progress of reading inputs."""
    return ProgressLine(sum(source.size for source in inputs) or None, desc=desc)


def numbers_in(summary: dict[str, Any], *nouns: str) -> str:
    """Numbers of a summary for people, such as "2 documents, 1 token"."""
    return ", ".join(counted(summary[f"{noun}s"], noun) for noun in nouns)


def progress_in(numbers: dict[str, Any]) -> str:
    """The progress of a run, or of a rank, in a line."""
    line = numbers_in(numbers, "document", "token", "problem")
    if numbers.get("bytes_total"):
        line += f", {min(1, numbers['bytes_read'] / numbers['bytes_total']):.0%} read"
    return line
