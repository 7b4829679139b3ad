"""``bpetite extend``: add learned tokens to a tokenizer."""
from __future__ import annotations

from functools import partial
from typing import Any

import click

from ..errors import counted
from ..training.options import EXTEND_DEFAULTS, ExtendOptions
from .base import Command
from .learning import given_options, learn, learning_options
from .reports import say
from .saving import Target, output_options
from .shared_options import COUNT, Sample, corpus_options, jobs_option, load_tokenizer, tokenizer_option

__all__ = ["command"]


@click.command(
    cls=Command,
    examples=[
        "bpetite extend corpus.txt -t bpetite-32k --add 1k -o longer.json",
        "bpetite extend texts/ -t bpetite-32k --add 500 --special '<|pad|>' -o longer/ --to huggingface",
    ],
    after_interrupt="nothing is written",
)
@click.option("--add", "tokens", type=COUNT, required=True, help="How many tokens to learn, as 500 or 1k.")
@output_options
@tokenizer_option
@learning_options(ExtendOptions, EXTEND_DEFAULTS)
@jobs_option
@corpus_options
def command(
    files: tuple[str, ...],
    tokenizer: str | None,
    tokens: int,
    target: Target,
    jobs: int | None,
    **others: Any,
) -> None:
    """Learn further tokens from FILES (as for train), add them to a tokenizer, whose ids all stay, and save it."""
    given = load_tokenizer(tokenizer)
    options, reading = given_options(others, ExtendOptions)
    given.extend({}, 0, **options)  # finds mistakes before the corpus is read
    sample = Sample(files, **reading)
    texts = partial(sample.documents, desc="counting")
    extended = learn(texts, lambda documents, progress: given.extend(
        documents, tokens, num_threads=jobs, progress=progress, **options
    ))
    extended = target.save_trained(extended)
    size = f"{counted(len(extended), 'token')}, {len(extended) - len(given):,} of them new"
    say(f"{target}: {size}, fingerprint {extended.fingerprint()}")
