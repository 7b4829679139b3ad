"""``bpetite train``: learn a tokenizer from a corpus, or further tokens for one."""
from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import fields
from functools import partial
from inspect import signature
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from .. import formats
from ..corpus.training import documents_for
from ..errors import TrainingWarning, counted
from ..formats import WritableFormat
from ..patterns import NAMED
from ..steps.normalizers import FORMS
from ..tokenizer import Tokenizer
from ..training.counting.count_pretokens import count_pretokens
from ..training.counting.jobs import Progress
from ..training.options import TrainingOptions
from ..training.train import check_trainable
from .base import Command, usage
from .console import ProgressLine, say
from .inputs import Files, corpus_options
from .loading import SOURCES, load_tokenizer
from .saving import Target, special_tokens_of, target_options
from .shared_options import COUNT, Decorator, all_of, amount, jobs_option, option_of

#: The options of training that go with --vocab-size; with --add, those that `Tokenizer.extend` has.
LEARNING: list[str] = [one.name for one in fields(TrainingOptions) if one.name != "vocab_size"]


def _special_tokens(context: click.Context, option: click.Parameter, values: tuple[str, ...]) -> Any:
    return special_tokens_of(values)


learning_options: Decorator = all_of(
    option_of(
        TrainingOptions, "special_tokens", multiple=True, metavar="LITERAL[=ID]", callback=_special_tokens
    ),
    option_of(TrainingOptions, "special_ids"),
    option_of(
        TrainingOptions, "pattern",
        help=f"The split pattern: a regular expression; a name: {', '.join(NAMED)}; or none, for no pre-tokenization.",
    ),
    option_of(TrainingOptions, "min_frequency"),
    option_of(TrainingOptions, "tie_break"),
    option_of(TrainingOptions, "normalization", type=click.Choice(FORMS)),
    option_of(TrainingOptions, "max_token_bytes"),
    option_of(TrainingOptions, "superwords_from"),
    option_of(TrainingOptions, "superword_pattern"),
)


@click.command(
    cls=Command,
    examples=[
        "bpetite train corpus.txt -n 32k -o tok.json",
        "bpetite train texts/ -n 8k --pattern o200k -o model/ --to huggingface",
        "bpetite train texts/ -n 8k --memory 512M --min-count 2 -o bounded.json",
        "bpetite train texts/ -n 32k --superwords-from 24k --pattern o200k -o super.json",
        "bpetite train corpus.txt -t bpetite-32k --add 1k --special-tokens '<|pad|>' -o longer.json",
    ],
    after_interrupt="nothing is written",
)
@click.option("-n", "--vocab-size", type=COUNT, help="256 bytes plus learned tokens, as 32k; specials on top.")
@click.option(
    "-t", "--tokenizer", metavar="TOKENIZER", help=f"With --add: the tokenizer to learn more tokens for: {SOURCES}."
)
@click.option("--add", type=COUNT, help="With -t: how many tokens to learn, as 500 or 1k; all ids stay.")
@click.option("-o", "--output", "target", required=True, help="Where the tokenizer goes; - is standard output.")
@target_options
@learning_options
@click.option(
    "--memory", type=amount(1024, 32 << 20), metavar="SIZE",
    help="Counts hold at most about this much; the others go to disk.",
)
@click.option("--min-count", type=COUNT, metavar="N", help="With --memory: leave out pre-tokens that occur less often.")
@click.option(
    "--spill-to", type=click.Path(path_type=Path, exists=True, file_okay=False), metavar="FOLDER",
    help="Where counts go that --memory does not hold [default: the system's folder for temporary files].",
)
@jobs_option
@corpus_options
def command(
    files: tuple[str, ...],
    vocab_size: int | None,
    tokenizer: str | None,
    add: int | None,
    target: str,
    target_format: WritableFormat | None,
    overwrite: bool,
    jobs: int | None,
    **others: Any,
) -> None:
    """Learn a tokenizer from FILES and save it; with -t and --add, learn further tokens for a tokenizer, whose ids all
    stay.

    Special tokens in the text separate it and are in no merge.
    """
    destination = Target(target, target_format, overwrite)
    bounds = {name: others.pop(name) for name in ("memory", "min_count", "spill_to")}
    source = click.get_current_context().get_parameter_source
    options = {name: others.pop(name) for name in LEARNING}
    options = {name: value for name, value in options.items() if source(name) is not ParameterSource.DEFAULT}
    if (tokenizer is None) != (add is None):
        raise click.UsageError("--tokenizer and --add go together")
    if (tokenizer is None) == (vocab_size is None):
        raise click.UsageError("--vocab-size for a new tokenizer, or --tokenizer and --add for more tokens")
    if tokenizer is None or add is None:
        made = _trained(destination, options | {"vocab_size": vocab_size}, bounds, jobs, Files(files, **others))
        new = ""
    else:
        for name in [*options, *(name for name, value in bounds.items() if value is not None)]:
            if name not in signature(Tokenizer.extend).parameters:
                raise click.UsageError(f"--{name.replace('_', '-')} does not go with --tokenizer")
        given = load_tokenizer(tokenizer)
        given.extend({}, 0, **options)  # finds mistakes before the corpus is read
        made = _learned(Files(files, **others).documents("counting"), lambda documents, progress: given.extend(
            documents, add, num_threads=jobs, progress=progress, **options
        ))
        new = f", {len(made) - len(given):,} of them new"
    made = destination.save_trained(made)
    say(f"{destination}: {counted(len(made), 'token')}{new}, fingerprint {made.fingerprint()}")


def _trained(
    target: Target, options: dict[str, Any], bounds: dict[str, Any], jobs: int | None, files: Files
) -> Tokenizer:
    """A new tokenizer; mistakes in its options, and what the format cannot hold, are errors before the corpus is
    read."""
    for name in ("spill_to", "min_count"):
        if bounds[name] is not None and bounds["memory"] is None:
            raise click.UsageError(f"--{name.replace('_', '-')} goes with --memory")
    if bounds["memory"] is not None and options.get("superwords_from") is not None:
        raise click.UsageError("--superwords-from does not go with --memory")
    with usage():
        chosen = TrainingOptions(**options)
    start = Tokenizer.from_vocab(check_trainable(chosen))
    if target.format == "tiktoken":
        start = start.to_ranks()
    formats.dump(start.to_vocab(), target.format)
    train = partial(Tokenizer.train, num_threads=jobs, **options)
    if bounds["memory"] is not None:
        train = partial(_train_within, options, vars(chosen.cutting) | bounds | {"num_threads": jobs})
    read = partial(files.documents, "counting")
    return _learned(documents_for(chosen, files.settings, files.sources.inputs, read), train)


def _train_within(
    options: dict[str, Any], counting: dict[str, Any], documents: Iterable[bytes], *, progress: Progress
) -> Tokenizer:
    with count_pretokens(documents, progress=progress, **counting) as counts:
        return Tokenizer.train_from_counts(counts, progress=progress, **options)


def _learned(documents: Iterable[bytes], train: Callable[..., Tokenizer]) -> Tokenizer:
    """Call ``train`` with documents and ``progress``, a line of progress of merging; warnings go to people."""
    with warnings.catch_warnings(), ProgressLine(unit=" merges", desc="merging") as merging:
        warnings.simplefilter("always", TrainingWarning)
        warnings.showwarning = lambda message, *_, **__: say(str(message))

        def move(stage: str, done: int, total: int | None) -> None:
            if stage == "merge":
                merging.total = total
                merging.update(done - merging.done)

        return train(documents, progress=move)
