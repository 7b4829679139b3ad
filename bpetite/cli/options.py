"""Options that several commands have, and what their values stand for."""
from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

import click

from ..corpus import Sources, find_sources, read_documents
from ..corpus.reading.readers import Reading
from ..corpus.reading.sources import TASK_BYTES
from ..errors import file_exists
from ..tokenizer import Tokenizer
from .reports import bytes_bar, report_left_out, say

__all__ = [
    "PACKAGED",
    "TASK_BYTES",
    "corpus_options",
    "documents",
    "encoding_options",
    "engine_options",
    "find_inputs",
    "load_tokenizer",
    "only_with_engine",
    "refuse_existing",
    "unescape",
]

Command = TypeVar("Command", bound=Callable[..., Any])

#: The tokenizer that ships inside the package.
PACKAGED = "bpetite-32k"


class Options(Protocol):
    """A decorator that gives a command options."""

    def __call__(self, command: Command, /) -> Command: ...


def load_tokenizer(spec: str | None) -> Tokenizer:
    """The tokenizer in a file or directory or of a name; None is the packaged one, and a message says so."""
    if spec is None:
        say(f"no --tokenizer given: using the packaged {PACKAGED}")
        return Tokenizer.load(PACKAGED)
    return Tokenizer.load(spec)


def _all_of(*options: Options) -> Options:
    """One decorator for several options, which ``--help`` lists in this order."""

    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def _size(ctx: click.Context, param: click.Parameter, value: str | None) -> int | None:
    """Bytes, with K, M, G or T for powers of 1024."""
    if value is None:
        return None
    found = re.fullmatch(r"([1-9][0-9]*)([KMGT]?)", value)
    if found is None:
        raise click.BadParameter(f"{value!r} is no size: bytes, or a number with K, M, G or T")
    return int(found[1]) << 10 * " KMGT".index(found[2] or " ")


#: FILES, and how documents are found in them.
corpus_options: Options = _all_of(
    click.argument("files", nargs=-1, required=True),
    click.option(
        "--input-format", "input_kind", type=click.Choice(["text", "jsonl", "json", "parquet"]),
        help="What the files hold, whatever their names.",
    ),
    click.option("--separator", help="Between the documents of text files [default: the end-of-text literal]."),
    click.option("--whole-files", is_flag=True, help="One document a text file."),
    click.option("--text-key", default="text", show_default=True, help="Key of the text in records; a.b is b in a."),
    click.option(
        "--on-error", type=click.Choice(["fail", "skip", "replace"]), default="fail", show_default=True,
        help="What happens to records that have no valid text, or are too long.",
    ),
    click.option(
        "--max-document-bytes", callback=_size, default="1G", show_default=True, metavar="SIZE",
        help="The longest document, as 100M or 4G.",
    ),
)

#: The options of every command that encodes a corpus.
encoding_options: Options = _all_of(
    corpus_options,
    click.option("-t", "--tokenizer", help="A tokenizer file, folder or name; the packaged one by default."),
    click.option(
        "--special", type=click.Choice(["text", "allow", "error"]), default="text", show_default=True,
        help="What special tokens in documents are.",
    ),
    click.option("-j", "--jobs", type=click.IntRange(1), default=1, show_default=True, help="Threads."),
)


#: --engine, and its own options.
engine_options: Options = _all_of(
    click.option(
        "--engine", type=click.Choice(["local", "ray"]), default="local", show_default=True,
        help="What runs the work; all nodes see the files at the same paths.",
    ),
    click.option("--address", help="Of the Ray cluster: auto, host:port or ray://... [default: RAY_ADDRESS]."),
    click.option(
        "--task-bytes", callback=_size, metavar="SIZE",
        help=f"Input of a task on an engine, as 64M or 2G [default: {TASK_BYTES >> 20}M].",
    ),
)


def only_with_engine(**values: Any) -> None:
    """Refuse options that mean nothing without an engine."""
    for name, value in values.items():
        if value is not None:
            raise click.UsageError(f"--{name.replace('_', '-')} goes with --engine ray")


def unescape(value: str | None) -> str | None:
    r"""A separator as typed, with \n, \r, \t, \0 and \\ replaced."""
    if value is None:
        return None
    known = {"n": "\n", "r": "\r", "t": "\t", "0": "\0", "\\": "\\"}

    def character(escape: re.Match[str]) -> str:
        if escape[1] not in known:
            raise click.BadParameter(f"{value!r}: {escape[0]} is not one of \\n \\r \\t \\0 \\\\")
        return known[escape[1]]

    return re.sub(r"\\(.?)", character, value, flags=re.S)


def find_inputs(files: Sequence[str], kind: str | None, whole_files: bool) -> Sources:
    """The inputs that FILES stand for; a message says which files are left out."""
    sources = find_sources(files, kind=kind, whole_files=whole_files)
    report_left_out(sources)
    return sources


def documents(files: Sequence[str | os.PathLike[str]], separator: str) -> Iterator[str]:
    """The documents of files as texts, with a progress bar of the bytes read."""
    pieces = find_sources(files).pieces
    with bytes_bar(pieces) as bar:
        for document in read_documents(pieces, Reading(separator.encode()), progress=bar.update):
            yield document.decode()


def refuse_existing(path: Path, overwrite: bool) -> None:
    """Find out now, not at the end of the work, that an output file cannot be written."""
    if path.exists() and not overwrite:
        raise file_exists(path, "exists already; --overwrite replaces it")
    if not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "no such folder", str(path.parent))
