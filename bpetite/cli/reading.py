"""What every command that reads a corpus shares: its options, and the documents."""
from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import click

from ..corpus import Sources, find_sources, read_documents
from ..corpus.reading.readers import Reading
from .common import progress_bar

__all__ = ["corpus_options", "documents", "report_left_out", "say", "unescape"]

Command = TypeVar("Command", bound=Callable[..., object])


def corpus_options(command: Command) -> Command:
    """FILES, and how documents are found in them."""
    for option in reversed([
        click.argument("files", nargs=-1, required=True),
        click.option(
            "--input-format", "input_kind", type=click.Choice(["text", "jsonl", "json", "parquet"]),
            help="What the files hold, whatever their names.",
        ),
        click.option("--separator", help="Between the documents of text files [default: the end-of-text literal]."),
        click.option("--whole-files", is_flag=True, help="One document a text file."),
        click.option("--text-key", default="text", show_default=True, help="Where records have text; a.b is b in a."),
        click.option(
            "--on-error", type=click.Choice(["fail", "skip", "replace"]), default="fail", show_default=True,
            help="What happens to records that are not as they should be.",
        ),
    ]):
        command = option(command)
    return command


def unescape(value: str | None) -> str | None:
    r"""A separator as typed: \n, \r, \t, \0 and \\ stand for what they do in most languages."""
    if value is None:
        return None
    out, rest = "", value
    while rest:
        head, backslash, rest = rest.partition("\\")
        out += head
        if backslash:
            known = {"n": "\n", "r": "\r", "t": "\t", "0": "\0", "\\": "\\"}
            if rest[:1] not in known:
                raise click.BadParameter(f"{value!r}: \\{rest[:1]} is not one of \\n \\r \\t \\0 \\\\")
            out += known[rest[0]]
            rest = rest[1:]
    return out


def documents(files: Sequence[str | os.PathLike[str]], separator: str) -> Iterator[str]:
    """The documents of files as texts, with a progress bar of the bytes read."""
    pieces = find_sources(files).pieces
    with progress_bar(total=sum(piece.size for piece in pieces) or None, unit="B", unit_scale=True) as bar:
        for document in read_documents(pieces, Reading(separator.encode()), progress=bar.update):
            yield document.decode()


def say(text: str) -> None:
    """A line for people."""
    click.echo(text, err=True)


def report_left_out(sources: Sources) -> None:
    """Files of folders that nothing reads are not passed over in silence."""
    if sources.left_out:
        say(f"{len(sources.left_out)} files with other suffixes are not read, the first: {sources.left_out[0]}")
