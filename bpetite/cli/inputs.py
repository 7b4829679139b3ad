"""FILES of a command, and the options of their corpus."""
from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from typing import Any

import click

from ..corpus import Sources, find_sources, read_documents
from ..corpus.options import Options as CorpusOptions
from ..corpus.options import choices_of
from ..corpus.read.find import refuse_unread
from ..corpus.read.pieces import Reading
from ..corpus.read.readers import read_labelled
from ..errors import counted
from .base import usage
from .reports import bytes_read, say
from .shared_options import SIZE, Options, all_of, help_of


def option_of(name: str, *spellings: str, **how: Any) -> Options:
    """The click option of an option of `corpus.Options`: its type, default and help are those that are declared there.

    Args:
        name: Of the field.
        spellings: On the command line; --NAME when none are given.
        how: Arguments of click for what is not declared.
    """
    default, choices = getattr(CorpusOptions, name), choices_of(name)
    if default is False:
        how["is_flag"] = True
    elif choices:
        how["type"] = click.Choice([choice for choice in choices if choice is not None], case_sensitive=False)
    text = help_of(name, CorpusOptions)
    how = {"default": default, "show_default": default not in (None, False), "help": text, **how}
    return click.option(*(spellings or (f"--{name.replace('_', '-')}",)), name, **how)


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
corpus_options: Options = all_of(
    click.argument("files", nargs=-1),
    option_of("input_kind"),
    option_of("separator", callback=unescape),
    option_of("whole_files"),
    option_of("text_key"),
    option_of("on_error"),
    option_of("max_document_bytes", type=SIZE),
    click.option(
        "--files-from", type=click.File("rb"), metavar="FILE",
        help="Read the names of more FILES, a line each, from a file; - for standard input.",
    ),
    click.option("-0", "--null", is_flag=True, help="With --files-from: names end with NUL, as from find -print0."),
)
special_policy: Options = option_of("special")
max_errors_option: Options = option_of("max_errors", type=click.IntRange(0))


def find_inputs(
    files: Sequence[str], settings: CorpusOptions, *, files_from: Any = None, null: bool = False
) -> Sources:
    """The inputs of FILES, and of the names that --files-from reads; messages name what is not read."""
    names = list(files)
    if null and files_from is None:
        raise click.UsageError("-0 goes with --files-from")
    if files_from is not None:
        lines = files_from.read().split(b"\0" if null else b"\n")
        names += [os.fsdecode(line if null else line.removesuffix(b"\r")) for line in lines if line]
    if not names:
        raise click.UsageError("no FILES given: name files, folders, patterns or URLs, or - for standard input")
    sources = find_sources(names, kind=settings.input_kind, whole_files=settings.whole_files)
    for named, noun, why in (
        (sources.repeated, "name", "not read again under another name"),
        (sources.left_out, "file", "not read, for another suffix (--input-kind reads all)"),
        (sources.links, "link", "not followed, because it leads to a folder"),
        (sources.as_text, "file", "read as text, for an unknown suffix (--input-kind says what it holds)"),
    ):
        if named:
            say(f"{why}: {counted(len(named), noun)}, the first: {named[0]}")
    return sources


class Sample:
    """FILES as the options of a command say, as often as they are needed."""

    def __init__(self, files: Sequence[str], *, files_from: Any = None, null: bool = False, **options: Any) -> None:
        self.settings: CorpusOptions = CorpusOptions(**options)
        with usage():
            self.settings.check()
        self.sources: Sources = find_inputs(files, self.settings, files_from=files_from, null=null)
        refuse_unread(self.sources.left_out, self.settings.on_error)
        self.reading: Reading = self.settings.reading()
        self.files: list[str] = [source.path for source in self.sources.inputs]

    @classmethod
    def of(cls, files: Sequence[str], **arguments: Any) -> Sample | None:
        """The sample of FILES, if there are any."""
        return cls(files, **arguments) if files or arguments.get("files_from") is not None else None

    def documents(self, desc: str = "", reading: Reading | None = None) -> Iterator[bytes]:
        with bytes_read(self.sources.inputs, desc) as bar:
            how: dict[str, Any] = {"on_error": self.settings.on_error, "log": say, "progress": bar.update}
            yield from read_documents(self.sources.inputs, reading or self.reading, **how)

    def texts(self) -> Iterator[str]:
        return map(bytes.decode, self.documents())

    def by_group(self, by: str) -> Iterator[tuple[str, str]]:
        """The documents as texts, with the group that each belongs to, see `read_labelled`; "(none)" for a record that
        does not say."""
        with bytes_read(self.sources.inputs) as bar:
            how: dict[str, Any] = {"on_error": self.settings.on_error, "log": say, "progress": bar.update}
            for label, text in read_labelled(self.sources.inputs, self.reading, by, **how):
                yield "(none)" if label is None else label, text.decode()
