"""``bpetite audit``: what is in a tokenizer, and what is wrong with it."""
from __future__ import annotations

import json
from itertools import islice
from pathlib import Path

import click

from ..analysis import audit, validate
from ..analysis.pages.report_text import audit_text
from ..corpus import find_sources
from .options import documents, load_tokenizer

__all__ = ["command"]


@click.command()
@click.argument("tokenizer")
@click.argument("files", nargs=-1)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--html", "page", type=click.Path(dir_okay=False, path_type=Path), help="Also write a page with plots.")
@click.option("--strict", is_flag=True, help="Exit with 1 when there is a fault.")
@click.option("--validate", "check", is_flag=True, help="Check round trips, streaming and the like on the first texts.")
@click.option("--separator", default="<|endoftext|>", show_default=True, help="The text between two documents.")
def command(
    tokenizer: str,
    files: tuple[str, ...],
    as_json: bool,
    page: Path | None,
    strict: bool,
    check: bool,
    separator: str,
) -> None:
    """Examine TOKENIZER (a file, a folder or a name), and measure it on FILES if there are any (text, JSON lines,
    Parquet, also .gz and .zst; folders; globs).

    Reports the classes of tokens, tokens that no text can produce, merges out of order, and special tokens that
    ordinary text can form; with files, the compression of each script, unused tokens and fragmented words.
    """
    if not separator:
        raise click.UsageError("--separator must not be empty")
    if check and not files:
        raise click.UsageError("--validate needs texts: name FILES")
    loaded = load_tokenizer(tokenizer)
    read = [piece.path for piece in find_sources(files).pieces] if files else []
    report = audit(loaded, documents(files, separator) if files else None, name=tokenizer, files=read)
    validation = validate(loaded, islice(documents(files, separator), 100)) if check else None
    if as_json:
        content = report.to_dict()
        if validation is not None:
            content["validation"] = validation.to_dict()
        click.echo(json.dumps(content, ensure_ascii=False, indent=1))
    else:
        click.echo(audit_text(report))
        if validation is not None:
            click.echo(f"\n{validation}")
    if page is not None:
        report.save(page)
        click.echo(f"{page}: written", err=True)
    if strict and (report.faults or (validation is not None and not validation.ok)):
        raise click.exceptions.Exit(1)
