"""``bpetite convert``: a tokenizer in another file format, with the same ids."""
from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from ..formats import FORMATS, WRITABLE_FORMATS, Format, WritableFormat, format_by_name
from ..patterns import BY_NAME
from ..tokenizer import Tokenizer
from .saving import save, special_tokens

__all__ = ["command"]


@click.command()
@click.argument("source")
@click.argument("target", type=click.Path())
@click.option("--from", "source_format", type=click.Choice(FORMATS), help="Format of SOURCE, if that is ambiguous.")
@click.option(
    "--to",
    "target_format",
    type=click.Choice(WRITABLE_FORMATS),
    help="Format of TARGET  [default: by its name: tokenizer.json, *.tiktoken, else native]",
)
@click.option("--name", help="The published encoding in a .tiktoken SOURCE, such as cl100k_base.")
@click.option("--pattern", help="The split pattern of a .tiktoken SOURCE, or its name.")
@click.option("--special", "specials", multiple=True, metavar="LITERAL[=ID]", help="A special token of such a SOURCE.")
@click.option("--unicode", help="Hold TARGET to a version of Unicode, such as 16.0.")
@click.option("--overwrite", is_flag=True, help="Replace TARGET if it exists.")
def command(
    source: str,
    target: str,
    source_format: Format | None,
    target_format: WritableFormat | None,
    name: str | None,
    pattern: str | None,
    specials: tuple[str, ...],
    unicode: str | None,
    overwrite: bool,
) -> None:
    """Write the tokenizer in SOURCE to TARGET in another format.

    SOURCE is a file, a directory, or a name: bpetite-32k, o200k_base, gpt-4o. A merge list becomes ranks, or ranks a
    merge list, only if the ids stay the same for every text; otherwise nothing is written.
    """
    if name is not None or pattern is not None or specials:
        tokenizer = Tokenizer.from_tiktoken(
            source,
            pattern=BY_NAME if pattern is None else pattern,
            special_tokens=special_tokens(specials) or None,
            name=name,
        )
    else:
        tokenizer = Tokenizer.load(source, format=source_format)
    if unicode is not None:
        tokenizer = Tokenizer.from_vocab(replace(tokenizer.to_vocab(), unicode=unicode))

    if target_format is None:
        target_format = format_by_name(target)
    try:
        tokenizer = save(tokenizer, Path(target), target_format, overwrite)
    except FileExistsError as there:
        raise click.ClickException(f"{there.filename}: the file exists; --overwrite replaces it") from None
    click.echo(f"{target}: {len(tokenizer)} tokens, {target_format}", err=True)
