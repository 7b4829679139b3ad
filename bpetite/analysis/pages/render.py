"""Reports as pages, as elements of a notebook and as text: each report is drawn once, of blocks that know all forms."""
from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, is_dataclass
from datetime import UTC, datetime
from html import escape
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from platform import python_version
from typing import Any, Literal

from ... import __version__
from ...splitting.pattern.unicode_data import UNICODE
from ...tokenizer import Tokenizer
from ..scripts import escape as visible
from ..scripts import token_repr
from .markup import COLOURS, document, element, name_html

__all__ = [
    "Block",
    "Code",
    "Contents",
    "Fault",
    "Fine",
    "Form",
    "Raw",
    "Report",
    "Section",
    "Table",
    "bars",
    "default_names",
    "describe",
    "plots",
    "short_names",
]

#: A whole page, one element for somebody else's page, text for a terminal, or one line.
Form = Literal["page", "element", "text", "line"]

#: Characters of a cell that text shows, of names in plots and heads of columns, and files that a report names.
CELL, NAME, FILES = 72, 28, 5

#: Width of a plot.
WIDTH = 360


class Code(str):
    """Text in the letters of code, such as a token."""

    form = "<code>{}</code>"


class Fault(str):
    """Text with the mark of a fault."""

    form = '<span class="fault">{}</span>'


class Fine(str):
    """Text with a quiet mark."""

    form = '<span class="fine">{}</span>'


#: The content of a cell: plain text, or a list of lines, the message first.
Cell = str | list[str]


@dataclass(frozen=True)
class Table:
    """A table; nothing without rows. On a page it scrolls where it is wider, by keyboard too.

    Attributes:
        label: The name of the table, for text and for screen readers.
        heads: Heads of the columns; ``[]`` for a table of names and values.
        numbers: The number of first columns, after a column of names, that hold numbers.
        named: The first cell of a row names it.
        few: The rows that text shows at most; None for all.
        turned: A page has a row for each column of numbers: there may be many.
    """

    label: str
    heads: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    numbers: int = 0
    named: bool = False
    few: int | None = 12
    turned: bool = False

    def is_number(self, column: int) -> bool:
        return self.named <= column < self.numbers + self.named

    @property
    def html(self) -> str:
        if not self.rows:
            return ""
        heads = [
            name_html(short) if short == name else f'<span title="{escape(visible(name))}">{name_html(short)}</span>'
            for name, short in zip(self.heads, short_names(self.heads), strict=True)
        ]
        rows = [list(map(_cell, row)) for row in self.rows]
        if self.turned:
            heads, *rows = map(list, zip(heads, *rows, strict=True))
        numbers = (self.is_number(at) or (self.turned and at) for at in range(len(rows[0])))
        number = [' class="num"' if one else "" for one in numbers]
        top = "".join(f'<th scope="col"{number[at]}>{head}</th>' for at, head in enumerate(heads))
        lines = []
        for row in rows:
            cells = [f"<td{number[at]}>{cell}</td>" for at, cell in enumerate(row)]
            if self.named:
                cells[0] = f'<th scope="row">{row[0]}</th>'
            lines.append(f"<tr>{''.join(cells)}</tr>")
        facts = "" if heads and not (self.named and self.numbers) else ' class="facts"'
        return (
            f'<div class="scroll" role="group" tabindex="0" aria-label="{escape(visible(self.label), quote=True)}">'
            f"<table{facts}>{f'<thead><tr>{top}</tr></thead>' if top else ''}<tbody>{''.join(lines)}</tbody></table>"
            "</div>"
        )

    @property
    def text(self) -> str:
        """The table in columns, numbers to the right; further lines of a cell below their row."""
        if not self.rows:
            return ""
        heads = [short_names(self.heads)] if self.heads else []
        rows = [*heads, *self.rows[: self.few]]
        shown = [[cell if isinstance(cell, list) else [cell] for cell in row] for row in rows]
        columns = [[_short(row[at][0]) if self.numbers else row[at][0] for row in shown] for at in range(len(shown[0]))]
        lines = [self.label]
        for number, row in enumerate(shown):
            cells = []
            for at, column in enumerate(columns):
                width = max(map(len, column))
                cells.append(column[number].rjust(width) if self.is_number(at) else column[number].ljust(width))
            lines.append(f"  {'  '.join(cells)}".rstrip())
            lines += [f"      {more}" for cell in row for more in cell[1:]]
        if self.few is not None and len(self.rows) > self.few:
            lines.append(f"  and {len(self.rows) - self.few:,} more")
        return "\n".join(lines)


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


def _plain(value: Any) -> Any:
    """A value for JSON: a record as its attributes, a token as :func:`token_repr` writes it."""
    if isinstance(value, bytes):
        return token_repr(value)
    if is_dataclass(value):
        return {name: _plain(getattr(value, name)) for name in value.__dataclass_fields__}
    if isinstance(value, dict):
        return {_plain(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return _plain(value._asdict()) if hasattr(value, "_asdict") else list(map(_plain, value))
    return value


class Report:
    """A report that draws itself: a notebook shows it, and ``str()`` gives its text for a terminal."""

    def _contents(self) -> Contents:
        raise NotImplementedError

    def _drawn(self, form: Form) -> str:
        """The report in a form. Tokens, texts and names are escaped."""
        contents = self._contents()
        if form == "line":
            figures = (f", {value} {name}" for value, name in islice(contents.headline, 3))
            return f"{contents.title}: {contents.verdict}{''.join(figures)}"
        if form == "text":
            return "\n".join(visible(line) for line in _text(contents))
        top = _head(contents)
        drawn = ((title, [block.html for block in blocks]) for title, blocks in contents.sections)
        sections = [(escape(title), "\n".join(filter(None, bodies))) for title, bodies in drawn if any(bodies)]
        if form == "page":
            body = "\n".join(f"<h2>{title}</h2>\n{body}" for title, body in sections)
            return document(contents.title, f'<main class="report">\n{top}\n{body}\n</main>', styles=["report.css"])
        # A notebook has headings of its own, and shows the first section only; the others unfold.
        top = top.replace("<h1>", "<strong>").replace("</h1>", "</strong>")
        folded = [f"<details><summary>{title}</summary>\n{body}</details>" for title, body in sections[1:]]
        body = "\n".join([top, *(body for _, body in sections[:1]), *folded])
        return element(body, classes="report", styles=["report.css"])

    def page(self) -> str:
        """Return the page, one file of HTML that needs no network."""
        return self._drawn("page")

    def save(self, path: str | Path) -> None:
        """Write the page.

        Raises:
            OSError: The file cannot be written.
        """
        Path(path).write_text(self.page(), encoding="utf-8", newline="")

    def to_html(self) -> str:
        """Return one element with its own styles and without a script, to put into a page of yours."""
        return self._drawn("element")

    _repr_html_ = to_html

    def to_dict(self) -> dict[str, Any]:
        """Return the attributes, for JSON; a token is written as :func:`repr` has it."""
        return dict(_plain(self))

    def __str__(self) -> str:
        return self._drawn("text")

    def __repr__(self) -> str:
        return f"<{self._drawn('line')}>"


def _made() -> str:
    """The line that says when a report was drawn, and with which versions."""
    now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    return (
        f"Made {now} by bpetite {__version__}, Unicode {UNICODE}, regex {version('regex')}, "
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


def _cell(content: Cell) -> str:
    if isinstance(content, list):
        first, *rest = map(_cell, content)
        return f"{first}<br><small>{'<br>'.join(rest)}</small>" if rest else first
    return str(getattr(content, "form", "{}")).format(escape(visible(content)))


def _label(x: float, y: float, text: str, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}"{more}>{escape(text)}</text>'


def bars(
    groups: Sequence[tuple[str, Sequence[float]]], *, x: str, names: Sequence[str] = (), digits: int = 2
) -> str:
    """Draw horizontal bars, a group of them for each name at the left, in the order given; "" without a group.

    Args:
        groups: (name, a value for each bar of the group).
        x: The name of the values.
        names: The names of a group's bars, for a legend; each has a colour.
        digits: Digits after the point.
    """
    if not groups:
        return ""
    thick, gap, small = (8, 8, ' class="small"') if names else (16, 6, "")
    step = thick + bool(names)
    left = 16 + math.ceil(6.5 * max(len(group) for group, _ in groups))  # a letter is some 6.5 wide
    above = 16 * len(names) + 6
    line = step * max(len(names), 1) + gap
    height = above + line * len(groups) + 20
    highest = max(value for _, values in groups for value in values) or 1
    written = [[f"{value:,.{digits}f}" for value in values] for _, values in groups]
    room = WIDTH - left - 14 - 6 * max(len(one) for group in written for one in group)
    parts = []
    for number, name in enumerate(names):
        parts += [
            f'<rect x="{left}" y="{16 * number + 3}" width="10" height="10" rx="2" class="c{number % COLOURS}"/>',
            _label(left + 16, 16 * number + 12, name),
        ]
    told = []
    for number, (group, values) in enumerate(groups):
        top = above + number * line
        parts.append(_label(left - 8, top + (line - gap) / 2 + 4, group, ' text-anchor="end"'))
        for at, value in enumerate(values):
            length = max(room * value / highest, 1)
            level = top + at * step
            title = f"<title>{escape(names[at])}: {value:.3f}</title>" if names else ""
            parts += [
                f'<rect x="{left}" y="{level}" width="{length:.1f}" height="{thick}" rx="{thick // 5}" '
                f'class="c{at % COLOURS}">{title}</rect>',
                _label(left + length + 6, level + thick * 0.75, written[number][at], small),
            ]
        pairs = zip(names, written[number], strict=True) if names else ()
        told.append(f"{group} {', '.join(map(' '.join, pairs)) or written[number][0]}")
    parts.append(_label(left, height - 4, x))
    label = escape(f"{x}: {'; '.join(told)}", quote=True)
    return f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{label}">{"".join(parts)}</svg>'


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
            if block.text:
                yield ""
                yield from block.text.split("\n")


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


def default_names(*tokenizers: Tokenizer) -> tuple[str, ...]:
    """Names for one or two tokenizers that nobody named, such as "A (32,001 tokens, 99886462)"."""
    letters = "AB" if len(tokenizers) == 2 else ["tokenizer"]
    return tuple(
        f"{letter} ({len(one):,} tokens, {one.fingerprint()[:8]})"
        for letter, one in zip(letters, tokenizers, strict=True)
    )


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
