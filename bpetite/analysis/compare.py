"""Several tokenizers on the same texts: compression, words cut into tokens, and the share of the vocabulary in use.

The texts are measured as in :mod:`bpetite.analysis.usage`, once for each tokenizer.
"""
from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import counted, short_repr
from ..tokenizer import Tokenizer
from .pages.render import Contents, Fine, Report, Section, Table, bars, plots, short_names
from .scripts import token_repr
from .usage import ALL, Meter, ScriptUse, Usage, blocks

__all__ = ["Comparison", "Figures", "Texts", "compare"]

#: Texts, texts by group, or pairs of a group and a text.
Texts = Iterable[str] | Iterable[tuple[str, str]] | Mapping[str, Iterable[str]]

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


@dataclass(repr=False)
class Figures:
    """The figures of one tokenizer in a :class:`Comparison`.

    Attributes:
        name: The name of the tokenizer.
        usage: Its counts over all texts.
        groups: group -> its counts there.
        longest: The longest token that is not special.
    """

    name: str
    usage: Usage
    groups: dict[str, ScriptUse]
    longest: bytes

    def __repr__(self) -> str:
        total = self.usage.total
        rates = f"{total.bytes_per_token:.3f} bytes per token, {total.tokens_per_word:.3f} tokens per word"
        return f"<Figures of {self.name}: {rates}>"


@dataclass(repr=False)
class Comparison(Report):
    """The result of :func:`compare`. A notebook shows it; :meth:`save` writes a page.

    Attributes:
        tokenizers: The figures of each, in the order given.
        documents: group -> number of texts, in the order in which they came.
        by: The name of the grouping, for people, such as "lang".
        files: The files that the texts came from.
    """

    tokenizers: list[Figures]
    documents: dict[str, int]
    by: str | None = None
    files: tuple[str, ...] = ()

    @property
    def groups(self) -> list[str]:
        """The groups, the one with most bytes first; none where the texts have none."""
        first = self.tokenizers[0].groups
        return [] if list(self.documents) == [ALL] else sorted(first, key=lambda group: -first[group].bytes)

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each tokenizer over all texts, whose "group" is None, followed by one for each group."""
        made = []
        for one in self.tokenizers:
            size = {"vocabulary": len(one.usage.ids)}
            longest = {"longest": token_repr(one.longest), "longest_bytes": len(one.longest)}
            made.append({"tokenizer": one.name, "group": None, **size, **one.usage.figures(), **longest})
            for group in self.groups:
                counts = {"documents": self.documents[group], **one.groups[group].to_dict()}
                made.append({"tokenizer": one.name, "group": group, **size, **counts})
        return made

    def to_dict(self) -> dict[str, Any]:
        """Return everything, for JSON."""
        return {"by": self.by, "files": list(self.files), "rows": self.rows()}

    def to_csv(self) -> str:
        """Return :meth:`rows` as CSV (RFC 4180) with a head; figures that a group does not have are empty."""
        out = io.StringIO()
        rows = self.rows()
        writer = csv.DictWriter(out, list(rows[0]), restval="")
        writer.writeheader()
        writer.writerows(rows)
        return out.getvalue()

    def _contents(self) -> Contents:
        totals = [one.usage.total for one in self.tokenizers]
        documents = sum(self.documents.values())
        names = short_names([one.name for one in self.tokenizers])
        headline = [
            *((f"{use.bytes_per_token:.3f}", f"bytes per token, {name}") for name, use in zip(names, totals)),
            (f"{documents:,}", "document" if documents == 1 else "documents"),
            (f"{max(use.bytes for use in totals):,}", "bytes of text"),
        ]
        verdict = Fine(counted(len(totals), "tokenizer"))
        return Contents("Comparison of tokenizers", verdict, headline, self.files, _sections(self, names))


def compare(
    tokenizers: Mapping[str, Tokenizer] | Iterable[Tokenizer],
    texts: Texts,
    *,
    by: str | None = None,
    files: Iterable[str] = (),
) -> Comparison:
    """Compare tokenizers on the same texts, read as ordinary text.

    Args:
        tokenizers: name -> tokenizer, or tokenizers, which are called A, B, and so on.
        texts: Texts; group -> its texts, such as "de" -> texts in German; or pairs (group, text), in any order.
        by: The name of the grouping, for the report to say.
        files: The files that the texts come from, for the report to name; they are not read.

    Raises:
        ValueError: No tokenizer; a text has a byte that has no token in one of them.
        TypeError: A text is no str.

    >>> one, two = (Tokenizer.train("ab ab ab", size) for size in (257, 258))
    >>> found = compare({"one": one, "two": two}, {"x": ["ab ab"], "y": ["zz ab"]})
    >>> found
    <Comparison of tokenizers: 2 tokenizers, 1.429 bytes per token, one, 2.000 bytes per token, two, 2 documents>
    >>> {group: round(use.bytes_per_token, 3) for group, use in found.tokenizers[0].groups.items()}
    {'x': 1.667, 'y': 1.25}
    """
    named = _named(tokenizers)
    meters = {name: Meter(tokenizer) for name, tokenizer in named.items()}
    groups: dict[str, dict[str, ScriptUse]] = {name: {} for name in named}
    documents: Counter[str] = Counter()
    for group, held in blocks(_pairs(texts), documents):
        for name, meter in meters.items():
            groups[name].setdefault(group, ScriptUse()).add(meter.add(held))
    figures = []
    for name, tokenizer in named.items():
        usage, special = meters[name].finished(documents.total()), set(tokenizer.special_tokens.values())
        ordinary = (token for token_id, token in sorted(tokenizer.vocab.items()) if token_id not in special)
        figures.append(Figures(name, usage, groups[name], max(ordinary, key=len, default=b"")))
    return Comparison(figures, dict(documents), by, tuple(files))


def _named(tokenizers: Mapping[str, Tokenizer] | Iterable[Tokenizer]) -> dict[str, Tokenizer]:
    if isinstance(tokenizers, Tokenizer):
        raise TypeError("tokenizers are several, not one: use [tokenizer]")
    if isinstance(tokenizers, Mapping):
        named = dict(tokenizers)
    else:
        given = list(tokenizers)
        letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ" if len(given) <= 26 else [f"T{at}" for at in range(1, len(given) + 1)]
        named = dict(zip(letters, given, strict=False))
    for name, one in named.items():
        if not isinstance(one, Tokenizer):
            raise TypeError(f"{name}: {short_repr(one)} is no Tokenizer; Tokenizer.load takes a file or a name")
    if not named:
        raise ValueError("no tokenizer to compare")
    return named


def _pairs(texts: Texts) -> Iterator[tuple[str, str]]:
    if isinstance(texts, str | bytes):
        raise TypeError(f"texts is an iterable of texts, not one {type(texts).__name__}: use [text]")
    given: Iterable[Any] = texts
    if isinstance(texts, Mapping):
        for group, some in texts.items():
            if isinstance(some, str | bytes):
                raise TypeError(f"texts[{group!r}] is an iterable of texts, not one {type(some).__name__}: use [text]")
        given = ((group, text) for group, some in texts.items() for text in some)
    for one in given:
        group, text = one if isinstance(one, tuple) and len(one) == 2 else (ALL, one)
        if not isinstance(text, str) or not isinstance(group, str):
            raise TypeError(f"a text is a str, or a pair of a group and a text, not {short_repr(one)}")
        yield group, text


# The page


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
    drawn, tables = [], [Table(f"Texts by {by}", [by, "documents", "bytes"], sizes, 2, True, few=None)]
    for name, of in RATES.items():
        columns = {group: [of(one.groups[group]) for one in report.tokenizers] for group in report.groups}
        groups = list(zip(short_names(report.groups), columns.values(), strict=True))
        drawn.append((bars(groups[:GROUPS], x=name, names=names), f"{name.capitalize()} by {by}{more}"))
        rows_of_groups = [[group, *(f"{value:.3f}" for value in column)] for group, column in columns.items()]
        heads = [name, *(one.name for one in report.tokenizers)]
        tables.append(Table(f"{name.capitalize()} by {by}", heads, rows_of_groups, len(heads) - 1, True, few=None))
    yield f"By {by}", [plots(drawn)]
    yield f"Figures by {by}", tables
