"""``bpetite train``: learn a tokenizer from text files."""
from __future__ import annotations

from collections.abc import Iterator
from io import TextIOWrapper
from pathlib import Path
from typing import Any, TextIO

import click

from .. import patterns
from ..tokenizer import Tokenizer
from .common import progress_bar
from .engines import engine_options, only_with_engine

#: Text is read in pieces of this many characters.
PIECE = 1 << 20


def split_stream(file: TextIO, separator: str) -> Iterator[str]:
    """The documents of an open text file, cut at the separator; a document's pieces are joined once, at its end."""
    pieces: list[str] = []
    held = ""  # a separator may begin in one piece and end in the next
    while piece := file.read(PIECE):
        first, *others = (held + piece).split(separator)
        if others:
            yield "".join([*pieces, first])
            yield from others[:-1]
            pieces, first = [], others[-1]
        edge = max(0, len(first) - len(separator) + 1)
        pieces.append(first[:edge])
        held = first[edge:]
    yield "".join([*pieces, held])


def documents(paths: tuple[Path, ...], separator: str) -> Iterator[str]:
    """The documents of all files, with a progress bar of the bytes read."""
    total = sum(path.stat().st_size for path in paths)
    with progress_bar(total=total, unit="B", unit_scale=True, desc="reading") as bar:
        for path in paths:
            with path.open("rb") as raw, TextIOWrapper(raw, encoding="utf-8-sig", newline="") as file:
                seen = 0
                try:
                    for document in split_stream(file, separator):
                        yield document
                        here = raw.tell()
                        bar.update(here - seen)
                        seen = here
                except UnicodeDecodeError as wrong:
                    raise click.ClickException(f"{path}: not UTF-8: {wrong}") from None


def pattern_of(value: str) -> patterns.Pattern:
    """A pattern by its name, or the regular expression itself."""
    if value == "none":
        return None
    return patterns.NAMED.get(value, value)


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("-n", "--vocab-size", type=int, required=True, help="256 bytes plus learned tokens; specials on top.")
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, help="Where the tokenizer goes.")
@click.option("--format", "file_format", help="native (default), huggingface, tiktoken or gpt2.")
@click.option("--overwrite", is_flag=True, help="Replace an existing output file.")
@click.option("--separator", default="<|endoftext|>", show_default=True, help="What stands between two documents.")
@click.option(
    "--special", "specials", multiple=True, default=["<|endoftext|>"], show_default=True, help="A special token."
)
@click.option("--special-ids", type=click.Choice(["after", "before"]), default="after", show_default=True)
@click.option("--pattern", default="gpt2", show_default=True, help="A named pattern, a regular expression, or none.")
@click.option("--normalization", type=click.Choice(["NFC", "NFD", "NFKC", "NFKD"]))
@click.option("--min-frequency", type=int, default=1, show_default=True)
@click.option("--tie-break", type=click.Choice(["ids", "bytes"]), default="ids", show_default=True)
@click.option("--max-token-bytes", type=int, help="Learn no longer tokens.")
@click.option("--threads", type=int, help="Threads that count; all cores by default.")
@engine_options
def command(
    files: tuple[Path, ...],
    output: Path,
    file_format: str | None,
    overwrite: bool,
    separator: str,
    specials: tuple[str, ...],
    pattern: str,
    threads: int | None,
    engine: str,
    address: str | None,
    task_bytes: int | None,
    **options: Any,
) -> None:
    """Learn a tokenizer from text FILES and save it.

    Documents are what lies between separators; special tokens in the text cut it and take no part in any merge. With
    --engine ray, tasks count into files in a folder beside the output, --threads each (1 by default); learning runs
    here.
    """
    if output.exists() and not overwrite:
        raise FileExistsError(17, "exists already; --overwrite replaces it", str(output))
    if not separator:
        raise click.UsageError("--separator must not be empty")
    options |= {"special_tokens": specials, "pattern": pattern_of(pattern)}
    if engine == "ray":
        tokenizer = _train_on_ray(files, address, output, separator, task_bytes, threads or 1, options)
    else:
        only_with_engine(address=address, task_bytes=task_bytes)
        tokenizer = Tokenizer.train(documents(files, separator), num_threads=threads, **options)
    tokenizer.save(output, format=file_format, overwrite=overwrite)
    click.echo(f"{output}: {len(tokenizer)} tokens, fingerprint {tokenizer.fingerprint()}", err=True)


def _train_on_ray(
    files: tuple[Path, ...],
    address: str | None,
    output: Path,
    separator: str,
    task_bytes: int | None,
    threads: int,
    options: dict[str, Any],
) -> Tokenizer:
    from ..cluster import ray
    from ..cluster.encoding import TASK_BYTES

    total = sum(path.stat().st_size for path in files)
    with progress_bar(total=total, unit="B", unit_scale=True, desc="counting") as bar:
        return ray.train(
            files,
            address=address,
            work=output.with_name(output.name + ".counts"),
            separator=separator,
            input_kind="text",
            task_bytes=task_bytes or TASK_BYTES,
            threads=threads,
            progress=bar.update,
            log=lambda line: click.echo(line, err=True),
            **options,
        )
