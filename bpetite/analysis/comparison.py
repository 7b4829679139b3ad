"""The result of a comparison, and how it is shown."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from ..errors import counted
from .cells import Cell
from .escapes import token_repr
from .report import Block, Code, Contents, Report, Section, Table, Tokens, describe, plain, short_names
from .usage import TextCounts, Usage

#: Tokens that a page shows of each difference between two vocabularies, and of a place on each side; text shows fewer.
TOKENS, FEW = 40, 8

#: Characters shown of a place.
CHARACTERS = 200

#: Figures of a group, and of all texts.
RATES: dict[str, Callable[[TextCounts], float]] = {
    "bytes per token": lambda use: use.bytes_per_token,
    "tokens per word": lambda use: use.tokens_per_word,
    "words in one token": lambda use: use.whole_word_share,
}


@dataclass(frozen=True)
class Place:
    """A range of text that two tokenizers encode differently.

    Attributes:
        document: Index of the text.
        offset: Position of its first character there.
        cut: True when the tokens' bytes differ; False for one token under two ids.
        before, text, after: The range and its surroundings.
        a, b: (id, bytes) of the tokens of each tokenizer.
    """

    document: int
    offset: int
    cut: bool
    before: str
    text: str
    after: str
    a: tuple[tuple[int, bytes], ...]
    b: tuple[tuple[int, bytes], ...]


@dataclass
class Differences:
    """The differences between two tokenizers, A and B.

    Attributes:
        names: Their names.
        settings: setting -> (value in A, value in B) where they differ.
        specials: literal -> (id in A, id in B) where they differ; None where it is not a special token.
        only_a, only_b: bytes -> id of tokens that the other does not have.
        moved: bytes -> (id in A, id in B) of tokens that have different ids in the two.
        shared: The number of tokens with the same id in the two.
        first_merge: The first rank at which the merge lists differ; None if they are equal.
        merges_at_first: The merges of A and B at this rank; None after the end of a list.
        merges_only_a, merges_only_b: The numbers of merges that the other does not have.
        documents_differing: The number of texts with different ids.
        cut_places: The number of ranges of text that are cut into different tokens.
        other_ids: The number of tokens that are cut alike and have different ids.
        places: The first ranges that are cut differently, and the first tokens that have other ids.
    """

    names: tuple[str, str]
    settings: dict[str, tuple[Any, Any]] = field(default_factory=dict)
    specials: dict[str, tuple[int | None, int | None]] = field(default_factory=dict)
    only_a: dict[bytes, int] = field(default_factory=dict)
    only_b: dict[bytes, int] = field(default_factory=dict)
    moved: dict[bytes, tuple[int, int]] = field(default_factory=dict)
    shared: int = 0
    first_merge: int | None = None
    merges_at_first: tuple[tuple[bytes, bytes] | None, tuple[bytes, bytes] | None] = (None, None)
    merges_only_a: int = 0
    merges_only_b: int = 0
    documents_differing: int = 0
    cut_places: int = 0
    other_ids: int = 0
    places: list[Place] = field(default_factory=list, repr=False)

    @property
    def same(self) -> bool:
        """True where nothing differs: neither the tokenizers nor the ids of the texts."""
        unequal = self.settings or self.specials or self.only_a or self.only_b or self.moved
        return not unequal and self.first_merge is None and not self.documents_differing

    def __repr__(self) -> str:
        a, b = self.names
        return f"<Differences between {a} and {b}: {'the same' if self.same else 'different'}>"


@dataclass(repr=False)
class Figures:
    """The figures of one tokenizer in a :class:`Comparison`.

    Attributes:
        name: The name of the tokenizer.
        usage: Its counts over all texts.
        groups: group -> its counts there; None -> those of texts without a group.
        longest: The longest token that is not special.
    """

    name: str
    usage: Usage
    groups: dict[str | None, TextCounts]
    longest: bytes

    def __repr__(self) -> str:
        total = self.usage.total
        rates = f"{total.bytes_per_token:.3f} bytes per token, {total.tokens_per_word:.3f} tokens per word"
        return f"<Figures of {self.name}: {rates}>"


@dataclass(repr=False)
class Comparison(Report):
    """The result of :func:`compare`. A notebook shows it; :meth:`save` writes a page.

    Attributes:
        figures: Those of each tokenizer, in the order given.
        differences: What differs between the first tokenizer and each other one.
        documents: group, or None -> number of texts, in the order in which they came; empty without texts.
        by: The name of the grouping, for people, such as "lang".
        files: The files that the texts came from.
    """

    figures: list[Figures]
    differences: list[Differences]
    documents: dict[str | None, int]
    by: str | None = None
    files: tuple[str, ...] = ()

    @property
    def same(self) -> bool:
        """True where nothing differs: neither the tokenizers nor the ids of the texts."""
        return all(one.same for one in self.differences)

    @property
    def groups(self) -> list[str]:
        """The groups, the one with most bytes first."""
        first = self.figures[0].groups
        return sorted((group for group in first if group is not None), key=lambda group: -first[group].bytes)

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each tokenizer over all texts, whose "group" is None, followed by one for each group."""
        made = []
        for one in self.figures:
            size = {"vocabulary": len(one.usage.ids)}
            longest = {"longest": token_repr(one.longest), "longest_bytes": len(one.longest)}
            made.append({"tokenizer": one.name, "group": None, **size, **one.usage.figures(), **longest})
            for group in self.groups:
                counts = {"documents": self.documents[group], **one.groups[group].to_dict()}
                made.append({"tokenizer": one.name, "group": group, **size, **counts})
        return made

    def to_dict(self) -> dict[str, Any]:
        """Return everything, for JSON."""
        differences = [one | {"same": made.same} for one, made in zip(plain(self.differences), self.differences)]
        rows = self.rows()
        return {"by": self.by, "files": list(self.files), "same": self.same, "rows": rows, "differences": differences}

    def _contents(self) -> Contents:
        verdict = counted(len(self.figures), "tokenizer")
        if self.differences:
            verdict += ", the same" if self.same else ", different"
        return Contents("Comparison of tokenizers", verdict, _headline(self), _sections(self), files=self.files)


def _headline(report: Comparison) -> Iterator[tuple[str, str]]:
    totals = [one.usage.total for one in report.figures]
    names = short_names([one.name for one in report.figures])
    if not report.documents:
        yield from ((f"{len(one.usage.ids):,}", f"tokens in {name}") for name, one in zip(names, report.figures))
        return
    yield from ((f"{use.bytes_per_token:.3f}", f"bytes per token, {name}") for name, use in zip(names, totals))
    documents = sum(report.documents.values())
    yield f"{documents:,}", "document" if documents == 1 else "documents"
    yield f"{max(use.bytes for use in totals):,}", "bytes of text"


def _sections(report: Comparison) -> Iterator[Section]:
    if report.documents:
        yield "All texts", [_totals(report)]
    if report.groups:
        yield f"By {report.by or 'group'}", list(_by_group(report))
    for one in report.differences:
        a, b = one.names
        yield f"{b} (B) beside {a} (A)", list(_differences(one, bool(report.documents)))


def _totals(report: Comparison) -> Table:
    heads = ["tokenizer", "tokens in it", "tokens", *RATES, "vocabulary used", "longest token"]
    names = short_names([one.name for one in report.figures])
    rows = [
        [name, len(one.usage.ids), one.usage.total.tokens, *(of(one.usage.total) for of in RATES.values()),
         one.usage.vocabulary_used, len(one.longest)]
        for name, one in zip(names, report.figures, strict=True)
    ]  # fmt: skip
    bars = [[at] for at in range(1, len(heads))]
    return Table("All texts", heads, rows, numbers=len(bars), named=True, few=None, bars=bars, sides="rows")


def _by_group(report: Comparison) -> Iterator[Block]:
    by = report.by or "group"
    first = report.figures[0].groups
    sizes = [[group, report.documents[group], first[group].bytes] for group in report.groups]
    yield Table(f"Texts by {by}", [by, "documents", "bytes"], sizes, numbers=2, named=True, few=None)
    names = [one.name for one in report.figures]
    for name, of in RATES.items():
        rows = [[group, *(of(one.groups[group]) for one in report.figures)] for group in report.groups]
        title, bars = f"{name.capitalize()} by {by}", [range(1, len(names) + 1)]
        yield Table(
            title, [name, *names], rows, numbers=len(names), named=True, few=None, bars=bars, sides="columns"
        )


def _differences(report: Differences, texts: bool) -> Iterator[Block]:
    if report.same:
        also = " So are the ids of all texts." if texts else ""
        yield f"Nothing: settings, special tokens, vocabularies and merges are the same.{also}"
        return
    settings = [[name.replace("_", " "), *_both(sides)] for name, sides in report.settings.items()]
    yield Table("Settings", ["setting", "A", "B"], settings, named=True)
    specials = [[Code(repr(literal)), *_both(sides)] for literal, sides in islice(report.specials.items(), TOKENS)]
    yield Table(f"Special tokens{_first(report.specials)}", ["special token", "A", "B"], specials, named=True)
    counts = {"same id": report.shared, "another id": len(report.moved), "only in A": len(report.only_a),
              "only in B": len(report.only_b)}  # fmt: skip
    yield Table("Tokens", ["tokens", ""], [[count, name] for name, count in counts.items()], numbers=1)
    for side, only in (("A", report.only_a), ("B", report.only_b)):
        rows = [[str(token_id), Code(token_repr(token))] for token, token_id in islice(only.items(), TOKENS)]
        yield Table(f"Tokens only in {side}{_first(only)}", ["id", "token"], rows, numbers=1, few=FEW)
    moved = islice(report.moved.items(), TOKENS)
    rows = [[str(ours), str(theirs), Code(token_repr(one))] for one, (ours, theirs) in moved]
    title = f"Tokens under other ids{_first(report.moved)}"
    yield Table(title, ["id in A", "id in B", "token"], rows, numbers=2, few=FEW)
    if report.first_merge is not None:
        pairs = report.merges_at_first
        ours, theirs = ("none" if pair is None else " + ".join(map(token_repr, pair)) for pair in pairs)
        rows = [
            ["the same at the start", f"{report.first_merge:,}"], ["the next one in A", Code(ours)],
            ["the next one in B", Code(theirs)], ["only in A", f"{report.merges_only_a:,}"],
            ["only in B", f"{report.merges_only_b:,}"],
        ]  # fmt: skip
        yield Table("Merges", [], rows, named=True)
    if texts:
        yield from _places(report)


def _first(tokens: dict[Any, Any]) -> str:
    return f", the first {TOKENS} of {len(tokens):,}" if len(tokens) > TOKENS else ""


def _both(sides: tuple[object, object]) -> list[str]:
    return [Code(describe(one)) for one in sides]


def _places(report: Differences) -> Iterator[Block]:
    if not report.documents_differing:
        yield "All texts get the same ids."
        return
    documents = counted(report.documents_differing, "document")
    yield (f"{documents} with other ids: cut differently in {counted(report.cut_places, 'place')}; "
           f"{counted(report.other_ids, 'token')} cut alike with other ids.")  # fmt: skip
    for place in report.places:
        text = place.text if len(place.text) <= CHARACTERS else f"{place.text[:CHARACTERS]}…"
        where = f"Document {place.document:,}, character {place.offset:,}"
        sides = [[*_cells(side)] for side in (place.a, place.b)]
        yield Tokens(("A", "B"), [sides], f"{where}: {place.before!r} [{text!r}] {place.after!r}", FEW)


def _cells(tokens: tuple[tuple[int, bytes], ...]) -> Iterator[Cell]:
    """The first tokens of a place; bytes that are part of a character are shown as bytes."""
    for number, (token_id, token) in enumerate(tokens[:TOKENS]):
        yield Cell(token_id, token, 0, False, token.decode("utf-8", "surrogateescape"), False, number)
