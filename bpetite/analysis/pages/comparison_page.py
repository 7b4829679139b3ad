"""Several tokenizers on the same texts as HTML: tables and plots, over all texts and by group."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from html import escape

from ..characters import show
from ..provenance import counted
from ..side_by_side import DEFINITIONS, Comparison, Figures
from ..usage import ScriptUse
from . import plots
from .blocks import Section, cell, code, figure, head, report_element, report_page, table

__all__ = ["comparison_element", "comparison_page"]

#: Groups that are drawn, those with most text; the tables have them all.
GROUPS = 20

#: What is drawn and listed of a group.
RATES: list[tuple[str, Callable[[ScriptUse], float]]] = [
    ("bytes_per_token", lambda use: use.bytes_per_token),
    ("fertility", lambda use: use.tokens_per_word),
    ("whole_word_share", lambda use: use.whole_word_share),
]


def comparison_page(found: Comparison) -> str:
    """The page of a comparison. Names and tokens are escaped; the page has no script and needs no network."""
    return report_page("Tokenizers side by side", _head(found), _sections(found))


def comparison_element(found: Comparison) -> str:
    """The same as one element with its own styles, for a notebook."""
    return report_element(_head(found), _sections(found))


def _head(found: Comparison) -> str:
    documents = sum(found.documents.values())
    headline = [
        (f"{one.total.bytes_per_token:.3f}", f"bytes per token, {one.name}") for one in found.tokenizers
    ]
    headline += [
        (f"{documents:,}", "document" if documents == 1 else "documents"),
        (f"{max(one.total.bytes for one in found.tokenizers):,}", "bytes of text"),
    ]
    verdict = counted(len(found.tokenizers), "tokenizer")
    return head("Tokenizers side by side", verdict, True, headline, found.provenance)


def _name(figure_of: str) -> str:
    return DEFINITIONS[figure_of][0]


def _sections(found: Comparison) -> Iterator[Section]:
    yield "All texts", _overall(found)
    if found.groups:
        by = f"By {found.by}" if found.by else "By group"
        yield by, _drawn_groups(found)
        yield "Figures by group", _group_tables(found, found.by or "group")
    rows = ([cell(name), escape(text)] for name, text in DEFINITIONS.values())
    yield "What the figures are", table("Definitions", ["figure", "definition"], rows, named=True)


def _overall(found: Comparison) -> str:
    heads = [
        "tokenizer", "tokens in it", "tokens", *(_name(one) for one, _ in RATES), _name("renyi_efficiency"),
        f"{_name('gini')} (per {found.per[:-1]})", _name("vocabulary_used"), _name("unreachable"), _name("longest"),
    ]  # fmt: skip
    rows = []
    for one in found.tokenizers:
        total = one.total
        rows.append([
            cell(one.name), f"{one.tokens:,}", f"{total.tokens:,}", f"{total.bytes_per_token:.3f}",
            f"{total.tokens_per_word:.3f}", f"{100 * total.whole_word_share:.1f} %",
            f"{one.usage.renyi_efficiency:.4f}", "" if one.gini is None else f"{one.gini:.4f}",
            f"{100 * one.vocabulary_used:.1f} %", f"{one.unreachable:,}",
            f"{code(_short(show(one.longest)))} {len(one.longest):,} bytes",
        ])  # fmt: skip
    drawings: list[tuple[str, Callable[[Figures], float]]] = [
        ("bytes_per_token", lambda one: one.total.bytes_per_token),
        ("fertility", lambda one: one.total.tokens_per_word),
        ("whole_word_share", lambda one: one.total.whole_word_share),
        ("renyi_efficiency", lambda one: one.usage.renyi_efficiency),
        ("vocabulary_used", lambda one: one.vocabulary_used),
    ]
    if any(one.gini is not None for one in found.tokenizers):
        drawings.append(("gini", lambda one: one.gini or 0.0))
    drawn = (
        figure(
            plots.bars([(_short(one.name), of(one)) for one in found.tokenizers], x=_name(name), digits=3),
            _name(name)[:1].upper() + _name(name)[1:],
        )
        for name, of in drawings
    )
    return f'{table("All texts", heads, rows, numbers=9, named=True)}\n<div class="plots">{"".join(drawn)}</div>'


def _drawn_groups(found: Comparison) -> str:
    names = [_short(one.name) for one in found.tokenizers]
    groups = found.groups[:GROUPS]
    more = f", the {GROUPS} with most text" if len(found.groups) > GROUPS else ""
    drawn = (
        figure(
            plots.grouped_bars(
                names,
                [
                    (_short(group), [of(one.groups.get(group, ScriptUse())) for one in found.tokenizers])
                    for group in groups
                ],
                x=_name(name),
            ),
            f"{_name(name)[:1].upper()}{_name(name)[1:]} by {found.by or 'group'}{more}",
        )
        for name, of in RATES
    )
    return f'<div class="plots">{"".join(drawn)}</div>'


def _group_tables(found: Comparison, by: str) -> str:
    parts = []
    for name, of in RATES:
        heads = [f"{_name(name)}: {by}", "documents", "bytes", *(one.name for one in found.tokenizers)]
        rows = []
        for group in found.groups:
            uses = [one.groups.get(group, ScriptUse()) for one in found.tokenizers]
            counts = [f"{found.documents[group]:,}", f"{uses[0].bytes:,}"]
            rows.append([cell(group), *counts, *(f"{of(use):.3f}" for use in uses)])
        parts.append(table(f"{_name(name)} by {by}", heads, rows, numbers=len(heads) - 1, named=True))
    return "\n".join(parts)


def _short(text: str) -> str:
    """A name that fits into a plot."""
    return text if len(text) <= 28 else f"{text[:25]}..."
