"""``bpetite diff``: the differences between two tokenizers."""
from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ..analysis import diff
from .base import Command
from .options import (
    COUNT_OR_NONE,
    Sample,
    json_option,
    load_tokenizer,
    ordinary_option,
    overwrite_option,
    sample_options,
)
from .outputs import check_output, one_stream, write_page
from .reports import manner, show, show_json

__all__ = ["command"]


@click.command(
    cls=Command,
    examples=[
        "bpetite diff gpt2 tok.json",
        "bpetite diff cl100k_base o200k_base corpus.txt --html diff.html",
        "bpetite diff -q tok.json model/ corpus.txt && echo the same",
    ],
    verdict=True,
)
@click.argument("a")
@click.argument("b")
@json_option
@click.option("--html", "page", type=click.Path(path_type=Path), help=one_stream("a page, besides,"))
@overwrite_option
@click.option("--places", type=COUNT_OR_NONE, default=10, show_default=True, help="Differing places to show.")
@ordinary_option
@sample_options
def command(
    a: str,
    b: str,
    files: tuple[str, ...],
    as_json: bool,
    page: Path | None,
    overwrite: bool,
    places: int,
    ordinary: bool,
    **reading: Any,
) -> None:
    """Compare the tokenizers A and B (files, folders or names), and the ids that they give to FILES if there are any
    (text, JSON lines, JSON, Parquet, also .gz, .zst, .bz2, .xz; folders; globs).

    Exit codes are those of diff: 0 the same, 1 different, 2 an error.
    """
    if page is not None:
        check_output(page, overwrite)
    first, second = load_tokenizer(a), load_tokenizer(b)
    sample = Sample(files, **reading) if files else None
    texts, read = (None, []) if sample is None else (sample.texts(), sample.files)
    report = diff(first, second, texts, ordinary=ordinary, places=places, names=(a, b), files=read)
    if as_json:
        show_json(report.to_dict(), indent=1)
    elif not (manner.quiet or report.same):
        show(str(report))
    write_page(report, page, overwrite)
    if not report.same:
        raise click.exceptions.Exit(1)
