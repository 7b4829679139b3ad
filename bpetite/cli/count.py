"""``bpetite count``: how many tokens a corpus has."""
from __future__ import annotations

import json
from typing import Any

import click

from ..corpus import Options, count_corpus, find_sources
from .common import load_tokenizer
from .encode import meter, reading_options, report_problems
from .reading import report_left_out, say, unescape

__all__ = ["command"]


@click.command()
@reading_options
@click.option("--json", "as_json", is_flag=True, help="Documents, tokens, bytes and problems, as JSON.")
def command(
    files: tuple[str, ...], tokenizer: str | None, jobs: int, as_json: bool, separator: str | None, **options: Any
) -> None:
    """Count the tokens of FILES, end-of-text tokens apart, and write nothing.

    The number goes to standard output.
    """
    settings = Options(separator=unescape(separator), **options)
    settings.check()
    sources = find_sources(files, kind=settings.input_kind, whole_files=settings.whole_files)
    report_left_out(sources)
    codec = load_tokenizer(tokenizer)
    bar, move = meter(sources)
    with bar:
        counted = count_corpus(
            sources, codec, jobs=jobs, progress=move, log=say, separator=settings.separator, **options
        )
    report_problems(counted)
    say(f"{counted['documents']:,} documents, {counted['tokens']:,} tokens, {counted['bytes']:,} bytes")
    click.echo(json.dumps(counted) if as_json else counted["tokens"])
