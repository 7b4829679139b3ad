"""A text cut into tokens, to look at: a page for the browser, a picture for a notebook.

>>> from bpetite import Tokenizer
>>> shown = view(Tokenizer.train("ab ab ab", 258), "ab ab <|endoftext|>")
>>> shown.tokens, shown.page().startswith("<!doctype html>")
([4], True)
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import zip_longest
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ..tokenizer import Tokenizer
from .cells import Cell, Tokenized, TokenReader, lay_out, rows_of
from .report import Block, Contents, Report, Tokens, short_names

#: Characters that a page shows by default: a browser lays out some 15,000 tokens at once without a pause.
WINDOW = 50_000


@dataclass(frozen=True)
class Side:
    """The tokens of one tokenizer in a :class:`TokenView`.

    Attributes:
        name: The name of the tokenizer.
        tokens, different, specials: The numbers of tokens, different ids and special tokens in the whole text.
        cells: The tokens in the window.
        start: Position of the window's first byte.
    """

    name: str
    tokens: int
    different: int
    specials: int
    cells: list[Cell] = field(repr=False)
    start: int


@dataclass(frozen=True, repr=False)
class TokenView(Report):
    """A text as one or several tokenizers cut it. A notebook shows it; :meth:`save` writes a page.

    Attributes:
        title: The title of the page.
        sides: The tokens, for each tokenizer.
        characters: Length of the whole text, as the first tokenizer normalizes it.
        bytes: Its length in UTF-8.
        first, last: The window, in characters.
        aligned: True where the tokenizers see the same text, so that their tokens can be compared.
    """

    title: str
    sides: tuple[Side, ...]
    characters: int
    bytes: int
    first: int
    last: int
    aligned: bool

    @property
    def tokens(self) -> list[int]:
        """The number of tokens of the whole text, for each tokenizer."""
        return [side.tokens for side in self.sides]

    @property
    def whole(self) -> bool:
        """True where the window shows the whole text."""
        return self.first == 0 and self.last == self.characters

    def _contents(self) -> Contents:
        names = short_names([side.name for side in self.sides])
        counts = ", ".join(f"{side.tokens:,} tokens of {name}" for name, side in zip(names, self.sides, strict=True))
        return Contents(self.title, counts, _headline(self), [("Tokens", _blocks(self))])


def view(
    tokenizer: Tokenizer,
    text: str | bytes,
    *others: Tokenizer,
    ordinary: bool = False,
    title: str = "Tokens",
    names: Sequence[str] | None = None,
    start: int = 0,
    characters: int = WINDOW,
) -> TokenView:
    """Show how a tokenizer cuts a text.

    Args:
        tokenizer: Encodes the text; with ``others``, it is on the left.
        text: ``str``, or UTF-8 ``bytes``.
        others: Further tokenizers, shown beside the first.
        ordinary: Recognise no special tokens.
        title: The title of the page.
        names: The names of the tokenizers.
        start: The first character of the window.
        characters: The number of characters that it shows.

    Raises:
        ValueError: A byte has no token; the window is empty; there are too few or too many names.
        UnicodeError: Text with a lone surrogate, bytes that are not UTF-8.
    """
    if start < 0 or characters < 1:
        raise ValueError(f"a window starts at 0 or later and is not empty: {characters} characters from {start}")
    tokenizers = [tokenizer, *others]
    if names is None:
        names = [f"{len(one):,} tokens, {one.fingerprint()[:8]}" for one in tokenizers]
    if len(names) != len(tokenizers):
        raise ValueError(f"{len(names)} names for {len(tokenizers)} tokenizers: {names!r}")
    allowed: tuple[str, ...] | Literal["all"] = () if ordinary else "all"
    given: Any = [text]
    read = [TokenReader(one).read(given, allowed) for one in tokenizers]
    aligned = len({one.data for one in read}) == 1
    edges = [_edges(read if aligned else [one]) for one in read]
    whole = read[0].data.decode("utf-8")
    wanted = [len(whole[:at].encode("utf-8")) for at in (start, start + characters)]
    sides, window = [], (0, 0)
    for number, (one, side) in enumerate(zip(tokenizers, read, strict=True)):
        # from the last edge before the window to the first one after it
        low = int(edges[number][np.searchsorted(edges[number], wanted[0], "right") - 1])
        high = int(edges[number][min(int(np.searchsorted(edges[number], wanted[1])), len(edges[number]) - 1)])
        window = window if number else (low, high)
        first, last = np.searchsorted(side.ends, [low, high], "right")
        different, counts = np.unique(side.ids, return_counts=True)
        specials = int(counts[np.isin(different, list(one.special_tokens.values()))].sum())
        cells = lay_out(one, side.ids[first:last].tolist())
        sides.append(Side(names[number], len(side.ids), len(different), specials, cells, low))
    first, last = (len(read[0].data[:at].decode("utf-8")) for at in window)
    return TokenView(title, tuple(sides), len(whole), len(read[0].data), first, last, aligned)


def _edges(read: Sequence[Tokenized]) -> npt.NDArray[np.int64]:
    """Positions at which all sides have an edge and no character is cut, ascending; 0 and the end among them."""
    edges = reduce(np.intersect1d, [one.ends for one in read])
    text = np.frombuffer(read[0].data + b" ", dtype=np.uint8)
    return np.append(0, edges[text[edges] & 0xC0 != 0x80])


def _headline(view: TokenView) -> Iterator[tuple[str, str]]:
    yield f"{view.characters:,}", "characters"
    yield f"{view.bytes:,}", "bytes"
    names = short_names([side.name for side in view.sides])
    for name, side in zip(names, view.sides, strict=True):
        of = f", {name}" if len(view.sides) > 1 else ""
        yield f"{side.tokens:,}", f"tokens{of}"
        yield f"{view.characters / max(side.tokens, 1):.2f}", f"characters per token{of}"
        yield f"{side.different:,}", f"different ids{of}"
        if side.specials:
            yield f"{side.specials:,}", f"special{of}"


def _blocks(view: TokenView) -> Iterator[Block]:
    if not view.whole:
        yield (f"A window: characters {view.first:,} to {view.last:,} of {view.characters:,}, "
               f"{len(view.sides[0].cells):,} tokens. The figures above are for the whole text.")  # fmt: skip
    names, sides = [side.name for side in view.sides], [side.cells for side in view.sides]
    if view.aligned:
        spans = [{(cell.start, cell.end) for cell in side} for side in sides]
        everywhere = set.intersection(*spans)
        sides = [[replace(one, differs=(one.start, one.end) not in everywhere) for one in side] for side in sides]
        yield Tokens(names, rows_of(sides))
        return
    yield "They normalize this text differently, so their tokens are not compared."
    apart = [[row[0] for row in rows_of([side])] for side in sides]
    yield Tokens(names, list(zip_longest(*apart, fillvalue=list[Cell]())))
