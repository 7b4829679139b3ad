"""Tokens in a terminal: coloured when it is one, one a line when it is not."""
from __future__ import annotations

from collections.abc import Iterable, Iterator

from ... import bytelevel
from ..characters import escape, show
from .layout import Cell

__all__ = ["coloured", "listed", "printable"]

#: Backgrounds of the 256-colour palette that go with black letters; neighbours differ.
_BACKGROUNDS = (153, 222, 157, 218, 183)
_SPECIAL = "\x1b[7;1m"
_RESET = "\x1b[0m"


def coloured(cells: Iterable[Cell]) -> str:
    """Tokens side by side on coloured ground; what a terminal would obey is escaped.

    Tokens that are parts of one character are shown as one piece with the number of them below it, as in ``🙂₃``.
    """
    out: list[str] = []
    for number, group in enumerate(_groups(cells)):
        style = _SPECIAL if group[0].special else f"\x1b[48;5;{_BACKGROUNDS[number % len(_BACKGROUNDS)]};30m"
        text = "".join(cell.text for cell in group)
        count = "" if len(group) == 1 else str(len(group)).translate(_SMALL)
        *lines, last = _visible(text).split("\n")
        # The colour ends before a line does, or the terminal paints the rest of the line.
        out += [f"{style}{line}↵{_RESET}\n" for line in lines]
        if last or count:
            out.append(f"{style}{last}{count}{_RESET}")
    return "".join(out)


_SMALL = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


def _visible(text: str) -> str:
    return "".join(
        one if one == "\n" else f"\\x{ord(one) - 0xDC00:02x}" if 0xDC80 <= ord(one) < 0xDD00 else escape(one)
        for one in text
    )


def _groups(cells: Iterable[Cell]) -> Iterator[list[Cell]]:
    group: list[Cell] = []
    for cell in cells:
        if group and not cell.joined:
            yield group
            group = []
        group.append(cell)
    if group:
        yield group


def listed(cells: Iterable[Cell]) -> str:
    """One token a line: its id, a tab, its text or bytes as Python writes them."""
    return "\n".join(f"{cell.id}\t{show(cell.data)}{'	special' if cell.special else ''}" for cell in cells)


def printable(cells: Iterable[Cell]) -> str:
    """Tokens in GPT-2's printable form, one space between two; the form itself holds no space."""
    return " ".join(bytelevel.encode_token(cell.data) for cell in cells)
