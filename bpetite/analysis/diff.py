"""The differences between two tokenizers: settings, vocabulary, merge order, and the ids of texts; their report."""
from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice, zip_longest
from typing import Any

import numpy as np
import numpy.typing as npt

from ..tokenizer import Tokenizer
from .audit import settings_of
from .cells import Cell, token_ends
from .pages.markup import text_html, tokens_html
from .pages.render import Block, Code, Contents, Fault, Fine, Raw, Report, Section, Table, default_names, describe
from .scripts import token_repr

__all__ = ["DiffReport", "Difference", "diff"]

#: Texts that are encoded in one call.
BATCH = 256

#: Characters shown on either side of a place.
AROUND = 24

#: Tokens shown of a place in texts that are normalized differently.
REWRITTEN = 8

#: Tokens shown of each difference between the vocabularies, and of a place on each side; text shows fewer.
TOKENS, FEW = 40, 8

#: Characters shown of a place.
CHARACTERS = 200

#: Settings that follow from others, or that have a section of their own.
_DERIVED = ("scanner", "fingerprint", "special_tokens", "tokens", "vocab_size", "merges")

Ids = npt.NDArray[np.uint32]


@dataclass(frozen=True)
class Difference:
    """A stretch of text that two tokenizers encode differently.

    Attributes:
        document: Index of the text.
        offset: Position of its first character there.
        cut: True when the tokens' bytes differ; False for one token under two ids.
        before, text, after: The stretch and its surroundings.
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


@dataclass(repr=False)
class DiffReport(Report):
    """The result of :func:`diff`. A notebook shows it; :meth:`save` writes a page.

    Attributes:
        names: The names of the tokenizers.
        files: The files that the texts came from.
        settings: setting -> (value in A, value in B) where they differ.
        specials: literal -> (id in A, id in B) where they differ; None where it is not a special token.
        only_a, only_b: bytes -> id of tokens that the other does not have.
        moved: bytes -> (id in A, id in B) of tokens that have different ids in the two.
        shared: The number of tokens with the same id in the two.
        first_merge: The first rank at which the merge lists differ; None if they are equal.
        merges_at_first: The merges of A and B at this rank; None after the end of a list.
        merges_only_a, merges_only_b: The numbers of merges that the other does not have.
        merges_reordered: The number of common merges that would have to move for their order to be the same.
        documents: The number of texts that were compared; None if there were no texts.
        documents_differing: The number of texts with different ids.
        tokens_a, tokens_b: The numbers of tokens of all texts.
        cut_places: The number of stretches of text that are cut into different tokens.
        other_ids: The number of tokens that are cut alike and have different ids.
        places: The first differences of each kind.
    """

    names: tuple[str, str] = ("A", "B")
    files: tuple[str, ...] = ()
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
    merges_reordered: int = 0
    documents: int | None = None
    documents_differing: int = 0
    tokens_a: int = 0
    tokens_b: int = 0
    cut_places: int = 0
    other_ids: int = 0
    places: list[Difference] = field(default_factory=list)

    @property
    def same(self) -> bool:
        """True where nothing differs: neither the tokenizers nor the ids of the texts."""
        unequal = self.settings or self.specials or self.only_a or self.only_b or self.moved
        return not unequal and self.first_merge is None and not self.documents_differing

    def to_dict(self) -> dict[str, Any]:
        """Return everything, for JSON; a token is written as :func:`repr` has it."""
        return super().to_dict() | {"same": self.same}

    def _contents(self) -> Contents:
        a, b = self.names
        verdict = Fine("the same") if self.same else Fault("different")
        return Contents(f"A: {a}, B: {b}", verdict, _headline(self), self.files, _sections(self))


def diff(
    a: Tokenizer,
    b: Tokenizer,
    texts: Iterable[str] | None = None,
    *,
    ordinary: bool = False,
    places: int = 10,
    names: tuple[str, str] | None = None,
    files: Iterable[str] = (),
) -> DiffReport:
    """Compare two tokenizers, and the ids that they give to texts.

    Args:
        a, b: The tokenizers.
        texts: Documents to encode with both.
        ordinary: Read the texts as ordinary text, in which no special tokens are recognised.
        places: The most places of each kind to report.
        names: The names of the tokenizers in the report.
        files: The files that the texts come from, for the report to name; they are not read.

    Raises:
        ValueError: A text has a byte that has no token in one of them.

    >>> a = Tokenizer.train("ab ab ab", 257)
    >>> b = Tokenizer.train("ab ab ab", 258)
    >>> report = diff(a, b, ["ab ab"])
    >>> report.only_b, [(place.text, len(place.a), len(place.b)) for place in report.places]
    ({b' ab': 257}, [(' ab', 2, 1)])
    >>> diff(a, a, names=("old", "new"))
    <A: old, B: new: the same, 258 tokens in A, 258 tokens in B, 258 the same in both>
    """
    first, second = default_names(a, b) if names is None else names
    report = DiffReport((first, second), tuple(files))
    _compare_settings(a, b, report)
    _compare_vocabulary(a, b, report)
    _compare_merges(a.merges, b.merges, report)
    if texts is not None:
        _TextComparison(a, b, report, ordinary, places).run(texts)
    return report


def _compare_settings(a: Tokenizer, b: Tokenizer, report: DiffReport) -> None:
    ours, theirs = settings_of(a), settings_of(b)
    report.settings = {
        name: (ours[name], theirs[name]) for name in ours if name not in _DERIVED and ours[name] != theirs[name]
    }
    specials_a, specials_b = a.special_tokens, b.special_tokens
    report.specials = {
        literal: (specials_a.get(literal), specials_b.get(literal))
        for literal in [*specials_a, *(one for one in specials_b if one not in specials_a)]
        if specials_a.get(literal) != specials_b.get(literal)
    }


def _compare_vocabulary(a: Tokenizer, b: Tokenizer, report: DiffReport) -> None:
    ids_a, ids_b = (
        dict(sorted(side.to_vocab().id_of.items(), key=lambda item: item[1])) for side in (a, b)
    )
    report.only_a = {token: token_id for token, token_id in ids_a.items() if token not in ids_b}
    report.only_b = {token: token_id for token, token_id in ids_b.items() if token not in ids_a}
    report.moved = {
        token: (token_id, ids_b[token]) for token, token_id in ids_a.items() if ids_b.get(token, token_id) != token_id
    }
    report.shared = len(ids_a) - len(report.only_a) - len(report.moved)


def _compare_merges(a: list[tuple[bytes, bytes]], b: list[tuple[bytes, bytes]], report: DiffReport) -> None:
    if a == b:
        return
    different = ((rank, pair) for rank, pair in enumerate(zip_longest(a, b)) if pair[0] != pair[1])
    report.first_merge, report.merges_at_first = next(different)
    rank_b = {pair: rank for rank, pair in enumerate(b)}
    common = [rank_b[pair] for pair in a if pair in rank_b]
    report.merges_only_a = len(a) - len(common)
    report.merges_only_b = len(b) - len(common)
    report.merges_reordered = len(common) - _longest_rise(common)


def _longest_rise(numbers: Sequence[int]) -> int:
    """The length of the longest rising subsequence: patience sorting, n log n."""
    piles: list[int] = []
    for number in numbers:
        at = bisect_left(piles, number)
        piles[at : at + 1] = [number]
    return len(piles)


class _TextComparison:
    """Compares the ids of texts, and adds the differences to a report."""

    def __init__(self, a: Tokenizer, b: Tokenizer, report: DiffReport, ordinary: bool, places: int) -> None:
        self.sides = (a, b)
        self.report = report
        self.options: dict[str, Any] = {"allowed_special": ()} if ordinary else {}
        self.left = {True: places, False: places}  # places that may still be reported, of cuts and of other ids

    def run(self, texts: Iterable[str]) -> None:
        texts = iter(texts)
        report = self.report
        report.documents = 0
        while batch := list(islice(texts, BATCH)):
            (ids_a, offsets_a), (ids_b, offsets_b) = (
                side.encode_batch_to_numpy(batch, **self.options) for side in self.sides
            )
            report.tokens_a += len(ids_a)
            report.tokens_b += len(ids_b)
            for index in range(len(batch)):
                ours = ids_a[offsets_a[index] : offsets_a[index + 1]]
                theirs = ids_b[offsets_b[index] : offsets_b[index + 1]]
                if not np.array_equal(ours, theirs):
                    report.documents_differing += 1
                    self.compare(report.documents + index, ours, theirs)
            report.documents += len(batch)

    def compare(self, document: int, ours: Ids, theirs: Ids) -> None:
        data, data_b = (side.decode_bytes(ids) for side, ids in zip(self.sides, (ours, theirs), strict=True))
        if data != data_b:
            # the two normalize differently, so no positions are comparable: the first tokens that differ
            unlike = np.flatnonzero(ours[: len(theirs)] != theirs[: len(ours)])
            first = int(unlike[0]) if len(unlike) else min(len(ours), len(theirs))
            start = len(self.sides[0].decode_bytes(ours[:first]))
            ours, theirs = (ids[first : first + REWRITTEN] for ids in (ours, theirs))
            self.report.cut_places += 1
            self.add(document, data, True, ours, theirs, start, start + len(self.sides[0].decode_bytes(ours)))
            return
        ends_a, ends_b = (token_ends(side, ids) for side, ids in zip(self.sides, (ours, theirs), strict=True))
        # Stretch i of the text lies between common edges i - 1 and i; its tokens are first..last on each side.
        edges = np.intersect1d(ends_a, ends_b, assume_unique=True)
        last_a, last_b = np.searchsorted(ends_a, edges), np.searchsorted(ends_b, edges)
        first_a, first_b = np.append(0, last_a[:-1] + 1), np.append(0, last_b[:-1] + 1)
        same_token = (first_a == last_a) & (first_b == last_b)
        other_id = np.flatnonzero(same_token & (ours[last_a] != theirs[last_b]))
        # Adjacent stretches that are cut differently are one place.
        opens = np.flatnonzero(~same_token & np.append(True, same_token[:-1]))
        closes = np.flatnonzero(~same_token & np.append(same_token[1:], True))
        self.report.cut_places += len(opens)
        self.report.other_ids += len(other_id)
        cut = zip(opens[: self.left[True]].tolist(), closes[: self.left[True]].tolist(), strict=True)
        changes = [(first, last, True) for first, last in cut]
        changes += [(at, at, False) for at in other_id[: self.left[False]].tolist()]
        for first, last, is_cut in sorted(changes):
            tokens_a = ours[first_a[first] : last_a[last] + 1]
            tokens_b = theirs[first_b[first] : last_b[last] + 1]
            start = int(edges[first - 1]) if first else 0
            self.add(document, data, is_cut, tokens_a, tokens_b, start, int(edges[last]))

    def add(self, document: int, data: bytes, cut: bool, a: Ids, b: Ids, start: int, end: int) -> None:
        if not self.left[cut]:
            return
        self.left[cut] -= 1
        # An edge may lie inside a character; people are shown whole ones.
        while start and data[start] & 0xC0 == 0x80:
            start -= 1
        while end < len(data) and data[end] & 0xC0 == 0x80:
            end += 1
        before = data[:start].decode("utf-8", "replace")
        after = data[end : end + 4 * AROUND].decode("utf-8", "ignore")
        text = data[start:end].decode("utf-8", "replace")
        tokens_a, tokens_b = (
            tuple((token_id, side.token_bytes(token_id)) for token_id in ids.tolist())
            for side, ids in zip(self.sides, (a, b), strict=True)
        )
        place = Difference(document, len(before), cut, before[-AROUND:], text, after[:AROUND], tokens_a, tokens_b)
        self.report.places.append(place)


# The page


def _headline(report: DiffReport) -> Iterator[tuple[str, str]]:
    if report.documents is not None:
        change = 100 * (report.tokens_b / max(report.tokens_a, 1) - 1)
        yield f"{report.documents_differing:,} of {report.documents:,}", "documents get other ids"
        yield f"{change:+.2f} %", "tokens of the texts in B, against A"
    common = report.shared + len(report.moved)
    yield f"{common + len(report.only_a):,}", "tokens in A"
    yield f"{common + len(report.only_b):,}", "tokens in B"
    yield f"{report.shared:,}", "the same in both"
    yield f"{len(report.moved):,}", "under other ids"
    yield f"{len(report.only_a):,}", "only in A"
    yield f"{len(report.only_b):,}", "only in B"


def _sections(report: DiffReport) -> Iterator[Section]:
    if report.same:
        texts = "" if report.documents is None else " So are the ids of all texts."
        said = f"Nothing: settings, special tokens, vocabularies and merges are the same.{texts}"
        yield "Differences", [_said(said)]
        return
    yield "Texts", list(_texts(report))
    settings = [[name.replace("_", " "), *_both(sides)] for name, sides in report.settings.items()]
    yield "Settings", [Table("Settings", ["setting", "A", "B"], settings, named=True)]
    specials = [[Code(repr(literal)), *_both(sides)] for literal, sides in report.specials.items()]
    yield "Special tokens", [Table("Special tokens", ["special token", "id in A", "id in B"], specials, named=True)]
    for side, only in (("A", report.only_a), ("B", report.only_b)):
        rows = [[str(token_id), Code(token_repr(token))] for token, token_id in islice(only.items(), TOKENS)]
        yield _tokens(f"Tokens only in {side}", ["id", "token"], rows, len(only))
    moved = islice(report.moved.items(), TOKENS)
    rows = [[str(ours), str(theirs), Code(token_repr(one))] for one, (ours, theirs) in moved]
    yield _tokens("Tokens under other ids", ["id in A", "id in B", "token"], rows, len(report.moved))
    if report.first_merge is not None:
        yield "Merges", [_merges(report, report.first_merge)]


def _said(text: str) -> Raw:
    return Raw(f"<p>{text}</p>", text)


def _both(sides: tuple[object, object]) -> list[str]:
    return [Code(describe(one)) for one in sides]


def _tokens(title: str, heads: list[str], rows: list[list[str]], count: int) -> Section:
    blocks: list[Block] = [Table(title, heads, rows, numbers=len(heads) - 1, few=FEW)]
    if count > TOKENS:
        blocks.append(Raw(f"<p>The first {TOKENS} of {count:,}.</p>"))
    return title, blocks


def _merges(report: DiffReport, first: int) -> Table:
    ours, theirs = (
        "none" if pair is None else Code(" + ".join(token_repr(part) for part in pair))
        for pair in report.merges_at_first
    )
    rows = [
        ["the same at the start", f"{first:,}"],
        ["the next one in A", ours],
        ["the next one in B", theirs],
        ["only in A", f"{report.merges_only_a:,}"],
        ["only in B", f"{report.merges_only_b:,}"],
        ["in another order", f"{report.merges_reordered:,}"],
    ]
    return Table("Merges", [], rows, named=True)


def _texts(report: DiffReport) -> Iterator[Block]:
    if report.documents is None:
        return
    if not report.documents_differing:
        yield _said(f"All texts get the same ids: {report.tokens_a:,} tokens.")
        return
    yield _said(
        f"A makes {report.tokens_a:,} tokens of the texts, B {report.tokens_b:,}. They are cut differently in "
        f"{report.cut_places:,} places; {report.other_ids:,} tokens are cut alike and have other ids."
    )
    yield from (_place(place) for place in report.places if place.cut)
    rows = [
        [str(place.document), str(place.offset), str(ours), str(theirs), Code(token_repr(token))]
        for place in report.places
        if not place.cut
        for (ours, token), (theirs, _) in zip(place.a, place.b, strict=True)
    ]
    heads = ["document", "character", "id in A", "id in B", "token"]
    yield Table("The same tokens under other ids", heads, rows, numbers=4)


def _place(place: Difference) -> Raw:
    text = place.text if len(place.text) <= CHARACTERS else f"{place.text[:CHARACTERS]}…"
    where = f"Document {place.document:,}, character {place.offset:,}"
    lines = [f"{where}: {place.before!r} [{text!r}] {place.after!r}"]
    sides = []
    for name, tokens in (("A", place.a), ("B", place.b)):
        cells = "".join(tokens_html(_cells(tokens), 0, titles=True))
        more = " …" if len(tokens) > TOKENS else ""
        sides.append(f'<div class="side"><b>{name}</b><div class="text ids">{cells}{more}</div></div>')
        listed = "  ".join(f"{token_id} {token_repr(token)}" for token_id, token in tokens[:FEW])
        lines.append(f"  {name}  {listed}{'  ...' if len(tokens) > FEW else ''}")
    html = (
        f'<div class="place"><p>{where}</p>'
        f'<p class="text" dir="auto">{_context(place.before)}<mark>{text_html(text)}</mark>{_context(place.after)}</p>'
        f'{"".join(sides)}</div>'
    )
    return Raw(html, "\n".join(lines))


def _context(text: str) -> str:
    """The text around a place, in one line."""
    return text_html(text.replace("\n", "↵"))


def _cells(tokens: Iterable[tuple[int, bytes]]) -> Iterator[Cell]:
    """The first tokens of a place; bytes that are part of a character are shown as bytes."""
    for token_id, token in islice(tokens, TOKENS):
        yield Cell(token_id, token, 0, False, token.decode("utf-8", "surrogateescape"), False)
