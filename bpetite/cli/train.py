"""``bpetite train``: learn a tokenizer from a corpus."""
from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

import click

from .. import formats
from ..corpus.training import not_empty, reading_for
from ..errors import counted
from ..tokenizer import Tokenizer
from ..training.counting.texts import Progress, count_pretokens
from ..training.options import TrainingOptions, TrainOptions
from ..training.train import check_trainable, train_from_counts
from .base import Command, usage
from .learning import given_options, learn, learning_options
from .reports import say
from .saving import Target, output_options
from .shared_options import COUNT, Sample, amount, corpus_options, jobs_option

__all__ = ["command"]


@click.command(
    cls=Command,
    examples=[
        "bpetite train corpus.txt -n 32k -o tok.json",
        "bpetite train texts/ -n 8k --pattern o200k -o model/ --to huggingface",
        "bpetite train texts/ -n 8k --memory 512M --min-count 2 -o bounded.json",
        "bpetite train texts/ -n 32k --superwords-from 24k --pattern o200k -o super.json",
        "bpetite train more.jsonl.gz -n 400 --special '<|endoftext|>' --special '<|pad|>' -o pad.json",
    ],
    after_interrupt="nothing is written",
)
@click.option(
    "-n", "--vocab-size", type=COUNT, required=True, help="256 bytes plus learned tokens, as 32k; specials on top."
)
@output_options
@learning_options(TrainOptions)
@click.option(
    "--memory", type=amount(1024, 32 << 20), metavar="SIZE",
    help="Counts hold at most about this much; the others go to disk.",
)
@click.option("--min-count", type=COUNT, metavar="N", help="With --memory: leave out pre-tokens that occur less often.")
@click.option(
    "--spill", type=click.Path(path_type=Path, exists=True, file_okay=False), metavar="FOLDER",
    help="Where counts go that --memory does not hold [default: the system's folder for temporary files].",
)
@jobs_option
@corpus_options
def command(
    files: tuple[str, ...],
    vocab_size: int,
    target: Target,
    memory: int | None,
    min_count: int | None,
    spill: Path | None,
    jobs: int | None,
    **others: Any,
) -> None:
    """Learn a tokenizer from FILES (text, JSON lines, JSON, Parquet, also .gz, .zst, .bz2, .xz; folders; globs; - for
    standard input) and save it.

    Special tokens in the text separate it and are in no merge.
    """
    options, reading = given_options(others, TrainOptions)
    for option, value in (("--spill", spill), ("--min-count", min_count)):
        if value is not None and memory is None:
            raise click.UsageError(f"{option} goes with --memory")
    if memory is not None and options.get("superwords_from") is not None:
        raise click.UsageError("--superwords-from does not go with --memory")
    chosen = _checked(target, vocab_size, options)
    sample = Sample(files, **reading)
    learned = partial(Tokenizer.train, vocab_size=vocab_size, num_threads=jobs, **options)
    if memory is not None:
        bounds = {"num_threads": jobs, "memory": memory, "spill_to": spill, "min_count": min_count}
        learned = partial(_train_within, chosen, bounds)
    superwords = chosen.superwords_from is not None  # which span the places where a text would be cut
    if not superwords:
        sample.reading = reading_for(chosen.cutting, sample.settings)
    texts = lambda: not_empty(sample.documents(desc="counting"), sample.sources.inputs)  # noqa: E731
    tokenizer = learn(texts, learned, repeated=superwords)
    tokenizer = target.save_trained(tokenizer)
    say(f"{target}: {counted(len(tokenizer), 'token')}, fingerprint {tokenizer.fingerprint()}")


def _checked(target: Target, vocab_size: int, options: dict[str, Any]) -> TrainingOptions:
    """The options; mistakes in them, and what the format cannot hold, are errors before the corpus is read."""
    with usage():
        chosen = TrainingOptions(vocab_size, **options)
    start = Tokenizer.from_vocab(check_trainable(chosen))
    if target.format == "tiktoken":
        start = start.to_ranks()
    formats.dump(start.to_vocab(), target.format)
    return chosen


def _train_within(
    options: TrainingOptions, bounds: dict[str, Any], documents: Iterable[bytes], *, progress: Progress
) -> Tokenizer:
    with count_pretokens(documents, progress=progress, **bounds, **vars(options.cutting)) as counts:
        return Tokenizer.from_vocab(train_from_counts(counts, options, progress=progress))
