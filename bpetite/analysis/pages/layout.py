"""Tokens laid out for the eye: which characters each one shows, which belong together, where lines end.

A character is shown by the token that its first byte is in. Tokens that share a character are *joined*: shown as one
group, the later ones with what they add of their own. Bytes that make no character (only ids that no text gave have
them) are shown as such.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...tokenizer import Tokenizer

__all__ = ["Cell", "Laid", "lay_out", "rows_of"]

#: Tokens of a row at most: a text without line ends is broken here, so that the browser lays out what is in sight only.
LONGEST_ROW = 400


@dataclass(frozen=True)
class Cell:
    """One token as it is shown.

    Attributes:
        id: Its id.
        data: Its bytes.
        start: Where its bytes begin in the text's.
        special: Is it a special token?
        text: The characters that begin in it; a byte that is no part of a character is U+DC00 plus the byte.
        joined: Does it go on with a character that began in the token before?
    """

    id: int
    data: bytes
    start: int
    special: bool
    text: str
    joined: bool

    @property
    def end(self) -> int:
        """Where its bytes end."""
        return self.start + len(self.data)


@dataclass(frozen=True)
class Laid:
    """A text's tokens."""

    cells: list[Cell]
    characters: int
    bytes: int


def lay_out(tokenizer: Tokenizer, ids: Sequence[int]) -> Laid:
    """The cells of token ids.

    Raises:
        KeyError: An id is not in the vocabulary.
    """
    vocab = tokenizer.to_vocab()
    specials = set(vocab.special_tokens.values())
    tokens = [vocab.tokens[one] for one in ids]
    data = b"".join(tokens)
    text = data.decode("utf-8", "surrogateescape")
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    broken = (codes >= 0xD800) & (codes < 0xE000)
    sizes = np.where(broken, 1, 1 + (codes >= 0x80) + (codes >= 0x800) + (codes >= 0x10000))
    starts = np.append(np.cumsum(sizes) - sizes, len(data))
    edges = np.append(0, np.cumsum([len(token) for token in tokens], dtype=np.int64))
    first = np.searchsorted(starts, edges)  # the first character that begins at an edge or behind it
    cells = [
        Cell(one, token, int(edges[at]), one in specials, text[first[at] : first[at + 1]],
             bool(starts[first[at]] != edges[at]))
        for at, (one, token) in enumerate(zip(ids, tokens, strict=True))
    ]  # fmt: skip
    return Laid(cells, len(text), len(data))


def rows_of(sides: Sequence[Laid]) -> list[list[list[Cell]]]:
    """Rows of cells for each of one or two layouts of the same text: rows[number][side].

    A row ends where both have an edge behind a line end, or where it has grown long.
    """
    cuts = _edges(sides[0])
    for side in sides[1:]:
        cuts &= _edges(side)
    rows: list[list[list[Cell]]] = []
    at = [0] * len(sides)
    while any(start < len(side.cells) for start, side in zip(at, sides, strict=True)):
        row: list[list[Cell]] = []
        cells, start = sides[0].cells, at[0]
        end = start
        while end < len(cells):
            end += 1
            last = cells[end - 1]
            if last.end in cuts and ("\n" in last.text or end - start >= LONGEST_ROW):
                break
        limit = cells[end - 1].end if end > start and end < len(cells) else None
        row.append(cells[start:end])
        at[0] = end
        for number, side in enumerate(sides[1:], 1):
            stop = at[number]
            while stop < len(side.cells) and (limit is None or side.cells[stop].end <= limit):
                stop += 1
            row.append(side.cells[at[number] : stop])
            at[number] = stop
        rows.append(row)
    return rows


def _edges(side: Laid) -> set[int]:
    """Where a row may end: behind a token, and not inside a character."""
    joined = {cell.start for cell in side.cells if cell.joined}
    return {cell.end for cell in side.cells} - joined
