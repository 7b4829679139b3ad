"""Options that several commands have, and their values; those of a corpus are in :mod:`.inputs`."""
from __future__ import annotations

import re
from collections.abc import Callable
from functools import reduce
from pathlib import Path
from typing import Any, TypeAlias, get_args, get_type_hints

import click

from ..corpus.options import choices_of
from ..errors import amount_in
from .loading import PACKAGED, SOURCES

#: A decorator that gives a command options.
Decorator: TypeAlias = Callable[[Any], Any]


def all_of(*options: Decorator) -> Decorator:
    """One decorator for several options, which ``--help`` lists in this order."""
    return lambda command: reduce(lambda made, option: option(made), reversed(options), command)


def amount(unit: int, least: int) -> Callable[[Any], int]:
    """The type of a number that may end in K, M, G or T: powers of 1024 for bytes, of 1000 for anything else."""

    def number_of(value: Any) -> int:
        number = amount_in(str(value), unit)
        if number is None:
            examples = "4096 or 64M" if unit == 1024 else "500 or 32k"
            raise click.BadParameter(f"{value!r} is not a number such as {examples}")
        if number < least:
            raise click.BadParameter(f"{value} is not at least {least:,}")
        return number

    number_of.__name__ = "size" if unit == 1024 else "count"  # as the help shows it
    return number_of


#: Bytes: 64M is 64 * 1024 * 1024.
SIZE = amount(1024, 1)
#: Tokens, documents, characters: 32k is 32,000.
COUNT = amount(1000, 1)
COUNT_OR_NONE = amount(1000, 0)

def _needed(ctx: click.Context, option: click.Parameter, value: Any) -> Any:
    if not value:
        raise click.UsageError(f"no --tokenizer given: {SOURCES} (in this package)", ctx)
    return value


#: -t, where no tokenizer means the packaged one, and where one must be named.
tokenizer_option: Decorator = click.option(
    "-t", "--tokenizer", metavar="TOKENIZER", help=f"The tokenizer: {SOURCES} [default: {PACKAGED}]."
)
needed_tokenizer: Decorator = click.option(
    "-t", "--tokenizer", metavar="TOKENIZER", callback=_needed, help=f"The tokenizer: {SOURCES}."
)
overwrite_option: Decorator = click.option("--overwrite", is_flag=True, help="Replace an output that exists.")
jobs_option: Decorator = click.option(
    "-j", "--jobs", type=click.IntRange(1), help="Threads [default: one a core]."
)
#: For a text; `inputs.special_policy` is for documents.
special_option: Decorator = click.option(
    "--special", type=click.Choice(["text", "allow"]), default="allow", show_default=True,
    help="How special tokens in the text are read: as text, or as tokens.",
)
json_option: Decorator = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
#: The forms of a report, see `reports.show_report`.
report_options: Decorator = all_of(
    json_option,
    click.option(
        "--html", "page", type=click.Path(path_type=Path), help="Where a page goes; - is standard output, alone there."
    ),
    overwrite_option,
)


def option_of(options: type, name: str, *spellings: str, **how: Any) -> Decorator:
    """The click option of a field of a class of options: type, default and help are those that are declared there.

    Args:
        options: The class.
        name: The field.
        spellings: On the command line; --NAME when none are given.
        how: Arguments of click for what is not declared.
    """
    default, choices, hint = getattr(options, name), choices_of(name, options), get_type_hints(options)[name]
    if default is False:
        how["is_flag"] = True
    elif choices:
        how["type"] = click.Choice([choice for choice in choices if choice is not None], case_sensitive=False)
    elif int in (hint, *get_args(hint)):
        how.setdefault("type", SIZE if name.endswith("_bytes") else COUNT)
    item = rf"^( *){name}: (.*?)(?=^\1\w+: |^ *$|^ *\"|\Z)"  # from Python 3.13 on there is less indentation
    found: Any = re.search(item, options.__doc__ or "", re.M | re.S)
    text = re.sub(r":\w+:`([^`]+)`|`", r"\1", " ".join(found[2].split()))
    how.setdefault("help", re.sub(r"; None for [^.]*", "", text))  # a shell leaves the option out
    how = {"default": default, "show_default": default not in (None, False), **how}
    return click.option(*(spellings or (f"--{name.replace('_', '-')}",)), name, **how)
