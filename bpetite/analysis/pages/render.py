"""Reports as pages, as elements of a notebook and as text: each report is drawn once, of blocks that know all forms."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from importlib.metadata import version
from platform import python_version
from typing import Any, Literal, TypeVar

from ... import __version__
from ...splitting.pattern.unicode_version import unicode_version
from ..characters import escape as visible
from .markup import document, element, name_html

__all__ = [
    "Block",
    "Code",
    "Contents",
    "Fault",
    "Fine",
    "Form",
    "Raw",
    "Table",
    "counted",
    "describe",
    "draw",
    "draws",
    "figure",
    "render",
    "short_name",
]

#: A whole page, one element for somebody else's page, or text for a terminal.
Form = Literal["page", "element", "text"]

Drawing = TypeVar("Drawing", bound=Callable[[Any, Form], str])

#: Kind of report -> the function that draws it.
_DRAWINGS: dict[type, Callable[[Any, Form], str]] = {}

#: Characters of a cell that text shows, of names in plots and heads of columns, and files that a report names.
CELL, NAME, FILES = 72, 28, 5


def draws(kind: type) -> Callable[[Drawing], Drawing]:
    """Register the function that draws a kind of report."""

    def register(drawing: Drawing) -> Drawing:
        _DRAWINGS[kind] = drawing
        return drawing

    return register


def render(report: object, form: Form) -> str:
    """Draw a report. Tokens, texts and names are escaped."""
    return _DRAWINGS[type(report)](report, form)


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
        numbers: How many of the first columns, after a column of names, are numbers.
        named: The first cell of a row names it.
        few: How many rows text shows.
    """

    label: str
    heads: Sequence[str]
    rows: Iterable[Sequence[Cell]]
    numbers: int = 0
    named: bool = False
    few: int = 12


@dataclass(frozen=True)
class Raw:
    """A block that is HTML already, with its text for a terminal; a plot has none."""

    html: str
    text: str = ""


Block = Table | Raw


@dataclass(frozen=True)
class Contents:
    """The contents of a report, as plain text.

    Attributes:
        title: Its title.
        verdict: The outcome in a few words, with its mark.
        headline: (figure, its name) of the figures that matter most.
        files: The files that the texts came from.
        sections: (title, blocks).
    """

    title: str
    verdict: Fault | Fine
    headline: Iterable[tuple[str, str]]
    files: Sequence[str]
    sections: Iterable[tuple[str, Iterable[Block]]]


def draw(contents: Contents, form: Form) -> str:
    """Draw the contents of a report."""
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


def made() -> str:
    """Return the line that says when a report was drawn, and with which versions."""
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
        f'<dl class="tiles">{tiles}</dl>\n<p class="made">{escape(made())}{files}</p>'
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
    def number(at: int) -> str:
        return ' class="num"' if table.named <= at < table.numbers + table.named else ""

    body = []
    for row in table.rows:
        cells = []
        for at, content in enumerate(row):
            tag, scope = ("th", ' scope="row"') if table.named and not at else ("td", "")
            cells.append(f"<{tag}{scope}{number(at)}>{_cell(content)}</{tag}>")
        body.append(f"<tr>{''.join(cells)}</tr>")
    if not body:
        return ""
    top = "".join(f'<th scope="col"{number(at)}>{name_html(one)}</th>' for at, one in enumerate(table.heads))
    top = f"<thead><tr>{top}</tr></thead>" if table.heads else ""
    facts = "" if table.heads and not (table.named and table.numbers) else ' class="facts"'
    return (
        f'<div class="scroll" role="group" tabindex="0" aria-label="{escape(visible(table.label), quote=True)}">'
        f"<table{facts}>{top}<tbody>{''.join(body)}</tbody></table></div>"
    )


def figure(drawing: str, caption: str) -> str:
    """Return a plot with its caption; "" without a plot."""
    return f"<figure>{drawing}<figcaption>{escape(caption)}</figcaption></figure>" if drawing else ""


def _text(contents: Contents) -> Iterator[str]:
    yield f"{contents.title}: {contents.verdict}"
    for value, name in contents.headline:
        yield f"  {value:>14}  {name}"
    if contents.files:
        yield f"  Texts: {_files(contents.files)}"
    yield f"  {made()}"
    for _, blocks in contents.sections:
        for block in blocks:
            lines = block.text.split("\n") if isinstance(block, Raw) else _text_table(block)
            if any(lines):
                yield ""
                yield from lines


def _text_table(table: Table) -> list[str]:
    """A table in columns, numbers to the right; further lines of a cell below their row."""
    rows = [[cell if isinstance(cell, list) else [cell] for cell in row] for row in table.rows]
    if not rows:
        return []
    shown: list[list[list[str]]] = [[[short_name(head)] for head in table.heads]] if table.heads else []
    shown += rows[: table.few]
    columns = [[_short(row[at][0]) if table.numbers else row[at][0] for row in shown] for at in range(len(shown[0]))]
    lines = [table.label]
    for number, row in enumerate(shown):
        cells = []
        for at, column in enumerate(columns):
            width = max(map(len, column))
            is_number = table.named <= at < table.numbers + table.named
            cells.append(column[number].rjust(width) if is_number else column[number].ljust(width))
        lines.append(f"  {'  '.join(cells)}".rstrip())
        lines += [f"      {more}" for cell in row for more in cell[1:]]
    if len(rows) > table.few:
        lines.append(f"  and {len(rows) - table.few:,} more")
    return lines


def _short(text: str) -> str:
    return text if len(text) <= CELL or not isinstance(text, Code) else f"{text[: CELL - 3]}..."


def short_name(name: str) -> str:
    """Return a name that fits into a plot: the end of a path tells it from others.

    >>> short_name("gpt2"), short_name("/data/tokenizers/2026-01/english/tokenizer.json")
    ('gpt2', '...01/english/tokenizer.json')
    """
    return name if len(name) <= NAME else f"...{name[3 - NAME :]}"


def counted(number: int, noun: str) -> str:
    """Return a number of things in words.

    >>> counted(0, "fault"), counted(1, "fault"), counted(1200, "fault")
    ('no faults', '1 fault', '1,200 faults')
    """
    return f"{f'{number:,}' if number else 'no'} {noun}{'' if number == 1 else 's'}"


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
