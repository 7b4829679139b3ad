"""``bpetite view``: a page that shows a text cut into tokens."""
from __future__ import annotations

import sys
from pathlib import Path

import click

from ..analysis import view
from ..analysis.viewing import WINDOW
from .options import load_tokenizer

__all__ = ["command"]


@click.command()
@click.argument("tokenizer")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, allow_dash=True))
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False, path_type=Path), required=True, help="Where the page goes."
)
@click.option("--with", "other", metavar="TOKENIZER", help="A second tokenizer, shown beside the first.")
@click.option("--start", type=click.IntRange(0), default=0, show_default=True, help="First character shown.")
@click.option("--characters", type=click.IntRange(1), default=WINDOW, show_default=True, help="How many are shown.")
@click.option("--ordinary", is_flag=True, help="Read special tokens in the text as text.")
def command(
    tokenizer: str, file: str, output: Path, other: str | None, start: int, characters: int, ordinary: bool
) -> None:
    """Show how TOKENIZER cuts the text FILE (- is standard input): one page that needs no network.

    Point at a token, or move to it with the arrow keys, to see its id and bytes. The page finds ids and marks special
    tokens and invisible characters. Of a large file it shows a window; its figures are for the whole file.
    """
    data = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    text = data.removeprefix(b"\xef\xbb\xbf")
    names = [tokenizer] if other is None else [tokenizer, other]
    shown = view(
        load_tokenizer(tokenizer),
        text,
        None if other is None else load_tokenizer(other),
        ordinary=ordinary,
        title="standard input" if file == "-" else Path(file).name,
        names=names,
        start=start,
        characters=characters,
    )
    shown.save(output)
    counts = ", ".join(f"{name} {tokens:,}" for name, tokens in zip(names, shown.tokens, strict=True))
    window = "" if shown.whole else f"; shows characters {shown.first:,} to {shown.last:,} of {shown.characters:,}"
    click.echo(f"{output}: tokens: {counts}{window}", err=True)
