"""``bpetite tokens``: a quick look at the tokens of a text."""
from __future__ import annotations

import os
import re
import sys

import click

from ..analysis import explain
from ..analysis.cells import coloured, lay_out, listed, printable
from ..analysis.characters import token_repr
from ..errors import counted
from .base import Command
from .options import json_option, load_tokenizer, ordinary_option, tokenizer_option
from .reports import say, show, show_json

__all__ = ["command"]


@click.command(
    cls=Command,
    examples=[
        'bpetite tokens -t gpt-4o "How many tokens is this?"',
        'bpetite tokens -t gpt2 --why " strawberry" --expect berry',
        'bpetite tokens -t gpt2 --ids "one<|endoftext|>two"',
        "bpetite tokens -t tok.json < corpus.txt",
    ],
)
@click.argument("text", required=False)
@tokenizer_option
@click.option("--printable", "as_printable", is_flag=True, help="GPT-2's printable form: Ġ is a space, Ċ a line end.")
@click.option("--ids", "as_ids", is_flag=True, help="Only the ids.")
@click.option("--why", is_flag=True, help="Explain the ids: normalization, pre-tokens, merge by merge.")
@click.option("--expect", metavar="TOKEN", help="With --why: what kept this token away.")
@json_option
@ordinary_option
@click.option("--color/--no-color", default=None, help="Default: colours when standard output is a terminal.")
def command(
    text: str | None,
    tokenizer: str | None,
    as_printable: bool,
    as_ids: bool,
    why: bool,
    expect: str | None,
    as_json: bool,
    ordinary: bool,
    color: bool | None,
) -> None:
    """Show the tokens of TEXT (standard input without it, or for -): coloured in a terminal, one per line elsewhere."""
    if as_printable + as_ids + as_json > 1:
        raise click.UsageError("only one of --printable, --ids and --json")
    if (why and (as_printable or as_ids)) or (expect is not None and not why):
        raise click.UsageError("--why goes with --expect and --json, not with --printable or --ids")
    text = _standard_input() if text in (None, "-") else _typed(text)
    loaded = load_tokenizer(tokenizer)
    if why:
        found = explain(loaded, text, expect=expect, ordinary=ordinary)
        if as_json:
            show_json(found.to_dict())
        else:
            show(str(found))
        return
    ids = loaded.encode_ordinary(text) if ordinary else loaded.encode(text)
    cells = lay_out(loaded, ids)
    characters = sum(len(cell.text) for cell in cells)
    if as_json:
        tokens = [
            {"id": cell.id, "token": token_repr(cell.data), "bytes": cell.data.hex(), "special": cell.special}
            for cell in cells
        ]
        content = {"tokens": tokens, "characters": characters, "bytes": sum(len(cell.data) for cell in cells)}
        show_json(content)
    elif as_ids:
        show(" ".join(map(str, ids)))
    elif as_printable:
        show(printable(cells))
    elif _colours(color):
        show(coloured(cells), color=True)
    elif cells:
        show(listed(cells))
    if not (as_json or as_ids or as_printable):
        rate = f"{characters / max(len(ids), 1):.2f} characters per token"
        say(f"{counted(len(ids), 'token')}, {counted(characters, 'character')}, {rate}")


def _standard_input() -> str:
    try:
        return sys.stdin.buffer.read().decode("utf-8")
    except UnicodeDecodeError as wrong:
        raise ValueError(f"standard input is not UTF-8 at byte {wrong.start}") from None


def _typed(text: str) -> str:
    """An argument; Python decodes it with surrogates where locale and terminal differ."""
    try:
        if re.search("[\ud800-\udfff]", text):
            return os.fsencode(text).decode("utf-8")
    except UnicodeDecodeError as wrong:
        raise ValueError(f"TEXT is not UTF-8 at byte {wrong.start}") from None
    return text


def _colours(asked: bool | None) -> bool:
    """As asked; otherwise whether standard output is a terminal that shows colours (https://no-color.org)."""
    if asked is not None:
        return asked
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
