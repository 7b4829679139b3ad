"""Tokens as text: coloured for a terminal, or one per line."""
from __future__ import annotations

from collections.abc import Iterable

from ... import bytelevel
from ..cells import Cell, groups
from ..characters import escape, token_repr

__all__ = ["coloured", "listed", "printable"]

#: Backgrounds of the 256-colour palette on which black letters are readable; neighbours differ.
_BACKGROUNDS = (153, 222, 157, 218, 183)
_SPECIAL = "\x1b[7;1m"
_RESET = "\x1b[0m"
_SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


def coloured(cells: Iterable[Cell]) -> str:
    """Return tokens on coloured backgrounds; escape sequences in them are escaped.

    Tokens that share characters are shown as one, with their number as a subscript, as in ``🙂₃``.
    """
    out: list[str] = []
    for number, group in enumerate(groups(cells)):
        style = _SPECIAL if group[0].special else f"\x1b[48;5;{_BACKGROUNDS[number % len(_BACKGROUNDS)]};30m"
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


def listed(cells: Iterable[Cell]) -> str:
    """One token per line: its id, a tab, its text or bytes as Python writes them."""
    fields = ([str(cell.id), token_repr(cell.data), "special" if cell.special else ""] for cell in cells)
    return "\n".join("\t".join(filter(None, line)) for line in fields)


def printable(cells: Iterable[Cell]) -> str:
    """Tokens in GPT-2's printable form, separated by spaces; the form itself holds none."""
    return " ".join(bytelevel.encode_token(cell.data) for cell in cells)
