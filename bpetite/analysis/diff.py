"""The differences between two tokenizers: settings, vocabulary, merge order, and the ids of texts."""
from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from ..tokenizer import Tokenizer
from .cells import token_ends
from .results import Difference, DiffReport
from .settings import default_names, settings_of

__all__ = ["diff"]

#: Texts that are encoded in one call.
BATCH = 256

#: Characters shown on either side of a place.
AROUND = 24

#: Tokens shown of a place in texts that are normalized differently.
REWRITTEN = 8

#: Settings that follow from others, or that have a section of their own.
_DERIVED = ("scanner", "fingerprint", "special_tokens", "tokens", "vocab_size", "merges")

Ids = npt.NDArray[np.uint32]


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
        found = [(first, last, True) for first, last in cut]
        found += [(at, at, False) for at in other_id[: self.left[False]].tolist()]
        for first, last, is_cut in sorted(found):
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
