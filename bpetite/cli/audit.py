"""``bpetite audit``: a tokenizer's tokens and settings, and the mistakes in them."""
from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ..analysis import audit
from .base import Command, ExitCode
from .inputs import Files, corpus_options
from .loading import load_tokenizer
from .reports import check_report, show_report
from .shared_options import needed_tokenizer, report_options


@click.command(
    cls=Command,
    examples=[
        "bpetite audit -t tok.json",
        "bpetite audit -t gpt2 corpus.txt --html audit.html",
        "bpetite audit -t tok.json corpus.txt --strict",
    ],
    verdict=True,
)
@needed_tokenizer
@report_options
@click.option("--strict", is_flag=True, help="Exit with 1 when there is a fault.")
@corpus_options
def command(
    files: tuple[str, ...],
    tokenizer: str,
    as_json: bool,
    page: Path | None,
    overwrite: bool,
    strict: bool,
    **reading: Any,
) -> None:
    """Examine a tokenizer, and measure it on FILES if there are any.

    Reports the classes of tokens, unreachable tokens (no text produces them), merges out of order, and special tokens
    that ordinary text can form; with files, the compression of each script, the tokens of words, and unused tokens.
    Checks that special tokens give their ids, and that each text comes back from its ids.

    Exit codes: 0 done, 1 a fault with --strict, 2 an error.
    """
    check_report(page, overwrite, as_json)
    corpus = Files.if_any(files, **reading)
    loaded = load_tokenizer(tokenizer)
    texts, read = (None, []) if corpus is None else (corpus.texts(), corpus.names)
    report = audit(loaded, texts, name=tokenizer, files=read)
    show_report(report, page, overwrite, as_json)
    if strict and report.faults:
        raise click.exceptions.Exit(ExitCode.MISTAKE)
