"""The comparison of tokenizers, drawn: tables and plots, over all texts and by group."""
from __future__ import annotations

from collections.abc import Callable, Iterator

from ..results import Comparison, Figures
from ..usage import ScriptUse
from . import plots
from .render import Block, Contents, Fine, Form, Raw, Table, counted, draw, draws, figure, short_name

__all__ = ["compare_page"]

#: Groups that are drawn, those with most text; the tables have them all.
GROUPS = 20

#: Figures of a group, and of all texts.
RATES: list[tuple[str, Callable[[ScriptUse], float]]] = [
    ("bytes per token", lambda use: use.bytes_per_token),
    ("tokens per word", lambda use: use.tokens_per_word),
    ("words in one token", lambda use: use.whole_word_share),
]

#: Figures of all texts alone.
MORE: list[tuple[str, Callable[[Figures], float]]] = [
    ("Renyi efficiency", lambda one: one.usage.renyi_efficiency),
    ("vocabulary used", lambda one: one.vocabulary_used),
]


@draws(Comparison)
def compare_page(found: Comparison, form: Form) -> str:
    """Draw a comparison. The page has no script and needs no network."""
    documents = sum(found.documents.values())
    headline = [(f"{one.total.bytes_per_token:.3f}", f"bytes per token, {one.name}") for one in found.tokenizers]
    headline += [
        (f"{documents:,}", "document" if documents == 1 else "documents"),
        (f"{max(one.total.bytes for one in found.tokenizers):,}", "bytes of text"),
    ]
    verdict = Fine(counted(len(found.tokenizers), "tokenizer"))
    return draw(Contents("Comparison of tokenizers", verdict, headline, found.files, _sections(found)), form)


def _sections(found: Comparison) -> Iterator[tuple[str, list[Block]]]:
    yield "All texts", [_overall(found), _plots(_drawn(found))]
    if found.groups:
        by = found.by or "group"
        yield f"By {by}", [_plots(_drawn_groups(found, by))]
        yield f"Figures by {by}", list(_group_tables(found, by))


def _overall(found: Comparison) -> Table:
    rows: list[list[str]] = [
        ["tokens in it", *(f"{one.tokens:,}" for one in found.tokenizers)],
        ["tokens", *(f"{one.total.tokens:,}" for one in found.tokenizers)],
        ["bytes per token", *(f"{one.total.bytes_per_token:.3f}" for one in found.tokenizers)],
        ["tokens per word", *(f"{one.total.tokens_per_word:.3f}" for one in found.tokenizers)],
        ["words in one token", *(f"{100 * one.total.whole_word_share:.1f} %" for one in found.tokenizers)],
        ["Renyi efficiency", *(f"{one.usage.renyi_efficiency:.4f}" for one in found.tokenizers)],
        ["vocabulary used", *(f"{100 * one.vocabulary_used:.1f} %" for one in found.tokenizers)],
        ["bytes of the longest token", *(f"{len(one.longest):,}" for one in found.tokenizers)],
    ]
    names = [short_name(one.name) for one in found.tokenizers]
    return Table("All texts", ["", *names], rows, numbers=len(names), named=True)


def _plots(figures: Iterator[str]) -> Raw:
    return Raw(f'<div class="plots">{"".join(figures)}</div>')


def _capital(name: str) -> str:
    return f"{name[:1].upper()}{name[1:]}"


def _drawn(found: Comparison) -> Iterator[str]:
    values = [(name, [of(one.total) for one in found.tokenizers]) for name, of in RATES]
    values += [(name, [of(one) for one in found.tokenizers]) for name, of in MORE]
    names = [short_name(one.name) for one in found.tokenizers]
    for name, column in values:
        groups = [(label, [value]) for label, value in zip(names, column, strict=True)]
        yield figure(plots.bars(groups, x=name, digits=3), _capital(name))


def _drawn_groups(found: Comparison, by: str) -> Iterator[str]:
    names = [short_name(one.name) for one in found.tokenizers]
    more = f", the {GROUPS} with most text" if len(found.groups) > GROUPS else ""
    for name, of in RATES:
        values = [(short_name(group), [of(use) for use in found.of_group(group)]) for group in found.groups[:GROUPS]]
        yield figure(plots.bars(values, x=name, names=names), f"{_capital(name)} by {by}{more}")


def _group_tables(found: Comparison, by: str) -> Iterator[Table]:
    for name, of in RATES:
        heads = [name, "documents", "bytes", *(short_name(one.name) for one in found.tokenizers)]
        rows = []
        for group in found.groups:
            uses = found.of_group(group)
            counts = [f"{found.documents[group]:,}", f"{uses[0].bytes:,}"]
            rows.append([group, *counts, *(f"{of(use):.3f}" for use in uses)])
        yield Table(f"{_capital(name)} by {by}", heads, rows, numbers=len(heads) - 1, named=True, few=len(rows))
