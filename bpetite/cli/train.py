"""``bpetite train``: learn a tokenizer from a corpus."""
from __future__ import annotations

import logging
import warnings
from pathlib import Path
from typing import Any

import click

from .. import formats
from ..corpus import Sources, read_documents
from ..corpus.reading.readers import Reading
from ..corpus.training import SEPARATOR
from ..errors import TrainingWarning
from ..formats import WRITABLE_FORMATS, WritableFormat
from ..tokenizer import Tokenizer
from ..training.options import chosen_options
from ..training.train import rehearse
from .options import (
    TASK_BYTES,
    corpus_options,
    engine_options,
    find_inputs,
    load_tokenizer,
    only_with_engine,
    unescape,
)
from .reports import bytes_bar, progress_bar, say
from .saving import check_target, save_trained, special_tokens

__all__ = ["command"]


@click.command()
@corpus_options
@click.option("-n", "--vocab-size", type=int, required=True, help="256 bytes plus learned tokens; specials on top.")
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, help="Where the tokenizer goes.")
@click.option(
    "--format",
    "file_format",
    type=click.Choice(WRITABLE_FORMATS),
    help="Format of the output  [default: by its name: tokenizer.json, *.tiktoken, else native]",
)
@click.option("--overwrite", is_flag=True, help="Replace an existing output file.")
@click.option(
    "--special", "specials", multiple=True, default=["<|endoftext|>"], show_default=True, metavar="LITERAL[=ID]",
    help="A special token.",
)
@click.option("--special-ids", type=click.Choice(["after", "before"]), default="after", show_default=True)
@click.option(
    "--pattern",
    help="A named pattern, a regular expression, or none; that of --initial, else gpt2, by default.",
)
@click.option("--normalization", type=click.Choice(["NFC", "NFD", "NFKC", "NFKD"]))
@click.option("--min-frequency", type=int, default=1, show_default=True)
@click.option("--tie-break", type=click.Choice(["ids", "bytes"]), default="ids", show_default=True)
@click.option("--max-token-bytes", type=int, help="Learn no longer tokens.")
@click.option("--initial", help="Learn further merges after those of this tokenizer.")
@click.option("--threads", type=int, help="Threads that count [default: one a core].")
@engine_options
def command(
    files: tuple[str, ...],
    output: Path,
    file_format: WritableFormat | None,
    overwrite: bool,
    separator: str | None,
    input_kind: str | None,
    whole_files: bool,
    text_key: str,
    on_error: str,
    max_document_bytes: int,
    specials: tuple[str, ...],
    pattern: str | None,
    normalization: str | None,
    initial: str | None,
    threads: int | None,
    engine: str,
    address: str | None,
    task_bytes: int | None,
    **options: Any,
) -> None:
    """Learn a tokenizer from FILES (text, JSON lines, JSON, Parquet, also .gz and .zst; folders; globs; - for standard
    input) and save it.

    Special tokens in the text separate it and are in no merge. With --engine ray, tasks count into files in a folder
    beside the output, --threads each (1 by default); learning runs here.
    """
    target_format = formats.format_by_name(output) if file_format is None else file_format
    check_target(output, target_format, overwrite)
    between = SEPARATOR if separator is None else unescape(separator)
    if not between:
        raise click.UsageError("--separator must not be empty")
    options["special_tokens"] = special_tokens(specials)
    if pattern is not None:
        options["pattern"] = pattern
    if normalization is not None:
        options["normalization"] = normalization
    if initial is not None:
        options["initial"] = load_tokenizer(initial)
    _rehearse(target_format, **options)
    sources = find_inputs(files, input_kind, whole_files)
    with warnings.catch_warnings():
        warnings.simplefilter("always", TrainingWarning)
        warnings.showwarning = lambda message, *_, **__: say(str(message))
        if engine == "ray":
            tokenizer = _train_on_ray(
                sources, address, output, task_bytes, separator=between, text_key=text_key, on_error=on_error,
                max_document_bytes=max_document_bytes, threads=threads or 1, **options,
            )
        else:
            only_with_engine(address=address, task_bytes=task_bytes)
            reading = Reading(between.encode(), text_key, max_document=max_document_bytes)
            tokenizer = _train_here(sources, reading, on_error, num_threads=threads, **options)
    tokenizer = save_trained(tokenizer, output, target_format, overwrite)
    say(f"{output}: {len(tokenizer)} tokens, fingerprint {tokenizer.fingerprint()}")


def _rehearse(format: WritableFormat, vocab_size: int, **options: Any) -> None:
    """Raise what is wrong with the options, or cannot be written in the format, before the corpus is read."""
    start = Tokenizer.from_vocab(rehearse(chosen_options(vocab_size, options)))
    if format == "tiktoken":
        start = start.to_ranks()
    formats.dump(start.to_vocab(), format)


class _Lines(logging.Handler):
    """Log records as messages for people."""

    def emit(self, record: logging.LogRecord) -> None:
        say(record.getMessage())


def _train_here(sources: Sources, reading: Reading, on_error: str, **options: Any) -> Tokenizer:
    """Count with a bar of the bytes read, then merge with a bar of the merges; log messages go to standard error."""
    log = logging.getLogger("bpetite.training.train")
    lines = _Lines()
    log.addHandler(lines)
    log.setLevel(logging.INFO)
    try:
        with (
            bytes_bar(sources.pieces, desc="counting") as counting,
            progress_bar(unit=" merges", desc="merging", leave=False) as merging,
        ):

            def move(stage: str, done: int, total: int | None) -> None:
                if stage == "merge":
                    merging.total = total
                    merging.update(done - merging.n)

            documents = read_documents(sources.pieces, reading, on_error=on_error, log=say, progress=counting.update)
            return Tokenizer.train(documents, progress=move, **options)
    finally:
        log.removeHandler(lines)


def _train_on_ray(
    sources: Sources, address: str | None, output: Path, task_bytes: int | None, **options: Any
) -> Tokenizer:
    from ..cluster import ray

    with bytes_bar(sources.pieces, desc="counting") as bar:
        return ray.train(
            sources,
            address=address,
            work=output.with_name(output.name + ".counts"),
            task_bytes=task_bytes or TASK_BYTES,
            progress=bar.update,
            log=say,
            **options,
        )
