"""``bpetite audit``: what is in a tokenizer, and what is wrong with it."""
from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Any

import click

from ..analysis import audit, validate
from ..analysis.pages.report_text import audit_text
from .base import Command
from .options import Sample, json_option, load_tokenizer, overwrite_option, sample_options
from .outputs import check_output, create_output, named, one_stream
from .reports import manner, say, show, show_json

__all__ = ["command"]


@click.command(
    cls=Command,
    examples=[
        "bpetite audit -t tok.json",
        "bpetite audit -t gpt2 corpus.txt --html audit.html",
        "bpetite audit -t tok.json corpus.txt --strict --validate -q",
    ],
    verdict=True,
)
@click.option(
    "-t", "--tokenizer", metavar="TOKENIZER", required=True,
    help="A tokenizer file, a folder, or a name such as gpt-4o or cl100k_base.",
)
@json_option
@click.option("--html", "page", type=click.Path(path_type=Path), help=one_stream("a page with plots, besides,"))
@overwrite_option
@click.option("--strict", is_flag=True, help="Exit with 1 when there is a fault.")
@click.option("--validate", "check", is_flag=True, help="Check round trips, streaming and the like on the first texts.")
@sample_options
def command(
    files: tuple[str, ...],
    tokenizer: str,
    as_json: bool,
    page: Path | None,
    overwrite: bool,
    strict: bool,
    check: bool,
    **reading: Any,
) -> None:
    """Examine a tokenizer, and measure it on FILES if there are any (text, JSON lines, JSON, Parquet, also .gz and
    .zst; folders; globs).

    Reports the classes of tokens, tokens that no text can produce, merges out of order, and special tokens that
    ordinary text can form; with files, the compression of each script, unused tokens and fragmented words.

    Exit codes: 0 done, 1 a fault with --strict, 2 an error.
    """
    if check and not files:
        raise click.UsageError("--validate needs texts: name FILES")
    if page is not None:
        check_output(page, overwrite)
    loaded = load_tokenizer(tokenizer)
    sample = Sample(files, **reading) if files else None
    texts, read = (None, []) if sample is None else (sample.texts(), sample.files)
    report = audit(loaded, texts, name=tokenizer, files=read)
    validation = validate(loaded, islice(sample.texts(), 100)) if sample is not None and check else None
    if as_json:
        content = report.to_dict()
        if validation is not None:
            content["validation"] = validation.to_dict()
        show_json(content, indent=1)
    elif not manner.quiet:
        show(audit_text(report))
        if validation is not None:
            show(f"\n{validation}")
    if page is not None:
        with create_output(page, overwrite) as file:
            file.write(report.page().encode("utf-8"))
        say(f"{named(page)}: written")
    if strict and (report.faults or (validation is not None and not validation.ok)):
        raise click.exceptions.Exit(1)
