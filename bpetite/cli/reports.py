"""What commands say to people, on standard error: messages and progress bars."""
from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from typing import Any

import click

from ..corpus import Piece, Sources
from ..corpus.task import Progress

__all__ = ["bytes_bar", "corpus_bar", "progress_bar", "report_left_out", "report_problems", "say"]


def say(text: str) -> None:
    """A line for people."""
    click.echo(text, err=True)


def report_left_out(sources: Sources) -> None:
    """Say which files of folders are not read, and which names are not read again."""
    if sources.repeated:
        say(f"{len(sources.repeated)} names stand for files that are read already, the first: {sources.repeated[0]}")
    if sources.left_out:
        say(f"{len(sources.left_out)} files with other suffixes are not read, the first: {sources.left_out[0]}")


def report_problems(summary: dict[str, Any]) -> None:
    """Say which records of a corpus were left out or replaced."""
    treated = "left out" if summary["on_error"] == "skip" else "replaced"
    for kind, problem in summary["problems"].items():
        say(f"{problem['count']} x {kind} {treated}, the first at {problem['first']}")


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
    """A tqdm bar on standard error if that is a terminal; else one that shows nothing, without the import of tqdm,
    which takes longer than encoding a megabyte."""
    if not sys.stderr.isatty():
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
