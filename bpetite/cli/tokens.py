"""``bpetite tokens``: a quick look at the tokens of a text."""
from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable

import click

from .. import bytelevel
from ..analysis import explain
from ..analysis.cells import Cell, groups, lay_out, listed
from ..analysis.scripts import escape, token_repr
from ..errors import counted
from .base import Command
from .reports import say, show, show_json
from .shared_options import json_option, load_tokenizer, ordinary_option, tokenizer_option

__all__ = ["command"]

#: Backgrounds of the 256-colour palette on which black letters are readable; neighbours differ.
_BACKGROUNDS = (153, 222, 157, 218, 183)
_SPECIAL = "\x1b[7;1m"
_RESET = "\x1b[0m"
_SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


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
        explanation = explain(loaded, text, expect=expect, ordinary=ordinary)
        if as_json:
            show_json(explanation.to_dict())
        else:
            show(str(explanation))
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
        show(" ".join(bytelevel.encode_token(cell.data) for cell in cells))
    elif _colours(color):
        show(_coloured(cells), color=True)
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


def _coloured(cells: Iterable[Cell]) -> str:
    """Return tokens on coloured backgrounds; escape sequences in them are escaped.

    Tokens that share characters are shown as one, with their number as a subscript, as in ``🙂₃``.
    """
    out: list[str] = []
    for number, group in enumerate(groups(cells)):
        style = f"\x1b[48;5;{_BACKGROUNDS[number % len(_BACKGROUNDS)]};30m"
        if group[0].special:
            style = _SPECIAL
        text = "".join(cell.text for cell in group)
        count = "" if len(group) == 1 else str(len(group)).translate(_SUBSCRIPTS)
        *lines, last = "".join(map(_visible, text)).split("\n")
        # The colour ends before the line does, or the terminal paints the rest of the line.
        out += [f"{style}{line}↵{_RESET}\n" for line in lines]
        if last or count:
            out.append(f"{style}{last}{count}{_RESET}")
    return "".join(out)


def _visible(character: str) -> str:
    if 0xDC80 <= ord(character) < 0xDD00:  # a byte that is not part of a character
        return f"\\x{ord(character) - 0xDC00:02x}"
    return character if character == "\n" else escape(character)
