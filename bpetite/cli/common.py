"""What several commands share: the tokenizer option and progress bars."""
from __future__ import annotations

import sys
from typing import Any

import click
from tqdm import tqdm

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


def progress_bar(**options: Any) -> tqdm[Any]:
    """A tqdm bar on standard error, shown when that is a terminal."""
    return tqdm(file=sys.stderr, disable=not sys.stderr.isatty(), dynamic_ncols=True, **options)
