"""A text cut into tokens, to look at: a page for the browser, a picture for a notebook.

>>> from bpetite import Tokenizer
>>> shown = view(Tokenizer.train("ab ab ab", 258), "ab ab <|endoftext|>")
>>> shown.tokens, shown.page().startswith("<!doctype html>")
([4], True)
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from ..engine.call_options import SpecialSelection
from ..tokenizer import Tokenizer
from .cells import Cell, lay_out, rows_of
from .report import Block, Contents, Report, Table, Tokens, short_names


class Side(NamedTuple):
    """The name of a tokenizer, and its tokens."""

    name: str
    cells: list[Cell]


@dataclass(frozen=True, repr=False)
class TokenView(Report):
    """A text as one or several tokenizers cut it. A notebook shows it; :meth:`save` writes a page.

    Attributes:
        sides: The tokens, for each tokenizer.
        characters: Length of the text, as the first tokenizer normalizes it.
        bytes: Its length in UTF-8.
        aligned: True where the tokenizers see the same text, so that their tokens can be compared.
    """

    sides: tuple[Side, ...]
    characters: int
    bytes: int
    aligned: bool

    @property
    def tokens(self) -> list[int]:
        """The number of tokens, for each tokenizer."""
        return [len(side.cells) for side in self.sides]

    def _contents(self) -> Contents:
        names = short_names([side.name for side in self.sides])
        counts = ", ".join(f"{size:,} tokens of {name}" for name, size in zip(names, self.tokens, strict=True))
        headline = [(f"{self.characters:,}", "characters"), (f"{self.bytes:,}", "bytes")]
        return Contents("Tokens", counts, headline, [("Figures", [_figures(self)]), ("Tokens", _blocks(self))])


def view(
    tokenizer: Tokenizer,
    text: str | bytes,
    *others: Tokenizer,
    allowed_special: SpecialSelection = "all",
    names: Sequence[str] | None = None,
) -> TokenView:
    """Show how a tokenizer cuts a text: some pages of it, as a browser lays out 15,000 tokens at once without a pause.

    Args:
        tokenizer: Encodes the text; with ``others``, it is on the left.
        text: ``str``, or UTF-8 ``bytes``.
        others: Further tokenizers, shown beside the first.
        allowed_special: Special tokens to recognise, as :meth:`bpetite.Tokenizer.encode` takes them.
        names: The names of the tokenizers.

    Raises:
        ValueError: A byte has no token; there are too few or too many names.
        UnicodeError: Text with a lone surrogate, bytes that are not UTF-8.
    """
    tokenizers = [tokenizer, *others]
    if names is None:
        names = [f"{len(one):,} tokens, {one.fingerprint()[:8]}" for one in tokenizers]
    if len(names) != len(tokenizers):
        raise ValueError(f"{len(names)} names for {len(tokenizers)} tokenizers: {names!r}")
    ids = [one.encode(text, allowed_special=allowed_special) for one in tokenizers]
    sides = tuple(map(Side, names, map(lay_out, tokenizers, ids)))
    first, *rest = (b"".join([cell.data for cell in side.cells]) for side in sides)
    return TokenView(sides, len(first.decode("utf-8")), len(first), all(one == first for one in rest))


def _figures(view: TokenView) -> Table:
    rows = []
    names = short_names([side.name for side in view.sides])
    for name, side in zip(names, view.sides, strict=True):
        size, ids = len(side.cells), {cell.id for cell in side.cells}
        specials = sum(cell.special for cell in side.cells)
        rows.append([name, size, view.characters / max(size, 1), len(ids), specials])
    heads = ["tokenizer", "tokens", "characters per token", "different ids", "special tokens"]
    return Table("Figures", heads, rows, numbers=len(heads) - 1, named=True, sides="rows" if len(rows) > 1 else "")


def _blocks(view: TokenView) -> Iterator[Block]:
    names, sides = [side.name for side in view.sides], [side.cells for side in view.sides]
    if view.aligned:
        spans = [{(cell.start, cell.end) for cell in side} for side in sides]
        everywhere = set.intersection(*spans)
        sides = [[replace(one, differs=(one.start, one.end) not in everywhere) for one in side] for side in sides]
        yield Tokens(names, rows_of(sides))
        return
    yield "They normalize this text differently, so their tokens are not compared."
    yield from (Tokens([name], rows_of([side])) for name, side in zip(names, sides, strict=True))
