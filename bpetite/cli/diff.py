"""``bpetite diff``: what differs between two tokenizers."""
from __future__ import annotations

import json
from pathlib import Path

import click

from ..analysis import diff
from ..analysis.words import diff_text
from .common import load_tokenizer
from .reading import documents

__all__ = ["command"]


class Trouble(click.ClickException):
    """As for ``diff``: 0 the same, 1 different, 2 trouble."""

    exit_code = 2


@click.command()
@click.argument("a")
@click.argument("b")
@click.argument("files", nargs=-1, type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="For programs: one JSON object.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing, only exit with 0 or 1.")
@click.option("--places", type=click.IntRange(0), default=10, show_default=True, help="Differing places to show.")
@click.option("--ordinary", is_flag=True, help="Read special tokens in texts as text.")
@click.option("--separator", default="<|endoftext|>", show_default=True, help="What stands between two documents.")
def command(
    a: str,
    b: str,
    files: tuple[Path, ...],
    as_json: bool,
    quiet: bool,
    places: int,
    ordinary: bool,
    separator: str,
) -> None:
    """Compare the tokenizers A and B, and the ids they give text FILES if there are any.

    Exit codes are those of diff: 0 the same, 1 different, 2 trouble.
    """
    if not separator:
        raise click.UsageError("--separator must not be empty")
    try:
        texts = documents(files, separator) if files else None
        report = diff(load_tokenizer(a), load_tokenizer(b), texts, ordinary=ordinary, places=places)
    except OSError as error:
        raise Trouble(f"{error.filename}: {error.strerror}" if error.filename else str(error)) from error
    except (ValueError, ImportError) as error:
        raise Trouble(" ".join(str(error).split())) from error
    if not quiet:
        if as_json:
            click.echo(json.dumps(report.to_dict(), ensure_ascii=False, indent=1))
        elif text := diff_text(report, a, b):
            click.echo(text)
    if not report.same:
        raise click.exceptions.Exit(1)
