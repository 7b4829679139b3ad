"""``bpetite diff``: what differs between two tokenizers."""
from __future__ import annotations

from typing import Any

import click

from ..analysis import diff
from ..analysis.pages.report_text import diff_text
from .base import Command
from .options import COUNT_OR_NONE, Sample, json_option, load_tokenizer, ordinary_option, sample_options
from .reports import manner, show, show_json

__all__ = ["command"]


@click.command(
    cls=Command,
    examples=[
        "bpetite diff gpt2 tok.json",
        "bpetite diff cl100k_base o200k_base corpus.txt --places 3",
        "bpetite diff -q tok.json model/ corpus.txt && echo the same",
    ],
    verdict=True,
)
@click.argument("a")
@click.argument("b")
@json_option
@click.option("--places", type=COUNT_OR_NONE, default=10, show_default=True, help="Differing places to show.")
@ordinary_option
@sample_options
def command(
    a: str, b: str, files: tuple[str, ...], as_json: bool, places: int, ordinary: bool, **reading: Any
) -> None:
    """Compare the tokenizers A and B (files, folders or names), and the ids that they give to FILES if there are any
    (text, JSON lines, JSON, Parquet, also .gz and .zst; folders; globs).

    Exit codes are those of diff: 0 the same, 1 different, 2 an error.
    """
    first, second = load_tokenizer(a), load_tokenizer(b)
    texts = Sample(files, **reading).texts() if files else None
    report = diff(first, second, texts, ordinary=ordinary, places=places)
    if as_json:
        show_json(report.to_dict(), indent=1)
    elif not manner.quiet and (text := diff_text(report, a, b)):
        show(text)
    if not report.same:
        raise click.exceptions.Exit(1)
