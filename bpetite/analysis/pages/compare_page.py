"""The comparison of tokenizers, drawn: tables and plots, over all texts and by group."""
from __future__ import annotations

from collections.abc import Callable, Iterator

from ...errors import counted
from ..results import Comparison, Figures, Form, ScriptUse
from .plots import bars
from .render import Contents, Fine, Section, Table, draw, plots, short_names

__all__ = ["compare_page"]

#: Groups that are drawn, those with most text; the tables have them all.
GROUPS = 20

#: Figures of a group, and of all texts.
RATES: dict[str, Callable[[ScriptUse], float]] = {
    "bytes per token": lambda use: use.bytes_per_token,
    "tokens per word": lambda use: use.tokens_per_word,
    "words in one token": lambda use: use.whole_word_share,
}

#: Figures of all texts alone.
MORE: dict[str, Callable[[Figures], float]] = {
    "Renyi efficiency": lambda one: one.usage.renyi_efficiency,
    "vocabulary used": lambda one: one.usage.vocabulary_used,
}


def compare_page(report: Comparison, form: Form) -> str:
    """Draw a comparison. The page has no script and needs no network."""
    totals = [one.usage.total for one in report.tokenizers]
    documents = sum(report.documents.values())
    names = short_names([one.name for one in report.tokenizers])
    headline = [
        *((f"{use.bytes_per_token:.3f}", f"bytes per token, {name}") for name, use in zip(names, totals, strict=True)),
        (f"{documents:,}", "document" if documents == 1 else "documents"),
        (f"{max(use.bytes for use in totals):,}", "bytes of text"),
    ]
    verdict = Fine(counted(len(totals), "tokenizer"))
    return draw(Contents("Comparison of tokenizers", verdict, headline, report.files, _sections(report, names)), form)


Comparison._drawn = compare_page


def _sections(report: Comparison, names: list[str]) -> Iterator[Section]:
    values = {name: [of(one.usage.total) for one in report.tokenizers] for name, of in RATES.items()}
    values |= {name: [of(one) for one in report.tokenizers] for name, of in MORE.items()}
    rows = {
        "tokens in it": [f"{len(one.usage.ids):,}" for one in report.tokenizers],
        "tokens": [f"{one.usage.total.tokens:,}" for one in report.tokenizers],
        **{name: [f"{value:.3f}" for value in column] for name, column in values.items()},
        "bytes of the longest token": [f"{len(one.longest):,}" for one in report.tokenizers],
    }
    heads = ["", *(one.name for one in report.tokenizers)]
    overall = Table("All texts", heads, [[name, *row] for name, row in rows.items()], len(names), True, turned=True)
    drawn = []
    for name, column in values.items():
        groups = [(label, [value]) for label, value in zip(names, column, strict=True)]
        drawn.append((bars(groups, x=name, digits=3), name.capitalize()))
    yield "All texts", [overall, plots(drawn)]
    if not report.groups:
        return
    by = report.by or "group"
    more = f", the {GROUPS} with most text" if len(report.groups) > GROUPS else ""
    sizes = [
        [group, f"{report.documents[group]:,}", f"{report.tokenizers[0].groups[group].bytes:,}"]
        for group in report.groups
    ]
    drawn, tables = [], [_by_group(f"Texts by {by}", [by, "documents", "bytes"], sizes)]
    for name, of in RATES.items():
        columns = {group: [of(one.groups[group]) for one in report.tokenizers] for group in report.groups}
        groups = list(zip(short_names(report.groups), columns.values(), strict=True))
        drawn.append((bars(groups[:GROUPS], x=name, names=names), f"{name.capitalize()} by {by}{more}"))
        rows_of_groups = [[group, *(f"{value:.3f}" for value in column)] for group, column in columns.items()]
        heads = [name, *(one.name for one in report.tokenizers)]
        tables.append(_by_group(f"{name.capitalize()} by {by}", heads, rows_of_groups))
    yield f"By {by}", [plots(drawn)]
    yield f"Figures by {by}", tables


def _by_group(label: str, heads: list[str], rows: list[list[str]]) -> Table:
    return Table(label, heads, rows, len(heads) - 1, True, few=len(rows))
