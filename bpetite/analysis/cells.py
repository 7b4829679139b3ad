"""Tokens laid out for display: the characters of each, groups that share characters, rows.

A character is shown by the token that holds its first byte. Tokens that share a character are *joined*: they are shown
as one group, and a later one shows only the characters that begin in it. Bytes that form no character, which only ids
that no text gave can have, are shown as bytes.
"""
from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..tokenizer import Tokenizer
from .scripts import token_repr

__all__ = ["Cell", "groups", "lay_out", "listed", "rows_of", "token_ends"]

#: Tokens of a row at most: text without line ends is broken here, so that a browser lays out only the rows in sight.
LONGEST_ROW = 400


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
    """

    id: int
    data: bytes
    start: int
    special: bool
    text: str
    joined: bool

    @property
    def end(self) -> int:
        """The end of its bytes."""
        return self.start + len(self.data)


def token_ends(tokenizer: Tokenizer, ids: npt.NDArray[np.uint32]) -> npt.NDArray[np.int64]:
    """int64[n]: where the bytes of each of n tokens end when all are joined.

    >>> token_ends(Tokenizer({0: b"a", 1: b"abc"}, []), np.array([1, 0, 1])).tolist()
    [3, 4, 7]
    """
    tokens = tokenizer.to_vocab().tokens
    different, index = np.unique(ids, return_inverse=True)
    lengths = np.array([len(tokens[token_id]) for token_id in different.tolist()], dtype=np.int64)
    return np.cumsum(lengths[index])


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
    edges = np.append(0, token_ends(tokenizer, np.array(ids, dtype=np.uint32)))
    first = np.searchsorted(starts, edges)  # of each edge, the first character that begins there or later
    joined = starts[first] != edges
    return [
        Cell(token_id, token, int(edges[at]), token_id in specials, text[first[at] : first[at + 1]], bool(joined[at]))
        for at, (token_id, token) in enumerate(zip(ids, tokens, strict=True))
    ]


def groups(cells: Iterable[Cell]) -> list[list[Cell]]:
    """Consecutive cells that share characters; a cell that shares none is a group of its own."""
    grouped: list[list[Cell]] = []
    for cell in cells:
        if not (grouped and cell.joined):
            grouped.append([])
        grouped[-1].append(cell)
    return grouped


def rows_of(sides: Sequence[list[Cell]]) -> list[list[list[Cell]]]:
    """Rows of cells for each of one or two ways to cut the same text: rows[number][side].

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
