"""A text cut into coloured tokens, drawn: a page, and one element for a notebook."""
from __future__ import annotations

from html import escape
from itertools import zip_longest

from ..cells import Cell, rows_of
from ..results import Form, TokenView
from .markup import asset, document, element, name_html, tokens_html
from .terminal import listed

__all__ = ["view_page"]

#: Characters that a notebook's cell shows.
NOTEBOOK_CHARACTERS = 4_000


def view_page(view: TokenView, form: Form) -> str:
    """Draw a text cut into tokens; as text, one token a line for each tokenizer."""
    if form == "line":
        counts = (f"{side.tokens:,} tokens of {side.name}" for side in view.sides)
        return f"{view.title}: {view.characters:,} characters, {', '.join(counts)}"
    if form == "text":
        return "\n\n".join(listed(side.cells) for side in view.sides)
    return _page(view) if form == "page" else _element(view)


TokenView._drawn = view_page


def _page(view: TokenView) -> str:
    edges: list[set[tuple[int, int]] | None] = [None] * len(view.sides)
    if len(view.sides) == 2 and view.aligned:
        left, right = ({(cell.start, cell.end) for cell in side.cells} for side in view.sides)
        edges = [right, left]
    rows = _rows(view)
    shown = [0] * len(view.sides)
    lines = []
    for number, row in zip(_line_numbers(view, rows), rows, strict=True):
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


def _rows(view: TokenView) -> list[list[list[Cell]]]:
    """Rows of cells: rows[number][side]. Sides that show different texts are broken into rows apart."""
    if view.aligned:
        return rows_of([side.cells for side in view.sides])
    apart = ([row[0] for row in rows_of([side.cells])] for side in view.sides)
    return [list(row) for row in zip_longest(*apart, fillvalue=list[Cell]())]


def _line_numbers(view: TokenView, rows: list[list[list[Cell]]]) -> list[str]:
    """For each row the number of the line that it begins; empty where it continues a line."""
    numbers: list[str] = []
    line, begins = view.line, True
    for row in rows:
        numbers.append(str(line) if begins else "")
        line_ends = sum(cell.text.count("\n") for cell in row[0])
        line += line_ends
        begins = line_ends > 0
    return numbers


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
        cells, used = [], 0
        for cell in side.cells:
            if used > NOTEBOOK_CHARACTERS:
                break
            cells.append(cell)
            used += len(cell.text)
        rest = "" if len(cells) == side.tokens else f" · the first {len(cells):,} are shown"
        counts = f"{side.tokens:,} tokens, {view.characters / max(side.tokens, 1):.2f} characters per token"
        parts.append(
            f"<p><small>{name_html(side.name)}: {counts}{rest}</small></p>"
            f'<div class="text" dir="auto">{"".join(tokens_html(cells, 0, titles=True))}</div>'
        )
    return element("".join(parts))
