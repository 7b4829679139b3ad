"""``bpetite tokens``: a text in tokens, in a terminal, for programs, or as a page."""
from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path

import click

from .. import bytelevel
from ..analysis import explain, view
from ..analysis.cells import Cell, lay_out, listed
from ..analysis.escapes import escape, token_repr
from ..engine.call_options import SpecialSelection
from ..errors import counted
from .base import Command
from .console import say, show_json
from .loading import PACKAGED, SOURCES, load_tokenizer
from .output_files import check_output
from .reports import show_report
from .shared_options import report_options, special_option

#: Backgrounds of the 256-colour palette on which black letters are readable; neighbours differ.
_BACKGROUNDS = (153, 222, 157, 218, 183)
_SPECIAL = "\x1b[7;1m"
_RESET = "\x1b[0m"
_SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


@click.command(
    cls=Command,
    examples=[
        'bpetite tokens -t gpt-4o "How many tokens is this?"',
        'bpetite tokens -t gpt2 --why " strawberry"',
        'bpetite tokens -t gpt2 --ids "one<|endoftext|>two"',
        "bpetite tokens -t gpt2 -t tok.json --html page.html < corpus.txt",
    ],
)
@click.argument("text", required=False)
@click.option(
    "-t", "--tokenizer", "tokenizers", metavar="TOKENIZER", multiple=True,
    help=f"The tokenizer: {SOURCES}; with --html further ones, shown beside it [default: {PACKAGED}].",
)
@click.option("--printable", "as_printable", is_flag=True, help="GPT-2's printable form: Ġ is a space, Ċ a line end.")
@click.option("--ids", "as_ids", is_flag=True, help="Only the ids.")
@click.option("--why", is_flag=True, help="Explain the ids: normalization, pre-tokens, merge by merge.")
@report_options
@special_option
@click.option("--color/--no-color", default=None, help="Default: colours when standard output is a terminal.")
def command(
    text: str | None,
    tokenizers: tuple[str, ...],
    as_printable: bool,
    as_ids: bool,
    why: bool,
    as_json: bool,
    page: Path | None,
    overwrite: bool,
    special: str,
    color: bool | None,
) -> None:
    """Show the tokens of TEXT (standard input without it, or for -): coloured in a terminal, one per line elsewhere;
    with --html as a page, which needs no network."""
    if as_printable + as_ids + as_json + (page is not None) > 1:
        raise click.UsageError("only one of --printable, --ids, --json and --html")
    if why and (as_printable or as_ids):
        raise click.UsageError("--why goes with --json or --html, not with --printable or --ids")
    if len(tokenizers) > 1 and (page is None or why):
        raise click.UsageError("several tokenizers are shown on a page: --html, without --why")
    check_output(page, overwrite)
    if text not in (None, "-") and os.path.isfile(text):
        say(f"these are the tokens of the name {text}; those of the file: bpetite tokens < {text}")
    text = _text_of(text)
    first, *others = map(load_tokenizer, tokenizers or [None])
    allowed: SpecialSelection = () if special == "text" else "all"
    if why or page is not None:
        report = explain(first, text, allowed_special=allowed) if why else view(
            first, text, *others, allowed_special=allowed, names=tokenizers or [PACKAGED]
        )
        show_report(report, page, overwrite, as_json, text=why)
        return
    ids = first.encode(text, allowed_special=allowed)
    cells = lay_out(first, ids)
    length = sum(len(cell.text) for cell in cells)
    if as_json:
        tokens = [
            {"id": cell.id, "token": token_repr(cell.data), "bytes": cell.data.hex(), "special": cell.special}
            for cell in cells
        ]
        show_json({"tokens": tokens, "characters": length, "bytes": sum(len(cell.data) for cell in cells)})
    elif as_ids:
        click.echo(" ".join(map(str, ids)))
    elif as_printable:
        click.echo(" ".join(bytelevel.encode_token(cell.data) for cell in cells))
    else:
        if _colours(color):
            click.echo(_coloured(cells), color=True)
        elif cells:
            click.echo(listed(cells))
        rate = f"{length / max(len(ids), 1):.2f} characters per token"
        specials = sum(cell.special for cell in cells)
        of_them = f" ({specials} special)" if specials else ""
        say(f"{counted(len(ids), 'token')}{of_them}, {counted(length, 'character')}, {rate}")


def _text_of(argument: str | None) -> str:
    """TEXT, or standard input."""
    if argument not in (None, "-"):
        try:
            argument.encode("utf-8")
            return argument
        except UnicodeEncodeError:  # Python reads what the locale cannot decode as surrogates
            data, source = os.fsencode(argument), "TEXT"
    else:
        if sys.stdin.isatty():
            say("reading standard input, up to Ctrl-D")
        data, source = sys.stdin.buffer.read().removeprefix(b"\xef\xbb\xbf"), "standard input"
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as wrong:
        raise ValueError(f"{source} is not UTF-8 at byte {wrong.start}") from None


def _colours(asked: bool | None) -> bool:
    """As asked; otherwise whether standard output is a terminal that shows colours (https://no-color.org)."""
    if asked is not None:
        return asked
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _coloured(cells: Iterable[Cell]) -> str:
    """Return tokens on coloured backgrounds; escape sequences in them are escaped.

    Tokens that share characters are shown as one, with their number as a subscript, as in ``🙂₃``.
    """
    groups: list[list[Cell]] = []
    for cell in cells:
        if not (groups and cell.joined):
            groups.append([])
        groups[-1].append(cell)
    out: list[str] = []
    for number, group in enumerate(groups):
        style = _SPECIAL if group[0].special else f"\x1b[48;5;{_BACKGROUNDS[number % len(_BACKGROUNDS)]};30m"
        count = "" if len(group) == 1 else str(len(group)).translate(_SUBSCRIPTS)
        *lines, last = escape("".join(cell.text for cell in group), keep="\n").split("\n")
        # The colour ends before the line does, or the terminal paints the rest of the line.
        out += [f"{style}{line}↵{_RESET}\n" for line in lines]
        if last or count:
            out.append(f"{style}{last}{count}{_RESET}")
    return "".join(out)
