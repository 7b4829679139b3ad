"""``bpetite count``: the number of tokens of a corpus."""
from __future__ import annotations

import sys
from typing import Any

import click

from ..core._threads import job_count
from ..corpus import count_corpus
from .base import Command
from .console import bytes_read, numbers_in, report_problems, require_documents, say, show_json
from .inputs import Files, corpus_options, max_errors_option, special_policy
from .loading import load_tokenizer
from .shared_options import jobs_option, json_option, tokenizer_option


@click.command(
    cls=Command,
    reads_data=True,
    examples=[
        "bpetite count -t gpt-4o corpus.txt",
        "bpetite count -t gpt2 corpus.txt more.jsonl.gz texts/ --json",
        "bpetite count -t gpt2 < corpus.txt",
    ],
)
@tokenizer_option
@special_policy
@jobs_option
@corpus_options
@max_errors_option
@json_option
def command(
    files: tuple[str, ...],
    tokenizer: str | None,
    files_from: Any,
    null: bool,
    jobs: int | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Count the tokens of FILES, without end-of-text tokens; nothing is written.

    The number goes to standard output. Special tokens are read as text unless --special says otherwise; `bpetite
    tokens` reads them as tokens.
    """
    if not files and files_from is None and not sys.stdin.isatty():
        files = ("-",)  # as for tokens
    try:
        sources = Files(files, files_from=files_from, null=null, **options).sources
    except FileNotFoundError as missing:
        missing.strerror = f"{missing.strerror}; for the tokens of a text: bpetite tokens TEXT"
        raise
    with bytes_read(sources.inputs) as bar:
        totals = count_corpus(
            sources, load_tokenizer(tokenizer), jobs=job_count(jobs), progress=bar.move,
            problems=bar.count_problems, log=say, **options,
        )
    report_problems(totals)
    say(numbers_in(totals, "document", "token", "byte"))
    if as_json:
        show_json(totals)
    else:
        click.echo(str(totals["tokens"]))
    require_documents(totals)
