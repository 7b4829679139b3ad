"""``bpetite compare``: several tokenizers on the same texts."""
from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ..analysis import compare
from .base import Command
from .reports import check_output, show_report
from .shared_options import Sample, corpus_options, load_tokenizer, report_options, several_tokenizers

__all__ = ["command"]


@click.command(
    cls=Command,
    examples=[
        "bpetite compare corpus.txt -t gpt2 -t o200k_base",
        "bpetite compare texts/*.txt -t gpt2 -t bpetite-32k --by file --csv",
        "bpetite compare more.jsonl.gz -t gpt2 -t cl100k_base -t o200k_base --by lang --html compare.html",
    ],
)
@several_tokenizers
@click.option("--by", metavar="KEY|file|folder", help="Groups: a key of records, or the name of the file or folder.")
@report_options
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV, a row for each tokenizer and group.")
@corpus_options
def command(
    files: tuple[str, ...],
    tokenizers: tuple[str, ...],
    by: str | None,
    as_json: bool,
    as_csv: bool,
    page: Path | None,
    overwrite: bool,
    **reading: Any,
) -> None:
    """Measure tokenizers on the same FILES (text, JSON lines, JSON, Parquet, also .gz, .zst, .bz2, .xz; folders;
    globs), read as ordinary text.

    Reports bytes per token, tokens per word (fertility), words in one token, Renyi efficiency, the share of the
    vocabulary that the texts use, and the longest token. A record without the key of --by is in the group "(none)".
    """
    if as_json and as_csv:
        raise click.UsageError("--json and --csv are two forms of one output: choose one")
    if len(set(tokenizers)) < len(tokenizers):
        raise click.UsageError("a tokenizer is named twice")
    check_output(page, overwrite)
    loaded = {name: load_tokenizer(name) for name in tokenizers}
    sample = Sample(files, **reading)
    texts: Any = sample.texts() if by is None else sample.by_group(by)
    report = compare(loaded, texts, by=by, files=sample.files)
    if as_csv:
        click.echo(report.to_csv().replace("\r\n", "\n"), nl=False)
    show_report(report, page, overwrite, as_json, text=not as_csv)
