"""What several commands share: the tokenizer option and progress bars."""
from __future__ import annotations

import sys
from typing import Any

import click

from ..tokenizer import Tokenizer

__all__ = ["PACKAGED", "load_tokenizer", "progress_bar"]

#: The tokenizer that ships inside the package.
PACKAGED = "bpetite-32k"


def load_tokenizer(spec: str | None) -> Tokenizer:
    """The tokenizer that a command was given: a file, a directory or a name; the packaged one, said so, when None."""
    if spec is None:
        click.echo(f"no --tokenizer given: using the packaged {PACKAGED}", err=True)
        return Tokenizer.load(PACKAGED)
    return Tokenizer.load(spec)


class _NoBar:
    """What is used of a tqdm bar, showing nothing."""

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
    which takes longer than a megabyte takes to encode."""
    if not sys.stderr.isatty():
        return _NoBar()
    from tqdm import tqdm

    return tqdm(file=sys.stderr, dynamic_ncols=True, **options)
