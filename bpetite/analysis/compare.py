"""Several tokenizers on the same texts, and what differs between the first of them and each other one.

The texts are measured as in :mod:`bpetite.analysis.usage`: each tokenizer encodes them once.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest

import numpy as np

from ..errors import short_repr
from ..tokenizer import Tokenizer
from .audit import settings_of
from .comparison import Comparison, Differences, Figures, Place
from .usage import Meter, Numbers, Passage, TextCounts, Tokenized, batches, several

#: Texts, texts by group, or pairs of a group and a text.
Texts = Iterable[str] | Iterable[tuple[str | None, str]] | Mapping[str, Iterable[str]]

#: Characters shown on either side of a place.
AROUND = 24

#: Tokens shown of a place in texts that are normalized differently.
REWRITTEN = 8

#: Settings that follow from others, or that have a place of their own.
DERIVED = ("scanner", "fingerprint", "special_tokens", "tokens", "vocab_size", "merges")


def compare(
    tokenizers: Mapping[str, Tokenizer] | Iterable[Tokenizer],
    texts: Texts = (),
    *,
    by: str | None = None,
    places: int = 10,
    files: Iterable[str] = (),
) -> Comparison:
    """Compare tokenizers: what differs between the first and each other one, and all of them on the same texts.

    Args:
        tokenizers: name -> tokenizer, or tokenizers, which are called A, B, and so on.
        texts: Texts; group -> its texts, such as "de" -> texts in German; or pairs (group, text), in any order; the
            group None stands for none. They are read as ordinary text.
        by: The name of the grouping, for the report to say.
        places: The most places to report that two tokenizers cut differently, and the most with other ids.
        files: The files that the texts come from, for the report to name; they are not read.

    Raises:
        ValueError: No tokenizer; a text has a byte that has no token in one of them.
        TypeError: One text in place of several; a text is no str.

    >>> one, two = (Tokenizer.train("ab ab ab", size) for size in (257, 258))
    >>> found = compare({"one": one, "two": two}, {"x": ["ab ab"], "y": ["zz ab"]})
    >>> found.figures[0], found.same
    (<Figures of one: 1.429 bytes per token, 1.250 tokens per word>, False)
    >>> {group: round(use.bytes_per_token, 3) for group, use in found.figures[0].groups.items()}
    {'x': 1.667, 'y': 1.25}
    >>> found.differences[0].only_b, [(place.text, len(place.a), len(place.b)) for place in found.differences[0].places]
    ({b' ab': 257}, [(' ab', 2, 1), (' ab', 2, 1)])
    """
    named = _named(tokenizers)
    meters = {name: Meter(tokenizer) for name, tokenizer in named.items()}
    groups: dict[str, dict[str | None, TextCounts]] = {name: {} for name in named}
    documents: Counter[str | None] = Counter()
    (first, one), *others = named.items()
    found = [_TextDifferences(_differences((first, name), one, other), (one, other), places) for name, other in others]
    for group, passages in batches(_pairs(texts), documents):
        held = [passage.text for passage in passages]
        read = [meter.read(held) for meter in meters.values()]
        for (name, meter), tokens in zip(meters.items(), read, strict=True):
            groups[name].setdefault(group, TextCounts()).add(meter.add(tokens))
        for differences, tokens in zip(found, read[1:], strict=True):
            differences.add(passages, read[0], tokens)
    figures = []
    for name, tokenizer in named.items():
        usage, special = meters[name].finished(documents.total()), set(tokenizer.special_tokens.values())
        ordinary = (token for token_id, token in sorted(tokenizer.vocab.items()) if token_id not in special)
        figures.append(Figures(name, usage, groups[name], max(ordinary, key=len, default=b"")))
    return Comparison(figures, [one.finished() for one in found], dict(documents), by, tuple(files))


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


def _pairs(texts: Texts) -> Iterator[tuple[str | None, str]]:
    """Pairs of a group, or None, and a text."""
    given = several("texts", texts)
    if isinstance(texts, Mapping):
        groups = {group: several(f"texts[{group!r}]", some) for group, some in texts.items()}
        given = ((group, text) for group, some in groups.items() for text in some)
    for one in given:
        group, text = one if isinstance(one, tuple) and len(one) == 2 else (None, one)
        if not isinstance(text, str) or not isinstance(group, str | None):
            raise TypeError(f"a text is a str, or a pair of a group and a text, not {short_repr(one)}")
        yield group, text


def _differences(names: tuple[str, str], a: Tokenizer, b: Tokenizer) -> Differences:
    """The differences between two tokenizers, without texts."""
    ours, theirs = settings_of(a), settings_of(b)
    ids_a, ids_b = (dict(sorted(side.to_vocab().id_of.items(), key=lambda item: item[1])) for side in (a, b))
    specials_a, specials_b = a.special_tokens, b.special_tokens
    found = Differences(
        names,
        settings={key: (ours[key], theirs[key]) for key in ours if key not in DERIVED and ours[key] != theirs[key]},
        specials={
            literal: (specials_a.get(literal), specials_b.get(literal))
            for literal in {**specials_a, **specials_b}
            if specials_a.get(literal) != specials_b.get(literal)
        },
        only_a={token: token_id for token, token_id in ids_a.items() if token not in ids_b},
        only_b={token: token_id for token, token_id in ids_b.items() if token not in ids_a},
        moved={one: (token_id, ids_b[one]) for one, token_id in ids_a.items() if ids_b.get(one, token_id) != token_id},
    )
    found.shared = len(ids_a) - len(found.only_a) - len(found.moved)
    if a.merges != b.merges:
        different = ((rank, pair) for rank, pair in enumerate(zip_longest(a.merges, b.merges)) if pair[0] != pair[1])
        found.first_merge, found.merges_at_first = next(different)
        merges_a, merges_b = set(a.merges), set(b.merges)
        found.merges_only_a, found.merges_only_b = len(merges_a - merges_b), len(merges_b - merges_a)
    return found


class _TextDifferences:
    """Compares the tokens of texts, and adds what differs to a report."""

    def __init__(self, report: Differences, sides: tuple[Tokenizer, Tokenizer], places: int) -> None:
        self.report = report
        self.sides = sides
        self.left = {True: places, False: places}  # places that may still be reported, of cuts and of other ids
        self.differing: set[int] = set()

    def finished(self) -> Differences:
        self.report.documents_differing = len(self.differing)
        self.report.places.sort(key=lambda place: (place.document, place.offset))
        return self.report

    def add(self, passages: Sequence[Passage], a: Tokenized, b: Tokenized) -> None:
        """Compare the tokens of texts, or of parts of them."""
        if np.array_equal(a.ids, b.ids) and a.data == b.data:
            return
        if a.data == b.data:
            self.compare(passages, a, b)
        elif len(passages) > 1:
            for number in range(len(passages)):
                self.add(passages[number : number + 1], a.text(number), b.text(number))
        else:
            # the two normalize differently, so no positions are comparable: the first tokens that differ
            unlike = np.flatnonzero(a.ids[: len(b.ids)] != b.ids[: len(a.ids)])
            first = int(unlike[0]) if len(unlike) else min(len(a.ids), len(b.ids))
            last = min(first + REWRITTEN, len(a.ids))
            self.report.cut_places += 1
            self.differing.add(passages[0].document)
            edges = [int(a.ends[at - 1]) if at else 0 for at in (first, last)]
            self.place(passages, a, True, edges, a.ids[first:last], b.ids[first : first + REWRITTEN])

    def compare(self, passages: Sequence[Passage], a: Tokenized, b: Tokenized) -> None:
        # Range i lies between common edges i - 1 and i; its tokens are first..last on each side.
        edges = np.intersect1d(a.ends, b.ends)
        last_a, last_b = (np.searchsorted(side.ends, edges, "right") - 1 for side in (a, b))
        first_a, first_b = np.append(0, last_a[:-1] + 1), np.append(0, last_b[:-1] + 1)
        same_token = (first_a == last_a) & (first_b == last_b)
        other_id = np.flatnonzero(same_token & (a.ids[last_a] != b.ids[last_b]))
        # Adjacent ranges of a text that are cut differently are one place.
        ends = _text_ends(a)
        breaks = np.isin(edges, ends)
        opens = np.flatnonzero(~same_token & np.append(True, (same_token | breaks)[:-1]))
        closes = np.flatnonzero(~same_token & (np.append(same_token[1:], True) | breaks))
        self.report.cut_places += len(opens)
        self.report.other_ids += len(other_id)
        starts = np.append(0, edges)[np.concatenate([opens, other_id])]
        touched = np.unique(np.searchsorted(ends, starts, "right")).tolist()
        self.differing.update(passages[at].document for at in touched)
        changes = [(*pair, True) for pair in zip(opens.tolist(), closes.tolist(), strict=True)][: self.left[True]]
        changes += [(at, at, False) for at in other_id[: self.left[False]].tolist()]
        for first, last, cut in sorted(changes):
            tokens_a = a.ids[first_a[first] : last_a[last] + 1]
            tokens_b = b.ids[first_b[first] : last_b[last] + 1]
            self.place(passages, a, cut, [int(edges[first - 1]) if first else 0, int(edges[last])], tokens_a, tokens_b)

    def place(
        self, passages: Sequence[Passage], read: Tokenized, cut: bool, edges: list[int], a: Numbers, b: Numbers
    ) -> None:
        """Report a place, from one edge to another of the texts that one side read."""
        if not self.left[cut]:
            return
        self.left[cut] -= 1
        ends = _text_ends(read)
        number = int(np.searchsorted(ends, edges[0], "right")) if len(passages) > 1 else 0
        text_start = int(ends[number - 1]) if number else 0
        data = read.data[text_start : int(ends[number])]
        start, end = (edge - text_start for edge in edges)
        # An edge may lie inside a character; people are shown whole ones.
        while start and data[start : start + 1] and data[start] & 0xC0 == 0x80:
            start -= 1
        while end < len(data) and data[end] & 0xC0 == 0x80:
            end += 1
        before, text = data[:start].decode("utf-8", "replace"), data[start:end].decode("utf-8", "replace")
        after = data[end : end + 4 * AROUND].decode("utf-8", "ignore")
        tokens_a, tokens_b = (
            tuple((token_id, side.token_bytes(token_id)) for token_id in ids.tolist())
            for side, ids in zip(self.sides, (a, b), strict=True)
        )
        offset = passages[number].start + len(before)
        self.report.places.append(Place(
            passages[number].document, offset, cut, before[-AROUND:], text, after[:AROUND], tokens_a, tokens_b
        ))


def _text_ends(read: Tokenized) -> Numbers:
    """int64[texts]: where the bytes of each text end."""
    return np.append(0, read.ends)[read.offsets[1:]]
