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
from ..training.parity import train_parity
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
        "bpetite train texts/*.txt -n 300 --parity file -o fair.json",
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
@click.option(
    "--parity", metavar="KEY|file|folder",
    help="Parity-aware BPE: each merge is for the language that is compressed worst. The language is the value of a "
    "key of records, or the name of the file or folder.",
)
@click.option(
    "--dev", multiple=True, metavar="FILES",
    help="With --parity: files of the same texts in every language, by which languages are compared.",
)
@click.option(
    "--global-merges", type=COUNT, metavar="N", help="With --parity: learn N from the sum of all languages first."
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
    parity: str | None,
    dev: tuple[str, ...],
    global_merges: int | None,
    jobs: int | None,
    **others: Any,
) -> None:
    """Learn a tokenizer from FILES (text, JSON lines, JSON, Parquet, also .gz, .zst, .bz2, .xz; folders; globs; - for
    standard input) and save it.

    Special tokens in the text separate it and are in no merge.
    """
    options, reading = given_options(others, TrainOptions)
    for option, value, needed, given in (
        ("--spill", spill, "--memory", memory),
        ("--min-count", min_count, "--memory", memory),
        ("--dev", dev or None, "--parity", parity),
        ("--global-merges", global_merges, "--parity", parity),
    ):
        if value is not None and given is None:
            raise click.UsageError(f"{option} goes with {needed}")
    ways = {
        "--parity": parity,
        "--superwords-from": options.get("superwords_from"),
        "--memory": memory,
    }
    chosen_ways = [name for name, value in ways.items() if value is not None]
    if len(chosen_ways) > 1:
        raise click.UsageError(f"{chosen_ways[0]} does not go with {chosen_ways[1]}")
    chosen = _checked(target, vocab_size, options)
    sample = Sample(files, **reading)
    if parity is not None:
        if dev:
            again = {name: value for name, value in reading.items() if name not in ("files_from", "null")}
            options["dev"] = Sample(dev, **again).by_group(parity)
        options |= {"vocab_size": vocab_size, "global_merges": global_merges or 0, "num_threads": jobs}
        tokenizer = learn(partial(sample.by_group, parity), partial(train_parity, **options))
    else:
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
