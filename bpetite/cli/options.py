"""Options that several commands have, and what their values stand for."""
from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import click

from ..corpus import Mixture, Sources, find_sources, read_documents
from ..corpus.limits import LONG_DOCUMENTS
from ..corpus.options import ErrorPolicy
from ..corpus.reading.documents import read_labelled
from ..corpus.reading.readers import Reading
from ..corpus.reading.sources import TASK_BYTES
from ..tokenizer import Tokenizer
from .reports import bytes_bar, report_left_out, say

__all__ = [
    "COUNT",
    "COUNT_OR_NONE",
    "PACKAGED",
    "SIZE",
    "TASK_BYTES",
    "Amount",
    "Sample",
    "corpus_options",
    "duplicates_option",
    "encoding_options",
    "engine_options",
    "find_corpus",
    "find_inputs",
    "jobs_option",
    "json_option",
    "load_tokenizer",
    "named_corpus_options",
    "only_with_engine",
    "ordinary_option",
    "overwrite_option",
    "sample_options",
    "tokenizer_option",
    "unescape",
    "watch_options",
]

Command = TypeVar("Command", bound=Callable[..., Any])

#: The tokenizer that ships inside the package.
PACKAGED = "bpetite-32k"


class Options(Protocol):
    """A decorator that gives a command options."""

    def __call__(self, command: Command, /) -> Command: ...


def load_tokenizer(spec: str | None) -> Tokenizer:
    """The tokenizer of a file, a folder, a name or a repository of the Hub; None is the packaged one, which a message
    says."""
    if spec is None:
        say(f"no --tokenizer given: using the packaged {PACKAGED}", always=True)
        return Tokenizer.load(PACKAGED)
    if re.fullmatch(r"[\w.-]+/[\w.-]+", spec) and not os.path.isdir(os.path.dirname(spec)):
        return Tokenizer.from_pretrained(spec)  # a repository of the Hub
    return Tokenizer.load(spec)


def _all_of(*options: Options) -> Options:
    """One decorator for several options, which ``--help`` lists in this order."""

    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


if TYPE_CHECKING:
    IntType = click.ParamType[int]
else:
    IntType = click.ParamType  # no generic type before click 8.2


class Amount(IntType):
    """A number that may end in K, M, G or T, in either case: powers of 1024 for bytes, of 1000 for anything else."""

    def __init__(self, unit: int, least: int) -> None:
        self.name: str = "size" if unit == 1024 else "count"
        self.unit: int = unit
        self.least: int = least

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number itself."""
        found = re.fullmatch(r"(\d{1,18})([kmgt]?)", str(value).lower(), re.ASCII)
        if found is None:
            self.fail(f"{value!r} is not a number such as {'4096 or 64M' if self.unit == 1024 else '500 or 32k'}")
        number: int = int(found[1]) * self.unit ** " kmgt".index(found[2] or " ")
        if number < self.least:
            self.fail(f"{value} is not at least {self.least:,}")
        return number


#: Bytes: 64M is 64 * 1024 * 1024.
SIZE = Amount(1024, 1)
#: Tokens, documents, characters: 32k is 32,000.
COUNT = Amount(1000, 1)
COUNT_OR_NONE = Amount(1000, 0)


def _documents_in(files: Options) -> Options:
    """FILES, and how documents are found in them."""
    return _all_of(
        files,
        click.option(
            "--input-format", "input_kind", type=click.Choice(["text", "jsonl", "json", "parquet"]),
            help="What the files hold, whatever their names.",
        ),
        click.option("--separator", help="Between the documents of text files [default: the end-of-text literal]."),
        click.option("--whole-files", is_flag=True, help="One document a text file."),
        click.option(
            "--text-key", default="text", show_default=True, help="Key of the text in records; a.b is b in a."
        ),
        click.option(
            "--on-error", type=click.Choice(["fail", "skip", "replace"]), default="fail", show_default=True,
            help="What happens to records that have no valid text, or are too long.",
        ),
        click.option(
            "--max-document-bytes", type=SIZE, default="1G", show_default=True, help="The longest document."
        ),
    )


corpus_options: Options = _documents_in(click.argument("files", nargs=-1, required=True))
#: The same for a command that also does without FILES.
sample_options: Options = _documents_in(click.argument("files", nargs=-1))

#: The same where the operands are tokenizers.
named_corpus_options: Options = _documents_in(
    click.option("--corpus", "files", multiple=True, required=True, metavar="FILES", help="Files, folders, globs.")
)

#: -t, where no tokenizer means the packaged one.
tokenizer_option: Options = click.option(
    "-t", "--tokenizer", metavar="TOKENIZER",
    help=f"A tokenizer file, a folder, a name such as gpt-4o, or a repository of the Hub [default: {PACKAGED}].",
)
overwrite_option: Options = click.option("--overwrite", is_flag=True, help="Replace an output that exists.")
jobs_option: Options = click.option(
    "-j", "--jobs", type=click.IntRange(1), help="Threads [default: one a core; with --engine ray, one a task]."
)
json_option: Options = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
duplicates_option: Options = click.option(
    "--drop-duplicates", is_flag=True, help="Keep only the first of documents that are equal byte for byte."
)
ordinary_option: Options = click.option("--ordinary", is_flag=True, help="Read special tokens in the text as text.")

#: The options of every command that encodes a corpus.
encoding_options: Options = _all_of(
    tokenizer_option,
    click.option(
        "--special", type=click.Choice(["text", "allow", "error"]), default="text", show_default=True,
        help="What special tokens in documents are.",
    ),
    jobs_option,
    _documents_in(click.argument("files", nargs=-1)),
    click.option(
        "--mixture", type=click.Path(exists=True, dir_okay=False, path_type=Path),
        help="In the place of FILES, a TOML file of sources with repeats or weights.",
    ),
    click.option("--min-document-bytes", type=Amount(1024, 0), default=0, help="Leave out documents with fewer bytes."),
    click.option("--max-document-tokens", type=COUNT, help="The most tokens of a document [default: any number]."),
    click.option(
        "--long-documents", type=click.Choice(LONG_DOCUMENTS), default="cut", show_default=True,
        help="What becomes of longer ones: the first tokens are kept, they are split, or they are left out.",
    ),
)

#: How a long run is watched, and when it gives up.
watch_options: Options = _all_of(
    click.option(
        "--max-errors", metavar="N|X%",
        help="End the run at more problems than this: a number, or a share of the records.",
    ),
    click.option(
        "--status", type=click.Path(dir_okay=False, path_type=Path),
        help="A file that says how far the run is, for `inspect`; in Prometheus's text format if it ends in .prom.",
    ),
)

#: --engine, and its own options.
engine_options: Options = _all_of(
    click.option(
        "--engine", type=click.Choice(["local", "ray"]), default="local", show_default=True,
        help="What runs the work; all nodes see the files at the same paths.",
    ),
    click.option("--address", help="Of the Ray cluster: auto, host:port or ray://... [default: RAY_ADDRESS]."),
    click.option(
        "--task-bytes", type=SIZE, help=f"Input of a task on an engine [default: {TASK_BYTES >> 20}M]."
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
    if not value:
        raise click.UsageError("--separator must not be empty; --whole-files reads a file as one document")
    known = {"n": "\n", "r": "\r", "t": "\t", "0": "\0", "\\": "\\"}

    def character(escape: re.Match[str]) -> str:
        if escape[1] not in known:
            raise click.UsageError(f"--separator {value!r}: {escape[0]} is not one of \\n \\r \\t \\0 \\\\")
        return known[escape[1]]

    return re.sub(r"\\(.?)", character, value, flags=re.S)


def find_inputs(files: Sequence[str], kind: str | None, whole_files: bool) -> Sources:
    """The inputs that FILES stand for; a message says which files are left out."""
    sources = find_sources(files, kind=kind, whole_files=whole_files)
    report_left_out(sources)
    return sources


def find_corpus(files: Sequence[str], mixture: Path | None, kind: str | None, whole_files: bool) -> Sources | Mixture:
    """What FILES or --mixture stand for."""
    if bool(files) == (mixture is not None):
        raise click.UsageError("give FILES or --mixture, one of them")
    if mixture is None:
        return find_inputs(files, kind, whole_files)
    loaded = Mixture.load(mixture)
    report_left_out(loaded.find(kind, whole_files))
    return loaded


class Sample:
    """FILES as the options of a command say, as often as they are needed."""

    def __init__(
        self, files: Sequence[str], *, input_kind: str | None, separator: str | None, whole_files: bool, text_key: str,
        on_error: ErrorPolicy, max_document_bytes: int,
    ) -> None:  # fmt: skip
        from ..corpus.training import SEPARATOR  # not at the top: encoding does without the trainer

        between = unescape(separator) or SEPARATOR
        self.sources: Sources = find_inputs(files, input_kind, whole_files)
        self.reading: Reading = Reading(between.encode(), text_key, max_document=max_document_bytes)
        self.on_error: ErrorPolicy = on_error

    @property
    def files(self) -> list[str]:
        """What is read."""
        return [piece.path for piece in self.sources.pieces]

    def documents(self, **bar_options: Any) -> Iterator[bytes]:
        """The documents, with a progress bar of the bytes read."""
        pieces = self.sources.pieces
        with bytes_bar(pieces, **bar_options) as bar:
            yield from read_documents(pieces, self.reading, on_error=self.on_error, log=say, progress=bar.update)

    def texts(self) -> Iterator[str]:
        """The documents as texts."""
        return map(bytes.decode, self.documents())

    def by_group(self, by: str) -> Iterator[tuple[str, str]]:
        """The documents as texts, with the group that each belongs to, see `read_labelled`; "(none)" for a record that
        does not say."""
        pieces = self.sources.pieces
        with bytes_bar(pieces) as bar:
            found = read_labelled(pieces, self.reading, by, on_error=self.on_error, log=say, progress=bar.update)
            for label, text in found:
                yield "(none)" if label is None else label, text.decode()
