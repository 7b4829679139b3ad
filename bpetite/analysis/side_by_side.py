"""Several tokenizers on the same texts: how well each compresses, how evenly over languages, how much of it is used.

The figures are those that the literature compares tokenizers by, each with its definition and source below; the texts
are measured as in :mod:`bpetite.analysis.usage`, once for each tokenizer.
"""
from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from ..errors import short_repr
from ..tokenizer import Tokenizer
from .characters import show
from .provenance import Provenance
from .reach import reach
from .usage import BLOCK, Meter, ScriptUse, Usage, pieces

__all__ = ["DEFINITIONS", "Comparison", "Figures", "Texts", "compare", "gini"]

#: What a cost is counted per.
Unit = Literal["bytes", "characters", "documents"]
UNITS = ("bytes", "characters", "documents")

#: Texts, texts by group, or pairs of a group and a text.
Texts = Iterable[str] | Iterable[tuple[str, str]] | Mapping[str, Iterable[str]]

#: The group of texts that are in none.
ALL = "all"

#: Characters that are held over all groups until the largest of them is measured.
HELD = 8 * BLOCK

#: figure -> (what people call it, what it is and where that comes from).
DEFINITIONS: dict[str, tuple[str, str]] = {
    "bytes_per_token": ("bytes per token", "Bytes of text in UTF-8 over tokens: compression. Higher is better."),
    "fertility": (
        "tokens per word",
        "Fertility: how many tokens a word overlaps, on average, 1 at best. A word is a sequence of letters, marks and "
        "digits. P. Rust et al., How Good is Your Tokenizer?, ACL 2021 (there of words as annotated).",
    ),
    "whole_word_share": (
        "words in one token",
        "The share of words that lie in one token: 1 less the proportion of continued words (Rust et al. 2021).",
    ),
    "renyi_efficiency": (
        "Renyi efficiency",
        "Renyi entropy of order 2.5 of the token frequencies over its maximum, the logarithm of the vocabulary's size: "
        "1 where all tokens are equally frequent. V. Zouhar et al., Tokenization and the Noiseless Channel, ACL 2023.",
    ),
    "gini": (
        "Gini over groups",
        "Gini coefficient of the groups' costs, tokens over what --per says: the mean difference between two groups "
        "over twice the mean. 0 where all cost the same; at most 1 - 1/n of n groups. As in N. Foroutan et al., "
        "Parity-Aware Byte-Pair Encoding, 2025, whose texts are parallel and counted per document.",
    ),
    "vocabulary_used": ("vocabulary used", "The share of the tokens, without special ones, that occur in the texts."),
    "unreachable": ("unreachable", "Tokens that no text gives, see bpetite.analysis.reach."),
    "longest": ("longest token", "The token of most bytes, without special ones."),
}


def gini(costs: Sequence[float]) -> float:
    """Gini coefficient of some costs, 0 where all are equal: their mean absolute difference over twice their mean.

    Args:
        costs: Not negative; 0 is what none and only zeros give.

    Source: C. Gini, "Variabilita e mutabilita", 1912; of languages' tokenization costs, N. Foroutan et al.,
    "Parity-Aware Byte-Pair Encoding", 2025.

    >>> gini([1, 1, 1]), gini([1, 3]), gini([0, 0, 6])
    (0.0, 0.25, 0.6666666666666666)
    """
    n, total = len(costs), sum(costs)
    if not total:
        return 0.0
    weighted = sum((2 * place - n - 1) * cost for place, cost in enumerate(sorted(costs), 1))
    return weighted / (n * total)


@dataclass(repr=False)
class Figures:
    """What :func:`compare` found of one tokenizer.

    Attributes:
        name: What it is called.
        usage: Its counts over all texts.
        groups: group -> its counts there.
        tokens: How many tokens it has.
        longest: The longest token that is not special.
        unreachable: How many tokens no text gives.
        gini: The Gini coefficient of its costs over groups; None of fewer than two groups that have text.
    """

    name: str
    usage: Usage
    groups: dict[str, ScriptUse]
    tokens: int
    longest: bytes
    unreachable: int
    gini: float | None = None

    @property
    def total(self) -> ScriptUse:
        """The counts over all texts."""
        return self.usage.total

    @property
    def vocabulary_used(self) -> float:
        """The share of the tokens that are not special that occur."""
        ordinary = int(self.usage.ordinary.sum())
        return 1 - len(self.usage.never_used) / ordinary if ordinary else 0.0

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "name": self.name,
            "vocabulary": self.tokens,
            **_counts(self.usage.documents, self.total),
            "renyi_efficiency": round(self.usage.renyi_efficiency, 6),
            "gini": None if self.gini is None else round(self.gini, 6),
            "vocabulary_used": round(self.vocabulary_used, 6),
            "longest": show(self.longest),
            "longest_bytes": len(self.longest),
            "unreachable": self.unreachable,
        }

    def __repr__(self) -> str:
        total = self.total
        return (
            f"<Figures of {self.name}: {total.bytes_per_token:.3f} bytes per token, {total.tokens_per_word:.3f} tokens "
            f"per word>"
        )


def _counts(documents: int, use: ScriptUse) -> dict[str, Any]:
    return {
        "documents": documents,
        "bytes": use.bytes,
        "characters": use.characters,
        "words": use.words,
        "tokens": use.tokens,
        "bytes_per_token": round(use.bytes_per_token, 4),
        "fertility": round(use.tokens_per_word, 4),
        "whole_word_share": round(use.whole_word_share, 4),
    }


@dataclass(repr=False)
class Comparison:
    """What :func:`compare` found. A notebook shows it; :meth:`save` writes a page.

    Attributes:
        tokenizers: The figures of each, in the order given.
        documents: group -> how many texts, in the order in which they came.
        per: What a cost is counted per, for the Gini coefficient.
        by: What the groups are by, for people, such as "lang".
        provenance: What the tokenizers are called, the files that were read, date and versions.
    """

    tokenizers: list[Figures] = field(default_factory=list)
    documents: dict[str, int] = field(default_factory=dict)
    per: Unit = "bytes"
    by: str | None = None
    provenance: Provenance = field(default_factory=Provenance)

    @property
    def groups(self) -> list[str]:
        """The groups, the one with most bytes first; none where the texts have none."""
        if list(self.documents) == [ALL]:
            return []
        first = self.tokenizers[0].groups
        return sorted(self.documents, key=lambda group: -first[group].bytes if group in first else 0)

    def rows(self) -> list[dict[str, Any]]:
        """A row for each tokenizer over all texts, whose "group" is None, followed by one for each group."""
        made = []
        for one in self.tokenizers:
            figures = one.to_dict()
            made.append({"tokenizer": figures.pop("name"), "group": None, **figures})
            for group in self.groups:
                counts = _counts(self.documents[group], one.groups.get(group, ScriptUse()))
                made.append({"tokenizer": one.name, "group": group, "vocabulary": one.tokens, **counts})
        return made

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        tokenizers = []
        for one in self.tokenizers:
            groups = {
                group: _counts(self.documents[group], one.groups.get(group, ScriptUse())) for group in self.groups
            }
            tokenizers.append(one.to_dict() | {"groups": groups})
        return {
            "provenance": self.provenance.to_dict(),
            "by": self.by,
            "per": self.per,
            "tokenizers": tokenizers,
            "definitions": {name: text for name, (_, text) in DEFINITIONS.items()},
        }

    def to_csv(self) -> str:
        """:meth:`rows` as CSV (RFC 4180) with a head; what a group does not have is empty."""
        out = io.StringIO()
        rows = self.rows()
        writer = csv.DictWriter(out, list(rows[0]) if rows else ["tokenizer"], restval="")
        writer.writeheader()
        writer.writerows({name: "" if value is None else value for name, value in row.items()} for row in rows)
        return out.getvalue()

    def page(self) -> str:
        """The page: one file of HTML without a script, which needs no network."""
        from .pages.comparison_page import comparison_page

        return comparison_page(self)

    def save(self, path: str | Path) -> None:
        """Write the page.

        Raises:
            OSError: The file cannot be written.
        """
        Path(path).write_text(self.page(), encoding="utf-8", newline="")

    def to_html(self) -> str:
        """The comparison as one element with its own styles, to put into a page of yours; a notebook shows this."""
        from .pages.comparison_page import comparison_element

        return comparison_element(self)

    _repr_html_ = to_html

    def __str__(self) -> str:
        from .pages.comparison_text import comparison_text

        return comparison_text(self)

    def __repr__(self) -> str:
        rates = ", ".join(f"{one.name} {one.total.bytes_per_token:.3f}" for one in self.tokenizers)
        return f"<Comparison of {len(self.tokenizers)} tokenizers, bytes per token: {rates}>"


def compare(
    tokenizers: Mapping[str, Tokenizer] | Iterable[Tokenizer],
    texts: Texts,
    *,
    per: Unit = "bytes",
    by: str | None = None,
    files: Iterable[str] = (),
) -> Comparison:
    """Compare tokenizers by what they make of the same texts, read as ordinary text.

    Args:
        tokenizers: name -> tokenizer, or tokenizers, which are called A, B, and so on.
        texts: Texts; group -> its texts, such as "de" -> texts in German; or pairs (group, text), in any order.
        per: What the cost of a group is counted per, for the Gini coefficient: "bytes" or "characters"; "documents"
            where those of all groups say the same, as translations do.
        by: What the groups are by, for the report to say.
        files: The files that the texts come from, for the report to name; they are not read.

    Raises:
        ValueError: No tokenizer; a text has a byte that has no token in one of them.
        TypeError: A text is no str.

    >>> one, two = (Tokenizer.train("ab ab ab", size) for size in (257, 258))
    >>> found = compare({"one": one, "two": two}, {"x": ["ab ab"], "y": ["zz ab"]})
    >>> found
    <Comparison of 2 tokenizers, bytes per token: one 1.429, two 2.000>
    >>> [(figures.name, round(figures.gini, 3)) for figures in found.tokenizers]
    [('one', 0.071), ('two', 0.1)]
    """
    if per not in UNITS:
        raise ValueError(f"per is one of {', '.join(UNITS)}, not {short_repr(per)}")
    named = _named(tokenizers)
    meters = {name: Meter(tokenizer) for name, tokenizer in named.items()}
    groups: dict[str, dict[str, ScriptUse]] = {name: {} for name in named}
    documents: Counter[str] = Counter()
    for group, held in _gathered(texts, documents):
        for name, meter in meters.items():
            groups[name].setdefault(group, ScriptUse()).add(meter.add(held))
    found = Comparison([], dict(documents), per, by, Provenance(tuple(named), tuple(files)))
    for name, tokenizer in named.items():
        usage = meters[name].finished(sum(documents.values()))
        special = set(tokenizer.special_tokens.values())
        longest = max(
            (token for token_id, token in sorted(tokenizer.vocab.items()) if token_id not in special),
            key=len, default=b"",
        )  # fmt: skip
        unreachable = len(reach(tokenizer).unreachable)
        figures = Figures(name, usage, groups[name], len(tokenizer), longest, unreachable)
        sizes = {group: _size(use, documents[group], per) for group, use in groups[name].items()}
        costs = [use.tokens / sizes[group] for group, use in groups[name].items() if sizes[group]]
        figures.gini = gini(costs) if len(costs) > 1 else None
        found.tokenizers.append(figures)
    return found


def _size(use: ScriptUse, documents: int, per: Unit) -> int:
    return {"bytes": use.bytes, "characters": use.characters, "documents": documents}[per]


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


def _gathered(texts: Texts, documents: Counter[str]) -> Iterator[tuple[str, list[str]]]:
    """Texts of a group, about BLOCK characters at a time. OUT: how many texts each group has."""
    held: dict[str, list[str]] = {}
    sizes: Counter[str] = Counter()
    for group, text in _pairs(texts):
        documents[group] += 1
        for piece in pieces(text):
            held.setdefault(group, []).append(piece)
            sizes[group] += len(piece)
            full = group if sizes[group] >= BLOCK else None
            if full is None and sizes.total() >= HELD:
                full = sizes.most_common(1)[0][0]
            if full is not None:
                yield full, held.pop(full)
                del sizes[full]
    yield from held.items()
