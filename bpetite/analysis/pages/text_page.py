"""A text cut into coloured tokens: a page for the browser, a picture for a notebook.

>>> from bpetite import Tokenizer
>>> shown = view(Tokenizer.train("ab ab ab", 258), "ab ab <|endoftext|>")
>>> shown.tokens, shown.page().startswith("<!doctype html>")
([4], True)
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ...tokenizer import Tokenizer
from ..characters import escape as visible
from .layout import Cell, Laid, lay_out, rows_of
from .markup import asset, document, tokens_html

__all__ = ["WINDOW", "EncodingView", "view"]

#: Characters that a page shows unless told otherwise: a browser lays out some 15,000 tokens at once without a pause.
WINDOW = 50_000

#: Characters that a notebook cell shows.
CELL = 4_000


@dataclass(frozen=True)
class _Side:
    """One tokenizer's part: its name, counts over the whole text, and the window's tokens."""

    name: str
    tokens: int
    different: int
    specials: int
    laid: Laid
    start: int  # of the window, in bytes


@dataclass(frozen=True)
class EncodingView:
    """A text as one or two tokenizers encode it; a notebook shows it, :meth:`save` writes the page.

    Attributes:
        title: What the page is called.
        characters: Length of the whole text (as the first tokenizer normalizes it).
        bytes: Length in UTF-8.
        first, last: The window, in characters.
        line: The line of the text that the window begins in, from 1.
        aligned: Two tokenizers see the same text, so that their tokens can be compared.
    """

    title: str
    sides: tuple[_Side, ...]
    characters: int
    bytes: int
    first: int
    last: int
    line: int = 1
    aligned: bool = True

    @property
    def tokens(self) -> list[int]:
        """How many tokens the whole text has, for each tokenizer."""
        return [side.tokens for side in self.sides]

    @property
    def whole(self) -> bool:
        """Does the window show all of the text?"""
        return self.first == 0 and self.last == self.characters

    def save(self, path: str | Path) -> None:
        """Write the page.

        Raises:
            OSError: The file cannot be written.
        """
        Path(path).write_text(self.page(), encoding="utf-8", newline="")

    def page(self) -> str:
        """The page: one file of HTML that needs no network."""
        rows, numbers = self._rows()
        edges: list[set[tuple[int, int]] | None] = [None]
        if len(self.sides) == 2:
            both = [{(cell.start, cell.end) for cell in side.laid.cells} for side in self.sides]
            edges = [both[1], both[0]] if self.aligned else [None, None]
        shown = [0] * len(self.sides)
        lines = []
        for number, row in zip(numbers, rows, strict=True):
            parts = []
            for side, cells in enumerate(row):
                text = "".join(tokens_html(cells, shown[side], edges=edges[side]))
                shown[side] += len(cells)
                parts.append(f'<div class="text side{side}" role="none" dir="auto">{text}</div>')
            lines.append(f'<div class="row" role="none" data-n="{number}">{"".join(parts)}</div>')
        names = "".join(f"<div>{escape(visible(side.name))}</div>" for side in self.sides)
        body = "\n".join([
            '<a class="skip" href="#tokens">Skip to the tokens</a>',
            self._header(),
            "<main>",
            f'<div class="names" aria-hidden="true"><div></div>{names}</div>',
            '<div class="sheet" id="tokens" role="listbox" aria-label="Tokens" aria-orientation="horizontal">',
            "\n".join(lines),
            "</div>",
            self._footer(),
            "</main>",
            '<div id="card" role="tooltip" hidden></div>',
        ])  # fmt: skip
        # Each side has its own bytes: the same id may be two tokens.
        data = {
            "aligned": self.aligned,
            "sides": [
                {"start": side.start, "bytes": {cell.id: cell.data.hex() for cell in side.laid.cells}}
                for side in self.sides
            ],
        }
        return document(
            self.title, body, classes="two" if len(self.sides) == 2 else "", script=asset("page.js"), data=data
        )

    def _rows(self) -> tuple[list[list[list[Cell]]], list[str]]:
        """Rows, and the number that stands before each: the line it begins in, nothing where a line goes on."""
        if self.aligned:
            rows = rows_of([side.laid for side in self.sides])
        else:
            apart = ([row[0] for row in rows_of([side.laid])] for side in self.sides)
            rows = [list(row) for row in zip_longest(*apart, fillvalue=list[Cell]())]
        numbers: list[str] = []
        line, fresh = self.line, True
        for row in rows:
            numbers.append(str(line) if fresh else "")
            ends = sum(cell.text.count("\n") for cell in row[0])
            line, fresh = line + ends, ends > 0
        return rows, numbers

    def _header(self) -> str:
        several = len(self.sides) > 1
        text = [("characters", f"{self.characters:,}"), ("bytes", f"{self.bytes:,}")]
        lists = []
        for side in self.sides:
            facts = [
                ("tokens", f"{side.tokens:,}"),
                ("characters a token", f"{self.characters / max(side.tokens, 1):.2f}"),
                ("bytes a token", f"{self.bytes / max(side.tokens, 1):.2f}"),
                ("different ids", f"{side.different:,}"),
                *([("special", f"{side.specials:,}")] if side.specials else []),
            ]
            who = side.name if several else ""
            lists.append(_facts(who, facts if several else text + facts))
        if several:
            lists.append(_facts("the text", text))
        summary = f'<div class="sums">{"".join(lists)}</div>'
        note = ""
        if not self.whole:
            shown = sum(len(side.laid.cells) for side in self.sides[:1])
            note = (
                f'<p class="note" id="window">A window: characters {self.first:,} to {self.last:,} of '
                f"{self.characters:,}, {shown:,} tokens. The figures above are of the whole text.</p>"
            )
        if several and not self.aligned:
            note += '<p class="note">The two normalize this text differently, so tokens are not compared.</p>'
        button = '<button type="button" id="differ">Next difference</button>' if several and self.aligned else ""
        names = "" if several else escape(visible(self.sides[0].name))
        return (
            f'<header>\n<div class="head"><h1>{escape(visible(self.title))}</h1>'
            f'<span class="sub">{names}</span></div>\n'
            f'{summary}\n{note}\n<div class="bar" role="group" aria-label="Tools">'
            '<label>Find <input type="search" id="search" placeholder="ids, or a token’s text" autocomplete="off" '
            'spellcheck="false" aria-describedby="found"></label> <output id="found" for="search" aria-live="polite">'
            "</output>"
            '<label><input type="checkbox" id="ids"> ids</label>'
            '<label><input type="checkbox" id="marks" checked> spaces and line ends</label>'
            f'{button}<button type="button" id="theme">Light / dark</button>'
            '<output id="live" aria-live="polite"></output></div>\n</header>'
        )

    def _footer(self) -> str:
        keys = (
            "<kbd>←</kbd> <kbd>→</kbd> token, <kbd>↑</kbd> <kbd>↓</kbd> line, <kbd>Home</kbd> <kbd>End</kbd>, "
            "<kbd>/</kbd> find, <kbd>Enter</kbd> next hit"
        )
        if len(self.sides) == 2:
            keys += ", <kbd>o</kbd> the other side, <kbd>d</kbd> next difference"
        legend = (
            "A frame holds tokens that share a character; ‥ is a token that shows none of its own. "
            '<u class="x">ZWJ</u> is a character that cannot be seen. '
            '<span class="sp" data-i="special">special</span> is a special token.'
        )
        if len(self.sides) == 2:
            legend += " A thick line in the text’s colour is under tokens that the other side does not have there."
        return f'<p class="foot">{legend}<br>{keys}. Select text to count its tokens.</p>'

    def _repr_html_(self) -> str:
        budget, parts = CELL, []
        for side in self.sides:
            cells, used = [], 0
            for cell in side.laid.cells:
                if used > budget:
                    break
                cells.append(cell)
                used += len(cell.text)
            rest = "" if len(cells) == side.tokens else f" · the first {len(cells):,} are shown"
            counts = f"{side.tokens:,} tokens, {self.characters / max(side.tokens, 1):.2f} characters a token"
            parts.append(
                f"<p><small>{escape(visible(side.name))}: {counts}{rest}</small></p>"
                f'<div class="text" dir="auto">{"".join(tokens_html(cells, 0, titles=True))}</div>'
            )
        return f'<div class="bpe"><style>{asset("tokens.css")}</style>{"".join(parts)}</div>'

    def __repr__(self) -> str:
        counts = ", ".join(f"{side.name}: {side.tokens} tokens" for side in self.sides)
        return f"<EncodingView of {self.characters} characters: {counts}>"


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
) -> EncodingView:
    """What a tokenizer makes of a text, to look at.

    Args:
        tokenizer: Encodes the text; with ``other``, the left one.
        text: ``str``, or UTF-8 ``bytes``.
        other: A second tokenizer, shown beside the first.
        ordinary: Recognise no special tokens.
        title: What the page is called.
        names: What the tokenizers are called.
        start: Where the window begins, in characters.
        characters: How many of them it shows.

    Raises:
        ValueError: A byte that has no token; a window that is none.
        UnicodeError: Text with a lone surrogate, bytes that are not UTF-8.
    """
    if start < 0 or characters < 1:
        raise ValueError(f"a window of {characters} characters from {start} is none")
    tokenizers = [tokenizer] if other is None else [tokenizer, other]
    names = list(names or (_name(one, number) for number, one in enumerate(tokenizers)))
    if len(names) != len(tokenizers):
        raise ValueError(f"{len(names)} names for {len(tokenizers)} tokenizers: {names!r}")
    options: dict[str, Any] = {"allowed_special": ()} if ordinary else {}
    ids = [one.encode_to_numpy(text, **options) for one in tokenizers]
    data = [one.decode_bytes(found) for one, found in zip(tokenizers, ids, strict=True)]
    ends = [_ends(one, found) for one, found in zip(tokenizers, ids, strict=True)]
    aligned = len(set(data)) == 1
    whole = data[0].decode("utf-8")
    start = min(start, len(whole))
    stop = min(len(whole), start + characters)
    sides, bounds = [], (0, 0)
    edges = _shared_edges(ends, data[0]) if aligned else None
    for number, one in enumerate(tokenizers):
        here = edges if edges is not None else _shared_edges([ends[number]], data[number])
        from_byte, to_byte = (len(whole[:at].encode("utf-8")) for at in (start, stop))
        low = int(here[max(int(np.searchsorted(here, from_byte, "right")) - 1, 0)])
        high = int(here[min(int(np.searchsorted(here, to_byte)), len(here) - 1)])
        if number == 0:
            bounds = low, high
        inside = slice(int(np.searchsorted(ends[number], low, "right")) if low else 0,
                       int(np.searchsorted(ends[number], high, "right")))  # fmt: skip
        different, counts = np.unique(ids[number], return_counts=True)
        specials = np.isin(different, np.array(list(one.special_tokens.values()), dtype=np.uint32))
        sides.append(
            _Side(
                names[number], len(ids[number]), len(different), int(counts[specials].sum()),
                lay_out(one, ids[number][inside].tolist()), low,
            )
        )  # fmt: skip
    first, last = (len(data[0][:at].decode("utf-8")) for at in bounds)
    return EncodingView(
        title, tuple(sides), len(whole), len(data[0]), first, last, data[0].count(b"\n", 0, bounds[0]) + 1, aligned
    )  # fmt: skip


def _facts(who: str, facts: list[tuple[str, str]]) -> str:
    listed = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in facts)
    name = f'<span class="who">{escape(visible(who))}</span>' if who else ""
    return f'<div class="sumrow">{name}<dl class="sum">{listed}</dl></div>'


def _name(tokenizer: Tokenizer, number: int) -> str:
    return f"{'AB'[number]} ({len(tokenizer):,} tokens, {tokenizer.fingerprint()[:8]})"


def _ends(tokenizer: Tokenizer, ids: npt.NDArray[np.uint32]) -> npt.NDArray[np.int64]:
    tokens = tokenizer.to_vocab().tokens
    different, places = np.unique(ids, return_inverse=True)
    lengths = np.array([len(tokens[one]) for one in different.tolist()], dtype=np.int64)
    return np.cumsum(lengths[places]) if len(ids) else np.zeros(0, dtype=np.int64)


def _shared_edges(ends: list[npt.NDArray[np.int64]], data: bytes) -> npt.NDArray[np.int64]:
    """Where all have an edge that is also one between characters; 0 and the text's end among them."""
    edges = ends[0]
    for more in ends[1:]:
        edges = np.intersect1d(edges, more, assume_unique=True)
    text = np.frombuffer(data + b" ", dtype=np.uint8)
    return np.append(0, edges[text[edges] & 0xC0 != 0x80])
