"""``bpetite compare``: what differs between tokenizers, and their figures on the same texts."""
from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ..analysis import compare
from .base import Command, ExitCode
from .inputs import Files, corpus_options
from .loading import SOURCES, load_tokenizer
from .reports import check_report, show_report
from .shared_options import COUNT_OR_NONE, report_options


@click.command(
    cls=Command,
    examples=[
        "bpetite compare gpt2 tok.json",
        "bpetite compare gpt2 o200k_base corpus.txt -t bpetite-32k --html compare.html",
        "bpetite compare gpt2 o200k_base more.jsonl.gz --by lang --json",
        "bpetite compare --strict tok.json model/ corpus.txt && echo the same",
    ],
    verdict=True,
)
@click.argument("a")
@click.argument("b")
@click.option("-t", "--tokenizer", "more", metavar="TOKENIZER", multiple=True, help=f"A further tokenizer: {SOURCES}.")
@click.option("--by", metavar="KEY|file|folder", help="Groups: a key of records, or the name of the file or folder.")
@report_options
@click.option("--places", type=COUNT_OR_NONE, default=10, show_default=True, help="Differing places to show.")
@click.option("--strict", is_flag=True, help="Exit with 1 when anything differs.")
@corpus_options
def command(
    a: str,
    b: str,
    files: tuple[str, ...],
    more: tuple[str, ...],
    by: str | None,
    as_json: bool,
    page: Path | None,
    overwrite: bool,
    places: int,
    strict: bool,
    **reading: Any,
) -> None:
    """Compare the tokenizers A and B (files, folders or names), and measure them on FILES if there are any, read as
    ordinary text.

    Reports settings, special tokens, tokens and merges that differ from A's; with files, the places that are encoded
    differently, bytes per token, tokens per word (fertility), words in one token, and the share of the vocabulary that
    the texts use. A record without the key of --by is in the group "(none)".

    Exit codes: 0 done, 1 a difference with --strict, 2 an error.
    """
    if by is not None and not files and reading["files_from"] is None:
        raise click.UsageError("--by groups the texts of FILES: name files")
    check_report(page, overwrite, as_json)
    given = [a, b, *more]
    names = [f"{name} ({at})" if name in given[: at - 1] else name for at, name in enumerate(given, 1)]  # may repeat
    loaded = dict(zip(names, map(load_tokenizer, given), strict=True))
    corpus = Files.if_any(files, **reading)
    texts: Any = ()
    if corpus is not None:
        texts = corpus.texts() if by is None else corpus.by_group(by)
    report = compare(loaded, texts, by=by, places=places, files=() if corpus is None else corpus.names)
    show_report(report, page, overwrite, as_json)
    if strict and not report.same:
        raise click.exceptions.Exit(ExitCode.MISTAKE)
