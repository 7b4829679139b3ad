"""``bpetite view``: a page that shows a text cut into tokens."""
from __future__ import annotations

import sys
from pathlib import Path

import click

from ..analysis import view
from ..analysis.view import WINDOW
from .base import Command
from .reports import check_output, create_output, named, say
from .shared_options import COUNT, COUNT_OR_NONE, PACKAGED, load_tokenizer, ordinary_option, overwrite_option

__all__ = ["command"]


@click.command(
    cls=Command,
    examples=[
        "bpetite view corpus.txt -t gpt-4o -o page.html",
        "bpetite view corpus.txt -t gpt2 -t tok.json -o both.html",
        "bpetite view - -t gpt2 --characters 10k -o - < corpus.txt > small.html",
    ],
)
@click.argument("file")
@click.option(
    "-t", "--tokenizer", "tokenizers", metavar="TOKENIZER", multiple=True,
    help="A tokenizer file, a folder, or a name such as gpt-4o or cl100k_base; a second one is shown beside the first "
    f"[default: {PACKAGED}].",
)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), required=True, help="Where the page goes; - is standard output."
)
@click.option("--start", type=COUNT_OR_NONE, default=0, show_default=True, help="First character shown.")
@click.option("--characters", type=COUNT, default=WINDOW, show_default=True, help="How many are shown, as 100k.")
@ordinary_option
@overwrite_option
def command(
    file: str, tokenizers: tuple[str, ...], output: Path, start: int, characters: int, ordinary: bool, overwrite: bool
) -> None:
    """Show how a tokenizer cuts the text FILE (- is standard input): one page that needs no network.

    Point at a token, or move to it with the arrow keys, to see its id and bytes. The page finds ids and marks special
    tokens and invisible characters. Of a large file it shows a window; its figures are for the whole file.
    """
    if len(tokenizers) > 2:
        raise click.UsageError("--tokenizer: one, or two that are shown side by side")
    check_output(output, overwrite)
    data = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    text = data.removeprefix(b"\xef\xbb\xbf")
    title = "standard input" if file == "-" else Path(file).name
    names = list(tokenizers) or [PACKAGED]
    first, *others = map(load_tokenizer, tokenizers or [None])
    try:
        shown = view(
            first, text, *others, ordinary=ordinary, title=title, names=names, start=start, characters=characters
        )
    except UnicodeDecodeError as wrong:
        raise ValueError(f"{title} is not UTF-8 at byte {wrong.start}") from None
    with create_output(output, overwrite) as page:
        page.write(shown.page().encode("utf-8"))
    counts = ", ".join(f"{name} {tokens:,}" for name, tokens in zip(names, shown.tokens, strict=True))
    window = "" if shown.whole else f"; shows characters {shown.first:,} to {shown.last:,} of {shown.characters:,}"
    say(f"{named(output)}: tokens: {counts}{window}")
