"""Reports as pages, as elements of a notebook and as text: each report is drawn once, of blocks that know all forms."""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from importlib.metadata import version
from itertools import islice
from platform import python_version
from typing import Any

from ... import __version__
from ...splitting.pattern.unicode_version import unicode_version
from ..characters import escape as visible
from ..results import Form
from .markup import document, element, name_html

__all__ = [
    "Block",
    "Code",
    "Contents",
    "Fault",
    "Fine",
    "Raw",
    "Section",
    "Table",
    "describe",
    "draw",
    "plots",
    "short_names",
]

#: Characters of a cell that text shows, of names in plots and heads of columns, and files that a report names.
CELL, NAME, FILES = 72, 28, 5


class Code(str):
    """Text in the letters of code, such as a token."""

    __slots__ = ()


class Fault(str):
    """Text with the mark of a fault."""

    __slots__ = ()


class Fine(str):
    """Text with a quiet mark."""

    __slots__ = ()


#: The content of a cell: plain text, or a list of lines, the message first.
Cell = str | list[str]


@dataclass(frozen=True)
class Table:
    """A table; nothing without rows. On a page it scrolls where it is wider, by keyboard too.

    Attributes:
        label: The name of the table, for text and for screen readers.
        heads: Heads of the columns; ``[]`` for a table of names and values.
        rows: Cells as plain text.
        numbers: The number of first columns, after a column of names, that hold numbers.
        named: The first cell of a row names it.
        few: The rows that text shows at most.
        turned: A page has a row for each column of numbers: there may be many.
    """

    label: str
    heads: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    numbers: int = 0
    named: bool = False
    few: int = 12
    turned: bool = False

    def is_number(self, column: int) -> bool:
        return self.named <= column < self.numbers + self.named


@dataclass(frozen=True)
class Raw:
    """A block that is HTML already, with its text for a terminal; a plot has none."""

    html: str
    text: str = ""


Block = Table | Raw

#: The title of a section, and its blocks.
Section = tuple[str, Iterable[Block]]


@dataclass(frozen=True)
class Contents:
    """The contents of a report, as plain text.

    Attributes:
        title: Its title.
        verdict: The outcome in a few words, with its mark.
        headline: (figure, its name) of the figures that matter most.
        files: The files that the texts came from.
        sections: Its sections; one without a block that shows anything is left out.
    """

    title: str
    verdict: Fault | Fine
    headline: Iterable[tuple[str, str]]
    files: Sequence[str]
    sections: Iterable[Section]


def draw(contents: Contents, form: Form) -> str:
    """Draw the contents of a report. Tokens, texts and names are escaped."""
    if form == "line":
        figures = (f", {value} {name}" for value, name in islice(contents.headline, 3))
        return f"{contents.title}: {contents.verdict}{''.join(figures)}"
    if form == "text":
        return "\n".join(visible(line) for line in _text(contents))
    top = _head(contents)
    drawn = ((title, "\n".join(filter(None, map(_block, blocks)))) for title, blocks in contents.sections)
    sections = [(escape(title), body) for title, body in drawn if body]
    if form == "page":
        body = "\n".join(f"<h2>{title}</h2>\n{body}" for title, body in sections)
        return document(contents.title, f'<main class="report">\n{top}\n{body}\n</main>', styles=["report.css"])
    # A notebook has headings of its own, and shows the first section only; the others unfold.
    top = top.replace("<h1>", "<strong>").replace("</h1>", "</strong>")
    folded = [f"<details><summary>{title}</summary>\n{body}</details>" for title, body in sections[1:]]
    body = "\n".join([top, *(body for _, body in sections[:1]), *folded])
    return element(body, classes="report", styles=["report.css"])


def _made() -> str:
    """The line that says when a report was drawn, and with which versions."""
    now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    return (
        f"Made {now} by bpetite {__version__}, regex {version('regex')} (Unicode {unicode_version()}), "
        f"Python {python_version()}."
    )


def _files(files: Sequence[str]) -> str:
    more = len(files) - FILES
    return ", ".join(files[:FILES]) + (f" and {more:,} more" if more > 0 else "")


def _head(contents: Contents) -> str:
    tiles = "".join(
        f"<div><dt>{name_html(name)}</dt><dd>{escape(visible(value))}</dd></div>" for value, name in contents.headline
    )
    files = f"<br>Texts: {name_html(_files(contents.files))}" if contents.files else ""
    return (
        f'<div class="title"><h1>{name_html(contents.title)}</h1> {_cell(contents.verdict)}</div>\n'
        f'<dl class="tiles">{tiles}</dl>\n<p class="made">{escape(_made())}{files}</p>'
    )


def _block(block: Block) -> str:
    return block.html if isinstance(block, Raw) else _table(block)


def _cell(content: Cell) -> str:
    if isinstance(content, list):
        first, *rest = map(_cell, content)
        return f"{first}<br><small>{'<br>'.join(rest)}</small>" if rest else first
    text = escape(visible(content))
    if isinstance(content, Code):
        return f"<code>{text}</code>"
    mark = "fault" if isinstance(content, Fault) else "fine" if isinstance(content, Fine) else ""
    return f'<span class="{mark}">{text}</span>' if mark else text


def _table(table: Table) -> str:
    if not table.rows:
        return ""
    heads = [
        name_html(short) if short == name else f'<span title="{escape(visible(name))}">{name_html(short)}</span>'
        for name, short in zip(table.heads, short_names(table.heads), strict=True)
    ]
    rows = [list(map(_cell, row)) for row in table.rows]
    if table.turned:
        heads, *rows = map(list, zip(heads, *rows, strict=True))
    numbers = (table.is_number(at) or (table.turned and at) for at in range(len(rows[0])))
    number = [' class="num"' if one else "" for one in numbers]
    top = "".join(f'<th scope="col"{number[at]}>{head}</th>' for at, head in enumerate(heads))
    lines = []
    for row in rows:
        cells = [f"<td{number[at]}>{cell}</td>" for at, cell in enumerate(row)]
        if table.named:
            cells[0] = f'<th scope="row">{row[0]}</th>'
        lines.append(f"<tr>{''.join(cells)}</tr>")
    facts = "" if heads and not (table.named and table.numbers) else ' class="facts"'
    return (
        f'<div class="scroll" role="group" tabindex="0" aria-label="{escape(visible(table.label), quote=True)}">'
        f"<table{facts}>{f'<thead><tr>{top}</tr></thead>' if top else ''}<tbody>{''.join(lines)}</tbody></table></div>"
    )


def plots(drawn: Iterable[tuple[str, str]]) -> Raw:
    """Return a block of plots, each with its caption; without those that are empty."""
    figures = [f"<figure>{plot}<figcaption>{escape(name)}</figcaption></figure>" for plot, name in drawn if plot]
    return Raw(f'<div class="plots">{"".join(figures)}</div>')


def _text(contents: Contents) -> Iterator[str]:
    yield f"{contents.title}: {contents.verdict}"
    for value, name in contents.headline:
        yield f"  {value:>14}  {name}"
    if contents.files:
        yield f"  Texts: {_files(contents.files)}"
    yield f"  {_made()}"
    for _, blocks in contents.sections:
        for block in blocks:
            lines = block.text.split("\n") if isinstance(block, Raw) else _text_table(block)
            if any(lines):
                yield ""
                yield from lines


def _text_table(table: Table) -> list[str]:
    """A table in columns, numbers to the right; further lines of a cell below their row."""
    if not table.rows:
        return []
    heads = [short_names(table.heads)] if table.heads else []
    shown = [[cell if isinstance(cell, list) else [cell] for cell in row] for row in [*heads, *table.rows[: table.few]]]
    columns = [[_short(row[at][0]) if table.numbers else row[at][0] for row in shown] for at in range(len(shown[0]))]
    lines = [table.label]
    for number, row in enumerate(shown):
        cells = []
        for at, column in enumerate(columns):
            width = max(map(len, column))
            cells.append(column[number].rjust(width) if table.is_number(at) else column[number].ljust(width))
        lines.append(f"  {'  '.join(cells)}".rstrip())
        lines += [f"      {more}" for cell in row for more in cell[1:]]
    if len(table.rows) > table.few:
        lines.append(f"  and {len(table.rows) - table.few:,} more")
    return lines


def _short(text: str) -> str:
    return text if len(text) <= CELL or not isinstance(text, Code) else f"{text[: CELL - 3]}..."


def short_names(names: Sequence[str]) -> list[str]:
    """Names for plots and heads of columns: of paths the last part that no other has, its end where it is long.

    >>> short_names(["gpt2", "runs/a/tok.json", "runs/b/tok.json", "a-folder-with-a-very-long-name/tok.json"])
    ['gpt2', 'a', 'b', '...der-with-a-very-long-name']
    """
    parts = [name.split("/") for name in names]
    taken = Counter(part for path in parts for part in set(path))
    told = [next((part for part in reversed(path) if taken[part] == 1), "/".join(path)) for path in parts]
    short = [name if len(name) <= NAME else f"...{name[3 - NAME :]}" for name in told]
    return short if len(set(short)) == len(set(told)) else told


def describe(value: Any) -> str:
    """Return a value of a report in one line.

    >>> describe({"id": 5, "token": "'a'"}), describe(None), describe(["a", "b"]), describe({})
    ("id 5, token 'a'", 'none', 'a, b', 'none')
    """
    if isinstance(value, dict):
        return ", ".join(f"{key} {describe(one)}" for key, one in value.items()) or "none"
    if isinstance(value, list | tuple):
        return ", ".join(describe(one) for one in value) or "none"
    return "none" if value is None else str(value)
