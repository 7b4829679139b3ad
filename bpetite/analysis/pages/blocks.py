"""The blocks that pages of reports are made of: a head, headline figures, sections, tables, plots with captions."""
from __future__ import annotations

from collections.abc import Iterable
from html import escape

from ..characters import escape as visible
from ..provenance import Provenance
from .markup import document, element, name_html

__all__ = ["cell", "code", "figure", "head", "report_element", "report_page", "table"]

#: A title, and the HTML below it.
Section = tuple[str, str]


def cell(text: str) -> str:
    """Plain text for a cell of a table."""
    return escape(visible(text))


def code(text: str) -> str:
    """Plain text in the letters of code, such as a token."""
    return f"<code>{escape(visible(text))}</code>"


def table(label: str, heads: list[str], rows: Iterable[list[str]], *, numbers: int = 0, named: bool = False) -> str:
    """A table; "" without rows. What is wider than the page scrolls, by keyboard too.

    Args:
        label: What screen readers call the table; plain text.
        heads: Heads of the columns, plain text; ``[]`` for a table of names and values.
        rows: Cells as HTML.
        numbers: How many of the first columns, after that of names, are numbers.
        named: The first cell of a row names it.
    """
    body = []
    for row in rows:
        cells = []
        for at, content in enumerate(row):
            tag, scope = ("th", ' scope="row"') if named and not at else ("td", "")
            cells.append(f"<{tag}{scope}{_number(named <= at < numbers + named)}>{content}</{tag}>")
        body.append(f"<tr>{''.join(cells)}</tr>")
    if not body:
        return ""
    top = "".join(
        f'<th scope="col"{_number(named <= at < numbers + named)}>{escape(one)}</th>' for at, one in enumerate(heads)
    )
    top = f"<thead><tr>{top}</tr></thead>" if heads else ""
    facts = "" if heads else ' class="facts"'
    return (
        f'<div class="scroll" role="group" tabindex="0" aria-label="{escape(visible(label), quote=True)}">'
        f"<table{facts}>{top}<tbody>{''.join(body)}</tbody></table></div>"
    )


def _number(yes: bool) -> str:
    return ' class="num"' if yes else ""


def figure(drawing: str, caption: str) -> str:
    """A plot with its caption; "" without a plot."""
    return f"<figure>{drawing}<figcaption>{escape(caption)}</figcaption></figure>" if drawing else ""


def head(title: str, verdict: str, good: bool, headline: Iterable[tuple[str, str]], provenance: Provenance) -> str:
    """What a report begins with: its title and verdict, the figures that matter most, and where it comes from.

    Args:
        title: Plain text, as everything here.
        verdict: The outcome in a few words.
        good: Whether it is a good one.
        headline: (figure, what it counts).
    """
    tiles = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(visible(value))}</dd></div>" for value, name in headline
    )
    files = f"<br>Texts: {name_html(provenance.read_from())}" if provenance.files else ""
    mark = f'<span class="{"fine" if good else "fault"}">{escape(verdict)}</span>'
    return (
        f'<div class="title"><h1>{name_html(title)}</h1> {mark}</div>\n<dl class="tiles">{tiles}</dl>\n'
        f'<p class="made">{cell(_sentence(provenance.made))}{files}</p>'
    )


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def report_page(title: str, top: str, sections: Iterable[Section]) -> str:
    """The page of a report; it has no script."""
    parts = (f"<h2>{escape(name)}</h2>\n{content}" for name, content in sections if content)
    body = f'<main class="report">\n{top}\n' + "\n".join(parts) + "\n</main>"
    return document(title, body, styles=["report.css"])


def report_element(top: str, sections: Iterable[Section]) -> str:
    """The same for a notebook: all sections after the first are folded."""
    first, *rest = [section for section in sections if section[1]] or [("", "")]
    folded = (f"<details><summary>{escape(name)}</summary>\n{content}</details>" for name, content in rest)
    # A notebook has its own headings: these would be among them.
    top = top.replace("<h1>", "<strong>").replace("</h1>", "</strong>")
    return element(f"{top}\n{first[1]}\n" + "\n".join(folded), classes="report", styles=["report.css"])
