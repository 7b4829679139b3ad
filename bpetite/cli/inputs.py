"""FILES of a command, and the options of their corpus."""
from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import click

from ..corpus import Sources, find_sources, read_documents
from ..corpus.options import Options
from ..corpus.read.find import refuse_unread
from ..corpus.read.pieces import Reading
from ..corpus.read.readers import read_labelled
from ..errors import counted
from .base import usage
from .console import bytes_read, say
from .shared_options import Decorator, all_of, option_of


def unescape(ctx: click.Context | None, option: click.Parameter | None, value: str | None) -> str | None:
    r"""A separator as typed, with \n, \r, \t, \0 and \\ replaced."""
    if value is None:
        return None
    if not value:
        raise click.UsageError("--separator must not be empty; --whole-files reads a file as one document")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise click.UsageError(f"--separator {value!r} is not UTF-8") from None
    known = {"n": "\n", "r": "\r", "t": "\t", "0": "\0", "\\": "\\"}

    def character(escape: re.Match[str]) -> str:
        if escape[1] not in known:
            raise click.UsageError(f"--separator {value!r}: {escape[0]} is not one of \\n \\r \\t \\0 \\\\")
        return known[escape[1]]

    return re.sub(r"\\(.?)", character, value, flags=re.S)


#: FILES, and how documents are found in them.
corpus_options: Decorator = all_of(
    click.argument("files", nargs=-1),
    option_of(Options, "input_kind"),
    option_of(Options, "separator", callback=unescape),
    option_of(Options, "whole_files"),
    option_of(Options, "text_key"),
    option_of(Options, "on_error"),
    option_of(Options, "max_document_bytes"),
    click.option(
        "--files-from", type=click.File("rb"), metavar="FILE",
        help="Read the names of more FILES, a line each, from a file; - for standard input.",
    ),
    click.option("-0", "--null", is_flag=True, help="With --files-from: names end with NUL, as from find -print0."),
)
special_policy: Decorator = option_of(Options, "special")
max_errors_option: Decorator = option_of(Options, "max_errors", type=click.IntRange(0))


class Files:
    """FILES as the options of a command say, as often as they are needed; messages name what is not read.

    Args:
        files, files_from, null: What `corpus_options` gives.
        options: Fields of `corpus.Options`.

    Raises:
        click.UsageError: No FILES, or options that cannot be.
        OSError: A file is missing.
    """

    def __init__(self, files: Sequence[str], *, files_from: Any = None, null: bool = False, **options: Any) -> None:
        self.settings: Options = Options(**options)
        with usage():
            self.settings.check()
        names = list(files)
        if null and files_from is None:
            raise click.UsageError("-0 goes with --files-from")
        if files_from is not None:
            lines = files_from.read().split(b"\0" if null else b"\n")
            names += [os.fsdecode(line if null else line.removesuffix(b"\r")) for line in lines if line]
        if not names:
            raise click.UsageError("no FILES given: name files, folders, patterns or URLs, or - for standard input")
        kind = self.settings.input_kind
        self.sources: Sources = find_sources(names, kind=kind, whole_files=self.settings.whole_files)
        self.names: list[str] = [source.path for source in self.sources.inputs]
        for named, noun, why in (
            (self.sources.repeated, "name", "not read again under another name"),
            (self.sources.left_out, "file", "not read, for another suffix (--input-kind reads all)"),
            (self.sources.links, "link", "not followed, because it leads to a folder"),
            (self.sources.as_text, "file", "read as text, for an unknown suffix (--input-kind says what it holds)"),
        ):
            if named:
                say(f"{why}: {counted(len(named), noun)}, the first: {named[0]}")

    @classmethod
    def if_any(cls, files: Sequence[str], **arguments: Any) -> Files | None:
        """FILES, where the command line names some."""
        return cls(files, **arguments) if files or arguments.get("files_from") is not None else None

    def documents(self, desc: str = "", reading: Reading | None = None) -> Iterator[bytes]:
        """The documents, in order."""
        return self._read(read_documents, reading or self.settings.reading(), desc=desc)

    def texts(self) -> Iterator[str]:
        """The documents as texts."""
        return map(bytes.decode, self.documents())

    def by_group(self, by: str) -> Iterator[tuple[str, str]]:
        """The documents as texts, with the group that each belongs to, see `read_labelled`; "(none)" for a record that
        does not say."""
        for label, text in self._read(read_labelled, self.settings.reading(), by):
            yield "(none)" if label is None else label, text.decode()

    def _read(self, read: Callable[..., Iterable[Any]], *how: Any, desc: str = "") -> Iterator[Any]:
        inputs, on_error = self.sources.inputs, self.settings.on_error
        refuse_unread(self.sources.left_out, on_error)
        with bytes_read(inputs, desc) as bar:
            yield from read(inputs, *how, on_error=on_error, log=say, progress=bar.update)
