"""Tokens laid out for display.

A character is shown by the token that holds its first byte. Tokens that share a character are *joined*: a later one
shows only the characters that begin in it. Bytes that are not UTF-8 (possible only for ids that no text produces) are
shown in hex.
"""
from __future__ import annotations

import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ..tokenizer import Tokenizer
from .escapes import escape, token_repr

#: Tokens of a row at most: text without line ends is broken here, so that a browser lays out only the rows in sight.
LONGEST_ROW = 400

#: Colours of ordinary tokens; they alternate so that neighbours differ.
COLOURS = 5

@dataclass(frozen=True)
class Cell:
    """One token as it is shown.

    Attributes:
        id: Its id.
        data: Its bytes.
        start: The position of its first byte in the text.
        special: True for a special token.
        text: The characters that begin in it; a byte that is not part of a character is U+DC00 plus the byte.
        joined: True where it begins inside a character that the token before began.
        number: Its place among the tokens that are shown.
        differs: True where another side does not have this token.
    """

    id: int
    data: bytes
    start: int
    special: bool
    text: str
    joined: bool
    number: int = 0
    differs: bool = False

    @property
    def end(self) -> int:
        """The end of its bytes."""
        return self.start + len(self.data)

    @property
    def style(self) -> str:
        """Its classes on a page."""
        return ("special" if self.special else f"c{self.number % COLOURS}") + " differs" * self.differs

    @property
    def shown(self) -> str:
        """Its text with escapes and marks for what cannot be seen."""
        text = escape(self.text, keep="\n").replace("\n", "↵\n")
        # a combining mark at the start of a token would be drawn over the token before
        return f"◌{text}" if text and unicodedata.category(text[0])[0] == "M" else text


def lay_out(tokenizer: Tokenizer, ids: Sequence[int]) -> list[Cell]:
    """The cells of token ids.

    Raises:
        KeyError: An id is not in the vocabulary.
    """
    specials = set(tokenizer.special_tokens.values())
    tokens = [tokenizer.token_bytes(token_id) for token_id in ids]
    data = b"".join(tokens)
    text = data.decode("utf-8", "surrogateescape")
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    # in UTF-8; a byte that is part of no character is a surrogate
    sizes = 1 + (codes >= 0x80) + (codes >= 0x800) + (codes >= 0x10000)
    sizes[(codes >= 0xD800) & (codes < 0xE000)] = 1
    starts = np.append(np.cumsum(sizes) - sizes, len(data))
    edges = np.cumsum([0, *map(len, tokens)])
    first = np.searchsorted(starts, edges)  # for each token edge: index of the first character starting at or after it
    joined = starts[first] != edges
    texts = [text[start:end] for start, end in pairwise(first)]
    return [
        Cell(token_id, token, int(edges[at]), token_id in specials, texts[at], bool(joined[at]), at)
        for at, (token_id, token) in enumerate(zip(ids, tokens, strict=True))
    ]


def rows_of(sides: Sequence[list[Cell]]) -> list[list[list[Cell]]]:
    """Rows of cells for each of one or several ways to cut the same text: rows[number][side].

    A row ends at an edge that all sides have, after a line end or when it has grown long.
    """
    edges = set.intersection(*map(_edges, sides))
    row_ends, length = [], 0
    for cell in sides[0][:-1]:
        length += 1
        if cell.end in edges and ("\n" in cell.text or length >= LONGEST_ROW):
            row_ends.append(cell.end)
            length = 0
    rows: list[list[list[Cell]]] = [[[] for _ in sides] for _ in range(len(row_ends) + 1)]
    for number, side in enumerate(sides):
        for cell in side:
            rows[bisect_left(row_ends, cell.end)][number].append(cell)
    return rows if any(rows[-1]) else rows[:-1]


def _edges(side: list[Cell]) -> set[int]:
    """The places at which a row may end: after a token, and not inside a character."""
    joined = {cell.start for cell in side if cell.joined}
    return {cell.end for cell in side} - joined


def listed(cells: Iterable[Cell]) -> str:
    """One token per line: its id, a tab, its text or bytes as Python writes them."""
    fields = ([str(cell.id), token_repr(cell.data), "special" if cell.special else ""] for cell in cells)
    return "\n".join("\t".join(filter(None, line)) for line in fields)
