"""What differs between two tokenizers: settings, vocabulary, merge order, and the ids of texts."""
from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from ..tokenizer import Tokenizer
from .characters import show
from .settings import settings_of

__all__ = ["DiffReport", "Place", "diff"]

#: Texts that are encoded at a time.
GROUP = 256

#: Characters shown on either side of a place.
AROUND = 24

#: Settings that follow from others, or that have a section of their own.
_DERIVED = ("scanner", "fingerprint", "special_tokens", "tokens", "vocab_size", "merges")

Ids = npt.NDArray[np.uint32]


@dataclass(frozen=True)
class Place:
    """A stretch of text that two tokenizers encode differently.

    Attributes:
        document: Number of the text, from 0.
        offset: Where in it, in characters.
        cut: True when the tokens' bytes differ; False when they are the same tokens under other ids.
        before, text, after: The stretch and what stands around it.
        a, b: (id, bytes) of the tokens on either side.
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
class DiffReport:
    """What :func:`diff` found.

    Attributes:
        settings: setting -> (value in A, value in B) where they differ.
        specials: literal -> (id in A, id in B), None where it is no special token, where they differ.
        only_a, only_b: bytes -> id of tokens that the other does not have.
        moved: bytes -> (id in A, id in B) of tokens that both have under different ids.
        shared: How many tokens both have under the same id.
        first_merge: The first rank at which the merge lists differ; None if they do not, or there is none to compare.
        merges_only_a, merges_only_b: How many merges the other does not have.
        merges_reordered: How many merges that both have would have to move for the order to be the same.
        documents, documents_differing, tokens_a, tokens_b: Counts over the texts; None without texts.
        cut_places: How many stretches of text are cut into other tokens.
        other_ids: How many tokens are cut alike and have another id.
        places: The first of both kinds.
    """

    settings: dict[str, tuple[Any, Any]] = field(default_factory=dict)
    specials: dict[str, tuple[int | None, int | None]] = field(default_factory=dict)
    only_a: dict[bytes, int] = field(default_factory=dict, repr=False)
    only_b: dict[bytes, int] = field(default_factory=dict, repr=False)
    moved: dict[bytes, tuple[int, int]] = field(default_factory=dict, repr=False)
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
    places: list[Place] = field(default_factory=list, repr=False)

    @property
    def same(self) -> bool:
        """Nothing differs: neither the tokenizers nor the ids of the texts."""
        return not (
            self.settings
            or self.specials
            or self.only_a
            or self.only_b
            or self.moved
            or self.first_merge is not None
            or self.documents_differing
        )

    def to_dict(self, limit: int = 100) -> dict[str, Any]:
        """For JSON; lists of tokens are cut at ``limit``, their counts are whole."""

        def tokens(found: dict[bytes, int]) -> dict[str, Any]:
            first = [{"id": one, "token": show(token)} for token, one in islice(found.items(), limit)]
            return {"count": len(found), "first": first}

        def merge(pair: tuple[bytes, bytes] | None) -> list[str] | None:
            return None if pair is None else [show(part) for part in pair]

        return {
            "same": self.same,
            "settings": {name: {"a": a, "b": b} for name, (a, b) in self.settings.items()},
            "special_tokens": {literal: {"a": a, "b": b} for literal, (a, b) in self.specials.items()},
            "vocabulary": {
                "shared": self.shared,
                "only_a": tokens(self.only_a),
                "only_b": tokens(self.only_b),
                "moved": {
                    "count": len(self.moved),
                    "first": [
                        {"token": show(token), "a": a, "b": b} for token, (a, b) in islice(self.moved.items(), limit)
                    ],
                },
            },
            "merges": {
                "first_difference": self.first_merge,
                "a": merge(self.merges_at_first[0]),
                "b": merge(self.merges_at_first[1]),
                "only_a": self.merges_only_a,
                "only_b": self.merges_only_b,
                "reordered": self.merges_reordered,
            },
            "texts": None
            if self.documents is None
            else {
                "documents": self.documents,
                "documents_differing": self.documents_differing,
                "tokens_a": self.tokens_a,
                "tokens_b": self.tokens_b,
                "cut_places": self.cut_places,
                "other_ids": self.other_ids,
                "places": [_place_dict(place) for place in self.places[:limit]],
            },
        }


def _place_dict(place: Place) -> dict[str, Any]:
    return {
        "document": place.document,
        "offset": place.offset,
        "cut": place.cut,
        "before": place.before,
        "text": place.text,
        "after": place.after,
        "a": [{"id": one, "token": show(token)} for one, token in place.a],
        "b": [{"id": one, "token": show(token)} for one, token in place.b],
    }


def diff(
    a: Tokenizer, b: Tokenizer, texts: Iterable[str] | None = None, *, ordinary: bool = False, places: int = 10
) -> DiffReport:
    """Compare two tokenizers, and the ids that they give texts.

    Args:
        a, b: The tokenizers.
        texts: Documents to encode with both.
        ordinary: Read the texts as ordinary text, recognising no special tokens.
        places: How many differing stretches of each kind to report with their surroundings.

    Raises:
        ValueError: A text has a byte that has no token in one of them.

    >>> a = Tokenizer.train("ab ab ab", 257)
    >>> b = Tokenizer.train("ab ab ab", 258)
    >>> report = diff(a, b, ["ab ab"])
    >>> report.only_b, [(place.text, len(place.a), len(place.b)) for place in report.places]
    ({b' ab': 257}, [(' ab', 2, 1)])
    """
    report = DiffReport()
    _compare_settings(a, b, report)
    _compare_vocabulary(a, b, report)
    _compare_merges(a.merges, b.merges, report)
    if texts is not None:
        _Texts(a, b, report, ordinary, places).run(texts)
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
    ids_a, ids_b = a.to_vocab().id_of, b.to_vocab().id_of
    by_id = sorted(ids_a.items(), key=lambda item: item[1])
    report.only_a = {token: one for token, one in by_id if token not in ids_b}
    report.only_b = {
        token: one for token, one in sorted(ids_b.items(), key=lambda item: item[1]) if token not in ids_a
    }
    report.moved = {token: (one, ids_b[token]) for token, one in by_id if token in ids_b and ids_b[token] != one}
    report.shared = len(ids_a) - len(report.only_a) - len(report.moved)


def _compare_merges(a: list[tuple[bytes, bytes]], b: list[tuple[bytes, bytes]], report: DiffReport) -> None:
    if a == b:
        return
    first = next((rank for rank, (ours, theirs) in enumerate(zip(a, b, strict=False)) if ours != theirs), None)
    report.first_merge = min(len(a), len(b)) if first is None else first
    report.merges_at_first = (
        a[report.first_merge] if report.first_merge < len(a) else None,
        b[report.first_merge] if report.first_merge < len(b) else None,
    )
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


class _Texts:
    """Comparing the ids of texts."""

    def __init__(self, a: Tokenizer, b: Tokenizer, report: DiffReport, ordinary: bool, limit: int) -> None:
        self.sides = (a, b)
        self.tokens = (a.to_vocab().tokens, b.to_vocab().tokens)
        self.report = report
        self.options: dict[str, Any] = {"allowed_special": ()} if ordinary else {}
        self.limit = limit
        self.room = {True: limit, False: limit}  # for places of the two kinds

    def run(self, texts: Iterable[str]) -> None:
        number = 0
        texts = iter(texts)
        while group := list(islice(texts, GROUP)):
            (ids_a, at_a), (ids_b, at_b) = (
                side.encode_batch_to_numpy(group, **self.options) for side in self.sides
            )
            self.report.tokens_a += len(ids_a)
            self.report.tokens_b += len(ids_b)
            for index, text in enumerate(group):
                ours = ids_a[at_a[index] : at_a[index + 1]]
                theirs = ids_b[at_b[index] : at_b[index + 1]]
                if not np.array_equal(ours, theirs):
                    self.report.documents_differing += 1
                    self.compare(number + index, text, ours, theirs)
            number += len(group)
        self.report.documents = number

    def compare(self, document: int, text: str, ours: Ids, theirs: Ids) -> None:
        data, data_b = (side.decode_bytes(ids) for side, ids in zip(self.sides, (ours, theirs), strict=True))
        if data != data_b:
            self.compare_rewritten(document, data, data_b, ours, theirs)
            return
        ends_a, ends_b = self.ends(0, ours), self.ends(1, theirs)
        # Where both have an edge. Between two such edges, one token on each side is the same token.
        edges = np.intersect1d(ends_a, ends_b, assume_unique=True)
        last_a, last_b = np.searchsorted(ends_a, edges), np.searchsorted(ends_b, edges)
        first_a, first_b = np.append(0, last_a[:-1] + 1), np.append(0, last_b[:-1] + 1)
        one_each = (first_a == last_a) & (first_b == last_b)
        other_id = one_each & (ours[last_a] != theirs[last_b])
        cut = ~one_each
        opens = cut & ~np.append(False, cut[:-1])  # stretches side by side are one place
        self.report.cut_places += int(opens.sum())
        self.report.other_ids += int(other_id.sum())
        closes = np.flatnonzero(cut & ~np.append(cut[1:], False))
        stretches = [
            *zip(np.flatnonzero(opens)[: self.room[True]].tolist(), closes.tolist(), [True] * self.limit, strict=False),
            *((one, one, False) for one in np.flatnonzero(other_id)[: self.room[False]].tolist()),
        ]
        for first, last, is_cut in sorted(stretches):
            self.add(document, data, is_cut, ours[first_a[first] : last_a[last] + 1],
                     theirs[first_b[first] : last_b[last] + 1],
                     int(edges[first - 1]) if first else 0, int(edges[last]))  # fmt: skip

    def compare_rewritten(self, document: int, data: bytes, data_b: bytes, ours: Ids, theirs: Ids) -> None:
        """The two normalize differently, so there are no common places: show the first tokens that differ."""
        length = min(len(ours), len(theirs))
        unlike = np.flatnonzero(ours[:length] != theirs[:length])
        first = int(unlike[0]) if len(unlike) else length
        start = len(self.sides[0].decode_bytes(ours[:first]))
        self.report.cut_places += 1
        if self.room[True]:
            self.add(document, data, True, ours[first : first + 8], theirs[first : first + 8], start,
                     start + len(self.sides[0].decode_bytes(ours[first : first + 8])))  # fmt: skip

    def ends(self, side: int, ids: Ids) -> npt.NDArray[np.int64]:
        tokens = self.tokens[side]
        different, places = np.unique(ids, return_inverse=True)
        lengths = np.array([len(tokens[one]) for one in different.tolist()], dtype=np.int64)
        return np.cumsum(lengths[places])

    def add(self, document: int, data: bytes, cut: bool, a: Ids, b: Ids, start: int, end: int) -> None:
        self.room[cut] -= 1
        # Edges may lie inside a character; people are shown whole ones.
        while start and data[start] & 0xC0 == 0x80:
            start -= 1
        while end < len(data) and data[end] & 0xC0 == 0x80:
            end += 1
        before = data[:start].decode("utf-8", "replace")
        self.report.places.append(
            Place(
                document,
                len(before),
                cut,
                before[-AROUND:],
                data[start:end].decode("utf-8", "replace"),
                data[end : end + 4 * AROUND].decode("utf-8", "ignore")[:AROUND],
                *(
                    tuple((one, self.tokens[side][one]) for one in ids.tolist())
                    for side, ids in enumerate((a, b))
                ),
            )
        )
