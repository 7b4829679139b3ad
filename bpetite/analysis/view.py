"""A text cut into tokens, to look at: a page for the browser, a picture for a notebook.

>>> from bpetite import Tokenizer
>>> shown = view(Tokenizer.train("ab ab ab", 258), "ab ab <|endoftext|>")
>>> shown.tokens, shown.page().startswith("<!doctype html>")
([4], True)
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import accumulate, zip_longest
from typing import Any

import numpy as np
import numpy.typing as npt

from ..tokenizer import Tokenizer
from .cells import Cell, lay_out, listed, rows_of, token_ends
from .pages.markup import asset, document, element, name_html, tokens_html
from .pages.render import Form, Report, default_names

__all__ = ["WINDOW", "Side", "TokenView", "view"]

#: Characters that a notebook's cell shows.
NOTEBOOK_CHARACTERS = 4_000

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
    """A text as one or two tokenizers cut it. A notebook shows it; :meth:`save` writes a page.

    Attributes:
        title: The title of the page.
        sides: The tokens, for each tokenizer.
        characters: Length of the whole text, as the first tokenizer normalizes it.
        bytes: Its length in UTF-8.
        first, last: The window, in characters.
        line: The line of the text in which the window begins, from 1.
        aligned: True where the tokenizers see the same text, so that their tokens can be compared.
    """

    title: str
    sides: tuple[Side, ...]
    characters: int
    bytes: int
    first: int
    last: int
    line: int
    aligned: bool

    @property
    def tokens(self) -> list[int]:
        """The number of tokens of the whole text, for each tokenizer."""
        return [side.tokens for side in self.sides]

    @property
    def whole(self) -> bool:
        """True where the window shows the whole text."""
        return self.first == 0 and self.last == self.characters

    def _drawn(self, form: Form) -> str:
        if form == "line":
            counts = (f"{side.tokens:,} tokens of {side.name}" for side in self.sides)
            return f"{self.title}: {self.characters:,} characters, {', '.join(counts)}"
        if form == "text":  # one token a line for each tokenizer
            return "\n\n".join(listed(side.cells) for side in self.sides)
        return _page(self) if form == "page" else _element(self)


def view(
    tokenizer: Tokenizer,
    text: str | bytes,
    other: Tokenizer | None = None,
    *,
    ordinary: bool = False,
    title: str = "Tokens",
    names: Sequence[str] | None = None,
    start: int = 0,
    characters: int = WINDOW,
) -> TokenView:
    """Show how a tokenizer cuts a text.

    Args:
        tokenizer: Encodes the text; with ``other``, it is on the left.
        text: ``str``, or UTF-8 ``bytes``.
        other: A second tokenizer, shown beside the first.
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
    tokenizers = [tokenizer] if other is None else [tokenizer, other]
    if names is None:
        names = default_names(*tokenizers)
    if len(names) != len(tokenizers):
        raise ValueError(f"{len(names)} names for {len(tokenizers)} tokenizers: {names!r}")
    options: dict[str, Any] = {"allowed_special": ()} if ordinary else {}
    ids = [one.encode_to_numpy(text, **options) for one in tokenizers]
    data = [one.decode_bytes(row) for one, row in zip(tokenizers, ids, strict=True)]
    ends = [token_ends(one, row) for one, row in zip(tokenizers, ids, strict=True)]
    aligned = len(set(data)) == 1
    if aligned:
        edges = [_shared_edges(ends, data[0])] * len(tokenizers)
    else:
        edges = [_shared_edges([one], own) for one, own in zip(ends, data, strict=True)]
    whole = data[0].decode("utf-8")
    wanted = [len(whole[:at].encode("utf-8")) for at in (start, start + characters)]
    sides, bounds = [], []
    for number, one in enumerate(tokenizers):
        # From the last edge before the window to the first one after it.
        low = int(edges[number][np.searchsorted(edges[number], wanted[0], "right") - 1])
        high = int(edges[number][min(int(np.searchsorted(edges[number], wanted[1])), len(edges[number]) - 1)])
        first, last = np.searchsorted(ends[number], [low, high], "right")
        different, counts = np.unique(ids[number], return_counts=True)
        specials = int(counts[np.isin(different, list(one.special_tokens.values()))].sum())
        cells = lay_out(one, ids[number][first:last].tolist())
        sides.append(Side(names[number], len(ids[number]), len(different), specials, cells, low))
        bounds.append((low, high))
    first, last = (len(data[0][:at].decode("utf-8")) for at in bounds[0])
    line = data[0].count(b"\n", 0, bounds[0][0]) + 1
    return TokenView(title, tuple(sides), len(whole), len(data[0]), first, last, line, aligned)


def _shared_edges(ends: list[npt.NDArray[np.int64]], data: bytes) -> npt.NDArray[np.int64]:
    """Positions at which all tokenizers have an edge and no character is cut, ascending; 0 and the end among them."""
    edges = ends[0]
    for more in ends[1:]:
        edges = np.intersect1d(edges, more, assume_unique=True)
    text = np.frombuffer(data + b" ", dtype=np.uint8)
    return np.append(0, edges[text[edges] & 0xC0 != 0x80])


# The page


def _page(view: TokenView) -> str:
    edges: list[set[tuple[int, int]] | None] = [None] * len(view.sides)
    if len(view.sides) == 2 and view.aligned:
        left, right = ({(cell.start, cell.end) for cell in side.cells} for side in view.sides)
        edges = [right, left]
    shown = [0] * len(view.sides)
    lines = []
    for number, row in _rows(view):
        parts = []
        for side, cells in enumerate(row):
            text = "".join(tokens_html(cells, shown[side], edges=edges[side]))
            shown[side] += len(cells)
            parts.append(f'<div class="text side{side}" role="none" dir="auto">{text}</div>')
        lines.append(f'<div class="row" role="none" data-n="{number}">{"".join(parts)}</div>')
    names = "".join(f"<div>{name_html(side.name)}</div>" for side in view.sides)
    body = "\n".join([
        '<a class="skip" href="#tokens">Skip to the tokens</a>',
        _header(view),
        _tools(view),
        "<main>",
        f'<div class="names" aria-hidden="true"><div></div>{names}</div>',
        '<div class="sheet" id="tokens" role="listbox" aria-label="Tokens" aria-orientation="horizontal">',
        "\n".join(lines),
        "</div>",
        '<div id="card" role="tooltip" hidden></div>',
        "</main>",
    ])  # fmt: skip
    # Each side has its own bytes: one id may be two tokens.
    sides = [
        {"start": side.start, "bytes": {cell.id: cell.data.hex() for cell in side.cells}} for side in view.sides
    ]
    classes = "two" if len(view.sides) == 2 else ""
    return document(
        view.title, body, classes=classes, script=asset("page.js"), data={"aligned": view.aligned, "sides": sides}
    )


def _rows(view: TokenView) -> Iterator[tuple[str, list[list[Cell]]]]:
    """The cells of each row, row[side], after the number of the line that it begins, or "" where it continues a line.
    Sides that show different texts are broken into rows of their own."""
    if view.aligned:
        rows = rows_of([side.cells for side in view.sides])
    else:
        apart = ([row[0] for row in rows_of([side.cells])] for side in view.sides)
        rows = [list(row) for row in zip_longest(*apart, fillvalue=list[Cell]())]
    line, begins = view.line, True
    for row in rows:
        yield str(line) if begins else "", row
        line_ends = sum(cell.text.count("\n") for cell in row[0])
        line += line_ends
        begins = line_ends > 0


def _header(view: TokenView) -> str:
    several = len(view.sides) > 1
    text = [("characters", f"{view.characters:,}"), ("bytes", f"{view.bytes:,}")]
    lists = []
    for side in view.sides:
        facts = [
            ("tokens", f"{side.tokens:,}"),
            ("characters per token", f"{view.characters / max(side.tokens, 1):.2f}"),
            ("bytes per token", f"{view.bytes / max(side.tokens, 1):.2f}"),
            ("different ids", f"{side.different:,}"),
        ]
        if side.specials:
            facts.append(("special", f"{side.specials:,}"))
        lists.append(_facts(side.name, facts) if several else _facts("", text + facts))
    if several:
        lists.append(_facts("the text", text))
    notes = ""
    if not view.whole:
        notes += (
            f'<p class="note" id="window">A window: characters {view.first:,} to {view.last:,} of '
            f"{view.characters:,}, {len(view.sides[0].cells):,} tokens. The figures above are for the whole "
            "text.</p>"
        )
    if several and not view.aligned:
        notes += '<p class="note">The two normalize this text differently, so tokens are not compared.</p>'
    name = "" if several else name_html(view.sides[0].name)
    return (
        f'<header>\n<div class="head"><h1>{name_html(view.title)}</h1><span class="sub">{name}</span></div>\n'
        f'<div class="sums">{"".join(lists)}</div>\n{notes}\n{_key(several)}\n</header>'
    )


def _facts(who: str, facts: list[tuple[str, str]]) -> str:
    listed = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in facts)
    name = f'<span class="who">{name_html(who)}</span>' if who else ""
    return f'<div class="sumrow">{name}<dl class="sum">{listed}</dl></div>'


def _key(several: bool) -> str:
    """The meaning of the marks, and the keys."""
    marks = [
        '<u class="s">&nbsp;</u> space',
        '<u class="n"></u> line end',
        '<u class="x">ZWJ</u> a character that cannot be seen',
        '<span class="sp" data-i="special">special</span> a special token',
        '<span class="g"><span class="c0" data-i="part">é</span><span class="c1 p" data-i="part"></span></span> '
        "tokens that share a character; ‥ where none begins",
    ]
    keys = [
        "<kbd>←</kbd> <kbd>→</kbd> token",
        "<kbd>↑</kbd> <kbd>↓</kbd> line",
        "<kbd>Home</kbd> <kbd>End</kbd>",
        "<kbd>/</kbd> find an id",
        "<kbd>n</kbd> <kbd>p</kbd> next and previous match",
        "<kbd>f</kbd> find this token",
    ]
    if several:
        marks.append('<span class="c2 d" data-i="differs">token</span> not a token of the other side')
        keys += ["<kbd>o</kbd> the other side", "<kbd>d</kbd> next difference"]
    keys.append("select text to count its tokens")
    lists = (
        f'<ul class="{name}" aria-label="{label}">{"".join(f"<li>{one}</li>" for one in items)}</ul>'
        for name, label, items in (("marks", "Marks", marks), ("keys", "Keys", keys))
    )
    return f'<div class="key">{"".join(lists)}</div>'


def _tools(view: TokenView) -> str:
    """The bar that stays in sight: the search and the switches."""
    differ = ""
    if len(view.sides) == 2 and view.aligned:
        differ = '<button type="button" id="differ">Next difference</button>'
    return (
        '<div class="bar" role="search" aria-label="Find and show">'
        '<span class="find"><label for="search">Find id</label> <input type="search" id="search" '
        'inputmode="numeric" autocomplete="off" spellcheck="false" aria-describedby="found"> '
        '<button type="button" id="previous" aria-label="Previous match" disabled>↑</button>'
        '<button type="button" id="next" aria-label="Next match" disabled>↓</button> '
        '<output id="found" for="search" aria-live="polite"></output>'
        f"{differ}</span>"
        '<span class="tools"><label><input type="checkbox" id="ids"> ids</label>'
        '<label><input type="checkbox" id="marks" checked> white space</label>'
        '<button type="button" id="theme">Light / dark</button></span>'
        '<output id="live" aria-live="polite"></output></div>'
    )


def _element(view: TokenView) -> str:
    """The first tokens of each side as one element with its own styles, without a script, for a notebook."""
    parts = []
    for side in view.sides:
        before = accumulate((len(cell.text) for cell in side.cells), initial=0)
        cells = [cell for cell, used in zip(side.cells, before) if used <= NOTEBOOK_CHARACTERS]
        rest = "" if len(cells) == side.tokens else f" · the first {len(cells):,} are shown"
        counts = f"{side.tokens:,} tokens, {view.characters / max(side.tokens, 1):.2f} characters per token"
        parts.append(
            f"<p><small>{name_html(side.name)}: {counts}{rest}</small></p>"
            f'<div class="text" dir="auto">{"".join(tokens_html(cells, 0, titles=True))}</div>'
        )
    return element("".join(parts))
