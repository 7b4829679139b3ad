"""``bpetite count``: how many tokens a corpus has."""
from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import click

from ..corpus import Options, count_corpus
from .options import encoding_options, find_inputs, load_tokenizer, unescape
from .reports import corpus_bar, report_problems, say

__all__ = ["command"]


@click.command()
@encoding_options
@click.option("--json", "as_json", is_flag=True, help="Documents, tokens, bytes and problems, as JSON.")
def command(
    files: tuple[str, ...], tokenizer: str | None, jobs: int, as_json: bool, separator: str | None, **options: Any
) -> None:
    """Count the tokens of FILES, without end-of-text tokens; nothing is written.

    The number goes to standard output.
    """
    settings = Options(separator=unescape(separator), **options)
    settings.check()
    sources = find_inputs(files, settings.input_kind, settings.whole_files)
    loaded = load_tokenizer(tokenizer)
    bar, move = corpus_bar(sources.pieces)
    with bar:
        counted = count_corpus(sources, loaded, jobs=jobs, progress=move, log=say, **asdict(settings))
    report_problems(counted)
    say(f"{counted['documents']:,} documents, {counted['tokens']:,} tokens, {counted['bytes']:,} bytes")
    click.echo(json.dumps(counted) if as_json else counted["tokens"])
