"""What commands print: data on standard output; on standard error, for people, messages and progress bars."""
from __future__ import annotations

import codecs
import json
import os
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from ..corpus import Piece, Sources
    from ..corpus.task import Progress

__all__ = [
    "bytes_bar",
    "corpus_bar",
    "counted",
    "discard_output",
    "manner",
    "progress_bar",
    "report_left_out",
    "report_problems",
    "say",
    "show",
    "show_json",
    "show_summary",
]


@dataclass
class Manner:
    """How much people are told: the options -q and --no-progress of the command that runs."""

    quiet: bool = False
    bars: bool = True


manner: Manner = Manner()


def say(text: str) -> None:
    """A line for people, above the progress bars."""
    if manner.quiet:
        return
    tqdm = sys.modules.get("tqdm")
    if tqdm is None:
        click.echo(text, file=sys.stderr)
    else:
        tqdm.tqdm.write(text, file=sys.stderr)


def show(text: str, color: bool | None = None) -> None:
    """What was asked for, on standard output."""
    click.echo(text, file=sys.stdout, color=color)


def discard_output() -> None:
    """Drop what cannot be written to standard output: without this, flushing at exit would print an error."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def show_json(content: Any, indent: int | None = None) -> None:
    """A JSON value on standard output, in ASCII where that is not UTF-8."""
    unicode = codecs.lookup(sys.stdout.encoding or "ascii").name == "utf-8"
    show(json.dumps(content, ensure_ascii=not unicode, indent=indent))


def show_summary(summary: dict[str, Any], asked: bool) -> None:
    """The summary of a run as JSON, for programs: not on a terminal, unless it is asked for."""
    if asked or not sys.stdout.isatty():
        show_json(summary)


def counted(number: int, noun: str) -> str:
    """A number of things.

    >>> counted(1, "document"), counted(2_000, "document"), counted(0, "token")
    ('1 document', '2,000 documents', '0 tokens')
    """
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def report_left_out(sources: Sources) -> None:
    """Say which files of folders are not read, and which names are not read again."""
    if sources.repeated:
        names = counted(len(sources.repeated), "name")
        say(f"not read again under another name: {names}, the first: {sources.repeated[0]}")
    if sources.left_out:
        files = counted(len(sources.left_out), "file")
        say(f"not read, for another suffix: {files}, the first: {sources.left_out[0]} (--input-format reads all)")


def report_problems(summary: dict[str, Any]) -> None:
    """Say which records of a corpus were left out or replaced."""
    treated = "left out" if summary["on_error"] == "skip" else "replaced"
    for kind, problem in summary["problems"].items():
        say(f"{problem['count']:,} x {kind} {treated}, the first at {problem['first']}")


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
    if manner.quiet or not manner.bars or not sys.stderr.isatty():
        return _NoBar()
    from tqdm import tqdm

    return tqdm(file=sys.stderr, dynamic_ncols=True, **options)


def bytes_bar(pieces: Iterable[Piece], **options: Any) -> Any:
    """A progress bar over the bytes of the inputs."""
    return progress_bar(total=sum(piece.size for piece in pieces) or None, unit="B", unit_scale=True, **options)


def corpus_bar(pieces: Iterable[Piece]) -> tuple[Any, Progress]:
    """A progress bar over the bytes of the inputs that shows tokens a second, and the function that moves it."""
    bar = bytes_bar(pieces)
    began = time.monotonic()
    before: int | None = None

    def move(raw: int, tokens: int, documents: int) -> None:
        nonlocal before
        if bar.disable:
            return
        if before is None:
            before = tokens
        seconds = max(1e-9, time.monotonic() - began)
        bar.set_postfix_str(f"{(tokens - before) / seconds / 1e6:.1f}M tokens/s", refresh=False)
        bar.update(raw)

    return bar, move
