"""``bpetite train``: learn a tokenizer from a corpus."""
from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import click

from .. import formats
from ..corpus.run.options import ErrorPolicy
from ..formats import WritableFormat
from ..tokenizer import Tokenizer
from ..training.counting import count_pretokens
from ..training.options import chosen_options
from ..training.parity import train_parity
from ..training.train import rehearse
from .base import Command, one_line
from .learning import learn, warnings_said
from .options import (
    COUNT,
    SIZE,
    TASK_BYTES,
    Amount,
    Sample,
    corpus_options,
    engine_options,
    jobs_option,
    only_with_engine,
    overwrite_option,
)
from .outputs import is_stream, named, one_stream
from .reports import bytes_bar, counted, say
from .saving import check_target, save_trained, special_tokens, to_option

__all__ = ["command"]


@click.command(
    cls=Command,
    examples=[
        "bpetite train corpus.txt -n 32k -o tok.json",
        "bpetite train texts/ -n 8k --pattern o200k -o model/ --to huggingface",
        "bpetite train texts/ -n 8k --memory 512M -o bounded.json",
        "bpetite train texts/ -n 32k --superwords-from 24k --pattern o200k -o super.json",
        "bpetite train texts/*.txt -n 300 --parity file -o fair.json",
        "bpetite train more.jsonl.gz -n 400 --special '<|endoftext|>' --special '<|pad|>' -o pad.json",
    ],
    after_interrupt="nothing is written",
)
@click.option(
    "-n", "--vocab-size", type=COUNT, required=True, help="256 bytes plus learned tokens, as 32k; specials on top."
)
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, help=one_stream("the tokenizer"))
@to_option
@overwrite_option
@click.option(
    "--special", "specials", multiple=True, default=["<|endoftext|>"], show_default=True, metavar="LITERAL[=ID]",
    help="A special token.",
)
@click.option("--special-ids", type=click.Choice(["after", "before"]), default="after", show_default=True)
@click.option(
    "--pattern",
    help="A named pattern, a regular expression, or none; gpt2 by default.",
)
@click.option("--normalization", type=click.Choice(["NFC", "NFD", "NFKC", "NFKD"]))
@click.option("--unicode", help="The version of Unicode that assigns code points, such as 16.0.")
@click.option("--min-frequency", type=COUNT, default=1, show_default=True)
@click.option("--tie-break", type=click.Choice(["ids", "bytes", "tokenizers"]), default="ids", show_default=True)
@click.option("--max-token-bytes", type=SIZE, help="Learn no longer tokens.")
@click.option(
    "--memory", type=Amount(1024, 32 << 20), metavar="SIZE",
    help="Hold at most about this much: counts go to disk, and where learning has no room for all, rare pre-tokens are "
    "left out, which a message says.",
)
@click.option(
    "--spill", type=click.Path(path_type=Path, exists=True, file_okay=False), metavar="FOLDER",
    help="Where counts go that --memory does not hold [default: the system's folder for temporary files].",
)
@click.option(
    "--superwords-from", type=COUNT, metavar="N",
    help="SuperBPE: learn N tokens within words, then tokens of several words.",
)
@click.option("--superword-pattern", help="What cuts text then; superbpe by default.")
@click.option(
    "--picky-threshold", type=click.FloatRange(0, 1, min_open=True), metavar="T",
    help="Leave out tokens of which a share T of the uses, such as 0.9, has gone into longer ones.",
)
@click.option(
    "--parity", metavar="KEY|file|folder",
    help="Parity-aware BPE: each merge is for the language that is compressed worst. What says the language: a key of "
    "records, or the name of the file or folder.",
)
@click.option(
    "--dev", multiple=True, metavar="FILES",
    help="With --parity: files of the same texts in every language, by which languages are compared.",
)
@click.option(
    "--global-merges", type=COUNT, metavar="N", help="With --parity: learn N from all languages together before."
)
@jobs_option
@corpus_options
@engine_options
def command(
    files: tuple[str, ...],
    output: Path,
    target_format: WritableFormat | None,
    overwrite: bool,
    separator: str | None,
    input_kind: str | None,
    whole_files: bool,
    text_key: str,
    on_error: ErrorPolicy,
    max_document_bytes: int,
    specials: tuple[str, ...],
    pattern: str | None,
    normalization: str | None,
    unicode: str | None,
    memory: int | None,
    spill: Path | None,
    superwords_from: int | None,
    superword_pattern: str | None,
    picky_threshold: float | None,
    parity: str | None,
    dev: tuple[str, ...],
    global_merges: int | None,
    jobs: int | None,
    engine: str,
    address: str | None,
    task_bytes: int | None,
    **options: Any,
) -> None:
    """Learn a tokenizer from FILES (text, JSON lines, JSON, Parquet, also .gz, .zst, .bz2, .xz; folders; globs; - for
    standard input) and save it.

    Special tokens in the text separate it and are in no merge. With --engine ray, tasks count into files in a folder
    beside the output; learning runs here.
    """
    if target_format is None:
        target_format = formats.format_by_name(output)
    check_target(output, target_format, overwrite)
    if spill is not None and memory is None:
        raise click.UsageError("--spill goes with --memory")
    options["special_tokens"] = special_tokens(specials)
    if pattern is not None:
        options["pattern"] = pattern
    if normalization is not None:
        options["normalization"] = normalization
    if unicode is not None:
        options["unicode"] = unicode
    if superwords_from is not None:
        options["superwords_from"] = superwords_from
        if engine == "ray" or memory is not None:
            other = "--memory" if memory is not None else "--engine ray"
            raise click.UsageError(f"--superwords-from learns from texts, and {other} from counts")
    if superword_pattern is not None:
        options["superword_pattern"] = superword_pattern
    if picky_threshold is not None:
        options["picky_threshold"] = picky_threshold
        if memory is not None:
            raise click.UsageError("--picky-threshold needs all counts in memory, and --memory puts them on disk")
    if parity is None and (dev or global_merges is not None):
        raise click.UsageError(f"{'--dev' if dev else '--global-merges'} goes with --parity")
    others = {
        "--memory": memory is not None,
        "--superwords-from": superwords_from is not None,
        "--picky-threshold": picky_threshold is not None,
        "--engine ray": engine == "ray",
    }
    if parity is not None and any(others.values()):
        raise click.UsageError(f"--parity does not go with {next(name for name in others if others[name])}")
    _rehearse(target_format, **options)
    sampled = partial(
        Sample, input_kind=input_kind, separator=separator, whole_files=whole_files, text_key=text_key,
        on_error=on_error, max_document_bytes=max_document_bytes,
    )
    sample = sampled(files)
    with warnings_said():
        if engine == "ray":
            if is_stream(output):
                raise click.UsageError("--engine ray counts into a folder beside the output: name a file")
            if memory is not None:
                raise click.UsageError("--memory does not go with --engine ray: tasks count into files")
            tokenizer = _train_on_ray(sample, address, output, task_bytes, threads=jobs or 1, **options)
        elif parity is not None:
            only_with_engine(address=address, task_bytes=task_bytes)
            if dev:
                options["dev"] = sampled(dev).by_group(parity)
            learned = partial(train_parity, global_merges=global_merges or 0, num_threads=jobs, **options)
            tokenizer = learn(partial(sample.by_group, parity), learned)
        else:
            only_with_engine(address=address, task_bytes=task_bytes)
            train = Tokenizer.train if memory is None else partial(_train_within, memory, spill)
            learned = partial(train, num_threads=jobs, **options)
            texts = partial(sample.documents, desc="counting")
            tokenizer = learn(texts, learned, repeated=superwords_from is not None)
    tokenizer = save_trained(tokenizer, output, target_format, overwrite)
    say(f"{named(output)}: {counted(len(tokenizer), 'token')}, fingerprint {tokenizer.fingerprint()}")


def _rehearse(format: WritableFormat, vocab_size: int, **options: Any) -> None:
    """Raise what is wrong with the options, or cannot be written in the format, before the corpus is read."""
    try:
        chosen = chosen_options(vocab_size, options)
    except ValueError as wrong:
        raise click.UsageError(one_line(wrong)) from None
    start = Tokenizer.from_vocab(rehearse(chosen))
    if format == "tiktoken":
        start = start.to_ranks()
    formats.dump(start.to_vocab(), format)


def _train_within(
    memory: int,
    spill: Path | None,
    documents: Iterable[bytes],
    vocab_size: int,
    *,
    num_threads: int | None,
    progress: Callable[..., None],
    **options: Any,
) -> Tokenizer:
    """Counts that may go to disk, then what learning has room for."""
    with count_pretokens(
        documents, num_threads=num_threads, progress=progress, memory=memory, spill_to=spill,
        **chosen_options(vocab_size, options).counting(),
    ) as counts:
        return Tokenizer.train_from_counts(counts.within(memory), vocab_size, progress=progress, **options)


def _train_on_ray(
    sample: Sample, address: str | None, output: Path, task_bytes: int | None, **options: Any
) -> Tokenizer:
    from ..cluster import ray

    reading = sample.reading
    with bytes_bar(sample.sources.pieces, desc="counting") as bar:
        return ray.train(
            sample.sources,
            address=address,
            work=output.with_name(output.name + ".counts"),
            task_bytes=task_bytes or TASK_BYTES,
            separator=reading.separator.decode(),
            text_key=reading.text_key,
            on_error=sample.on_error,
            max_document_bytes=reading.max_document,
            progress=bar.update,
            log=say,
            **options,
        )
