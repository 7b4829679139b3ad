"""``bpetite diff``: the differences between two tokenizers."""
from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ..analysis import diff
from .base import Command
from .reports import check_output, show_report
from .shared_options import COUNT_OR_NONE, corpus_options, load_tokenizer, ordinary_option, report_options, sampled

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
@report_options
@click.option("--places", type=COUNT_OR_NONE, default=10, show_default=True, help="Differing places to show.")
@ordinary_option
@corpus_options
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
    check_output(page, overwrite)
    first, second = load_tokenizer(a), load_tokenizer(b)
    texts, read = sampled(files, reading)
    report = diff(first, second, texts, ordinary=ordinary, places=places, names=(a, b), files=read)
    show_report(report, page, overwrite, as_json, text=not report.same)
    if not report.same:
        raise click.exceptions.Exit(1)
