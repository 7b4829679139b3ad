"""``bpetite diff``: what differs between two tokenizers."""
from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from ..analysis import diff
from ..analysis.pages.report_text import diff_text
from ..corpus import find_sources
from . import MISTAKES, one_line
from .options import documents, load_tokenizer

__all__ = ["command"]


class Diff(click.Command):
    """A command with the exit codes of diff: 0 the same, 1 different, 2 for every kind of error."""

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        try:
            return super().make_context(*args, **kwargs)
        except click.ClickException as wrong:
            raise _error(f"{' '.join(wrong.format_message().split())} (bpetite diff --help)") from wrong

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except click.ClickException as wrong:
            raise _error(wrong.format_message()) from wrong
        except BrokenPipeError:
            raise
        except MISTAKES as wrong:
            raise _error(one_line(wrong)) from wrong


def _error(message: str) -> click.exceptions.Exit:
    click.echo(f"Error: {message}", err=True)
    return click.exceptions.Exit(2)


@click.command(cls=Diff)
@click.argument("a")
@click.argument("b")
@click.argument("files", nargs=-1)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--html", "page", type=click.Path(dir_okay=False, path_type=Path), help="Also write a page.")
@click.option("-q", "--quiet", is_flag=True, help="Print nothing, only exit with 0 or 1.")
@click.option("--places", type=click.IntRange(0), default=10, show_default=True, help="Differing places to show.")
@click.option("--ordinary", is_flag=True, help="Read special tokens in texts as text.")
@click.option("--separator", default="<|endoftext|>", show_default=True, help="The text between two documents.")
def command(
    a: str,
    b: str,
    files: tuple[str, ...],
    as_json: bool,
    page: Path | None,
    quiet: bool,
    places: int,
    ordinary: bool,
    separator: str,
) -> None:
    """Compare the tokenizers A and B, and the ids that they give to FILES if there are any (text, JSON lines, Parquet,
    also .gz and .zst; folders; globs).

    Exit codes are those of diff: 0 the same, 1 different, 2 an error.
    """
    if not separator:
        raise click.UsageError("--separator must not be empty")
    texts = documents(files, separator) if files else None
    read = [piece.path for piece in find_sources(files).pieces] if files else []
    sides = load_tokenizer(a), load_tokenizer(b)
    report = diff(*sides, texts, ordinary=ordinary, places=places, names=(a, b), files=read)
    if not quiet:
        if as_json:
            click.echo(json.dumps(report.to_dict(), ensure_ascii=False, indent=1))
        elif text := diff_text(report):
            click.echo(text)
    if page is not None:
        report.save(page)
        if not quiet:
            click.echo(f"{page}: written", err=True)
    if not report.same:
        raise click.exceptions.Exit(1)
