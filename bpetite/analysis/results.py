"""The reports of this room: plain records, which the modules of :mod:`bpetite.analysis.pages` draw."""
from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Literal, NamedTuple

from ..tokenizer import Tokenizer
from .cells import Layout
from .characters import token_repr
from .pages.render import counted, render
from .reach import Unreachable
from .usage import ALL, ScriptUse, Usage

__all__ = [
    "AuditReport",
    "Comparison",
    "DiffReport",
    "Difference",
    "Explanation",
    "Figures",
    "Finding",
    "Merge",
    "Pretoken",
    "Report",
    "Severity",
    "Side",
    "TokenView",
    "default_names",
]

#: Characters of a text that the repr of a difference shows.
SHOWN = 24

Severity = Literal["fault", "note"]


def default_names(*tokenizers: Tokenizer) -> tuple[str, ...]:
    """Names for one or two tokenizers that nobody named, such as "A (32,001 tokens, 99886462)"."""
    letters = ["tokenizer"] if len(tokenizers) == 1 else ["A", "B"]
    return tuple(
        f"{letter} ({len(one):,} tokens, {one.fingerprint()[:8]})"
        for letter, one in zip(letters, tokenizers, strict=True)
    )


class Report:
    """A report that draws itself: a notebook shows it, and ``str()`` gives its text for a terminal."""

    def page(self) -> str:
        """Return the page, one file of HTML that needs no network."""
        return render(self, "page")

    def save(self, path: str | Path) -> None:
        """Write the page.

        Raises:
            OSError: The file cannot be written.
        """
        Path(path).write_text(self.page(), encoding="utf-8", newline="")

    def to_html(self) -> str:
        """Return one element with its own styles and without a script, to put into a page of yours."""
        return render(self, "element")

    _repr_html_ = to_html

    def __str__(self) -> str:
        return render(self, "text")


@dataclass(frozen=True)
class Finding:
    """One result of an audit.

    Attributes:
        code: A stable name for programs, such as "missing-bytes".
        severity: "fault": text is refused, changed or encoded otherwise than intended, or a mistake in the vocabulary
            wastes ids. "note": good to know, and common in tokenizers that work well.
        message: One sentence for people.
        count: How many tokens, merges, bytes or texts it concerns.
        examples: The first of them: dicts such as ``{"id": 5, "token": "' a'"}``.
    """

    code: str
    severity: Severity
    message: str
    count: int
    examples: tuple[dict[str, Any], ...] = field(default=(), repr=False)


@dataclass(repr=False)
class AuditReport(Report):
    """The result of :func:`audit`. A notebook shows it; :meth:`save` writes a page.

    Attributes:
        name: The name of the tokenizer.
        settings: Size, kind, pattern, normalization, special tokens, fingerprint.
        tokens: id -> bytes.
        classes: class of tokens -> ids.
        scripts: script -> number of tokens whose first character that has a script has this one.
        lengths: length in bytes -> number of tokens, without those that are special or only decode.
        longest: The ids of the longest tokens, longest first.
        unreachable: Tokens that no text can produce.
        findings: Faults first, then notes.
        usage: The measures of the texts; None without texts.
        files: The files that the texts came from.
    """

    name: str
    settings: dict[str, Any]
    tokens: dict[int, bytes]
    classes: dict[str, list[int]]
    scripts: dict[str, int]
    lengths: dict[int, int]
    longest: list[int]
    unreachable: list[Unreachable]
    findings: list[Finding]
    usage: Usage | None = None
    files: tuple[str, ...] = ()

    @property
    def faults(self) -> list[Finding]:
        """The findings that make ``bpetite audit --strict`` fail."""
        return [finding for finding in self.findings if finding.severity == "fault"]

    def to_dict(self) -> dict[str, Any]:
        """Return everything, for JSON; a token is ``{"id": ..., "token": ...}``, as :func:`repr` has it."""
        return {
            "name": self.name,
            "files": list(self.files),
            "settings": self.settings,
            "kinds": {name: len(ids) for name, ids in self.classes.items()},
            "scripts": self.scripts,
            "lengths": {str(length): count for length, count in self.lengths.items()},
            "longest": _token_dicts((token_id, self.tokens[token_id]) for token_id in self.longest),
            "unreachable": [
                {"id": one.id, "token": token_repr(one.token), "reason": one.reason} for one in self.unreachable
            ],
            "faults": len(self.faults),
            "findings": [vars(finding) | {"examples": list(finding.examples)} for finding in self.findings],
            "usage": None if self.usage is None else self.usage.to_dict(),
        }

    def __repr__(self) -> str:
        texts = "" if self.usage is None else f", {self.usage.total.bytes_per_token:.3f} bytes per token"
        return (
            f"<AuditReport of {self.name}: {len(self.tokens):,} tokens, {counted(len(self.faults), 'fault')}, "
            f"{len(self.unreachable):,} unreachable{texts}>"
        )


@dataclass(frozen=True, repr=False)
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

    def __repr__(self) -> str:
        text = self.text if len(self.text) <= SHOWN else f"{self.text[:SHOWN]}..."
        return (
            f"<Difference in document {self.document}, character {self.offset}: {text!r}, "
            f"{counted(len(self.a), 'token')} in A, {len(self.b):,} in B>"
        )


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
        shared: How many tokens have the same id in the two.
        first_merge: The first rank at which the merge lists differ; None if they are equal.
        merges_at_first: The merges of A and B at this rank; None after the end of a list.
        merges_only_a, merges_only_b: How many merges the other does not have.
        merges_reordered: How many of the common merges would have to move for their order to be the same.
        documents: How many texts were compared; None if there were no texts.
        documents_differing: How many texts get different ids.
        tokens_a, tokens_b: How many tokens all texts have.
        cut_places: How many stretches of text are cut into different tokens.
        other_ids: How many tokens are cut alike and have different ids.
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

    @property
    def sizes(self) -> tuple[int, int]:
        """The number of tokens, as different byte strings, of each vocabulary."""
        common = self.shared + len(self.moved)
        return common + len(self.only_a), common + len(self.only_b)

    def to_dict(self, limit: int = 100) -> dict[str, Any]:
        """Return everything, for JSON; lists of tokens are cut at ``limit``, their counts are not."""

        def tokens(found: dict[bytes, int]) -> dict[str, Any]:
            first = ((token_id, token) for token, token_id in islice(found.items(), limit))
            return {"count": len(found), "first": _token_dicts(first)}

        moved = [{"token": token_repr(token), "a": a, "b": b} for token, (a, b) in islice(self.moved.items(), limit)]
        merge_a, merge_b = (
            None if pair is None else [token_repr(part) for part in pair] for pair in self.merges_at_first
        )
        texts = None
        if self.documents is not None:
            counts = ("documents", "documents_differing", "tokens_a", "tokens_b", "cut_places", "other_ids")
            places = [
                vars(place) | {"a": _token_dicts(place.a), "b": _token_dicts(place.b)} for place in self.places[:limit]
            ]
            texts = {name: getattr(self, name) for name in counts} | {"places": places}
        return {
            "names": list(self.names),
            "files": list(self.files),
            "same": self.same,
            "settings": {name: {"a": a, "b": b} for name, (a, b) in self.settings.items()},
            "special_tokens": {literal: {"a": a, "b": b} for literal, (a, b) in self.specials.items()},
            "vocabulary": {
                "shared": self.shared,
                "only_a": tokens(self.only_a),
                "only_b": tokens(self.only_b),
                "moved": {"count": len(self.moved), "first": moved},
            },
            "merges": {
                "first_difference": self.first_merge,
                "a": merge_a,
                "b": merge_b,
                "only_a": self.merges_only_a,
                "only_b": self.merges_only_b,
                "reordered": self.merges_reordered,
            },
            "texts": texts,
        }

    def __repr__(self) -> str:
        a, b = self.names
        if self.same:
            return f"<DiffReport of {a} and {b}: the same>"
        texts = ""
        if self.documents is not None:
            texts = f", {self.documents_differing:,} of {counted(self.documents, 'document')} with other ids"
        return (
            f"<DiffReport of {a} and {b}: {self.shared:,} tokens the same, {len(self.moved):,} under other ids, "
            f"{len(self.only_a):,} only in A, {len(self.only_b):,} only in B{texts}>"
        )


def _token_dicts(tokens: Iterable[tuple[int, bytes]]) -> list[dict[str, Any]]:
    return [{"id": token_id, "token": token_repr(token)} for token_id, token in tokens]


@dataclass(repr=False)
class Figures:
    """The figures of one tokenizer in a :class:`Comparison`.

    Attributes:
        name: The name of the tokenizer.
        usage: Its counts over all texts.
        groups: group -> its counts there.
        tokens: How many tokens it has.
        longest: The longest token that is not special.
    """

    name: str
    usage: Usage
    groups: dict[str, ScriptUse]
    tokens: int
    longest: bytes

    @property
    def total(self) -> ScriptUse:
        """The counts over all texts."""
        return self.usage.total

    @property
    def vocabulary_used(self) -> float:
        """The share of the tokens, without special ones, that occur in the texts."""
        ordinary = int(self.usage.ordinary.sum())
        return 1 - len(self.usage.never_used) / ordinary if ordinary else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return the figures over all texts, for JSON."""
        return {
            "name": self.name,
            "vocabulary": self.tokens,
            "documents": self.usage.documents,
            **self.total.to_dict(),
            "renyi_efficiency": round(self.usage.renyi_efficiency, 6),
            "vocabulary_used": round(self.vocabulary_used, 6),
            "longest": token_repr(self.longest),
            "longest_bytes": len(self.longest),
        }

    def __repr__(self) -> str:
        total = self.total
        return (
            f"<Figures of {self.name}: {total.bytes_per_token:.3f} bytes per token, {total.tokens_per_word:.3f} tokens "
            f"per word>"
        )


@dataclass(repr=False)
class Comparison(Report):
    """The result of :func:`compare`. A notebook shows it; :meth:`save` writes a page.

    Attributes:
        tokenizers: The figures of each, in the order given.
        documents: group -> how many texts, in the order in which they came.
        by: The name of the grouping, for people, such as "lang".
        files: The files that the texts came from.
    """

    tokenizers: list[Figures] = field(default_factory=list)
    documents: dict[str, int] = field(default_factory=dict)
    by: str | None = None
    files: tuple[str, ...] = ()

    @property
    def groups(self) -> list[str]:
        """The groups, the one with most bytes first; none where the texts have none."""
        if list(self.documents) == [ALL]:
            return []
        first = self.tokenizers[0].groups
        return sorted(self.documents, key=lambda group: -first[group].bytes if group in first else 0)

    def of_group(self, group: str) -> list[ScriptUse]:
        """The counts of a group, for each tokenizer."""
        return [one.groups.get(group, ScriptUse()) for one in self.tokenizers]

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each tokenizer over all texts, whose "group" is None, followed by one for each group."""
        made = []
        for number, one in enumerate(self.tokenizers):
            figures = one.to_dict()
            made.append({"tokenizer": figures.pop("name"), "group": None, **figures})
            for group in self.groups:
                counts = {"documents": self.documents[group], **self.of_group(group)[number].to_dict()}
                made.append({"tokenizer": one.name, "group": group, "vocabulary": one.tokens, **counts})
        return made

    def to_dict(self) -> dict[str, Any]:
        """Return everything, for JSON."""
        return {"by": self.by, "files": list(self.files), "rows": self.rows()}

    def to_csv(self) -> str:
        """Return :meth:`rows` as CSV (RFC 4180) with a head; figures that a group does not have are empty."""
        out = io.StringIO()
        rows = self.rows()
        writer = csv.DictWriter(out, list(rows[0]) if rows else ["tokenizer"], restval="")
        writer.writeheader()
        writer.writerows(rows)
        return out.getvalue()

    def __repr__(self) -> str:
        rates = ", ".join(f"{one.name} {one.total.bytes_per_token:.3f}" for one in self.tokenizers)
        return f"<Comparison of {len(self.tokenizers)} tokenizers, bytes per token: {rates}>"


@dataclass(frozen=True)
class Side:
    """The tokens of one tokenizer in a :class:`TokenView`.

    Attributes:
        name: The name of the tokenizer.
        tokens, different, specials: How many tokens, different ids and special tokens the whole text has.
        layout: The tokens in the window.
        start: Position of the window's first byte.
    """

    name: str
    tokens: int
    different: int
    specials: int
    layout: Layout = field(repr=False)
    start: int


@dataclass(frozen=True, repr=False)
class TokenView(Report):
    """A text as one or two tokenizers cut it. A notebook shows it; :meth:`save` writes a page.

    Attributes:
        title: The title of the page.
        sides: The tokens, for each tokenizer.
        characters: Length of the whole text, as the first tokenizer normalizes it.
        bytes: Its length in UTF-8.
        first, last: The window, in characters.
        line: The line of the text in which the window begins, from 1.
        aligned: True where the tokenizers see the same text, so that their tokens can be compared.
    """

    title: str
    sides: tuple[Side, ...]
    characters: int
    bytes: int
    first: int
    last: int
    line: int
    aligned: bool

    @property
    def tokens(self) -> list[int]:
        """The number of tokens of the whole text, for each tokenizer."""
        return [side.tokens for side in self.sides]

    @property
    def whole(self) -> bool:
        """True where the window shows the whole text."""
        return self.first == 0 and self.last == self.characters

    def __repr__(self) -> str:
        counts = ", ".join(f"{side.name}: {side.tokens} tokens" for side in self.sides)
        return f"<TokenView of {self.characters} characters: {counts}>"


class Merge(NamedTuple):
    """A merge that was applied: its rank (the index in the merge list; in the ranks kind, the id of the joined token),
    the bytes of the two tokens, and the position of the left one in the pre-token, in bytes."""

    rank: int
    left: bytes
    right: bytes
    start: int


@dataclass(frozen=True)
class Pretoken:
    """A pre-token, and the way from its bytes to its ids.

    Attributes:
        data: Its bytes.
        rule: "special": a special token; "whole": a token, taken whole; "merges": bytes, joined by merges.
        ids: The ids that it gives.
        tokens: Their bytes.
        merges: The merges, in the order in which they were applied.
    """

    data: bytes
    rule: Literal["special", "whole", "merges"]
    ids: list[int]
    tokens: list[bytes]
    merges: list[Merge] = field(default_factory=list)


@dataclass(frozen=True, repr=False)
class Explanation(Report):
    """The result of :func:`explain`. A notebook shows it; :meth:`save` writes a page.

    Attributes:
        text: The text as given.
        spelled: The text that the tokens spell, after normalization.
        ids: Its ids.
        pretokens: The pre-tokens and special tokens, in order.
        verdict: The reason why the expected token is not there, or that it is; "" where none was expected.
        missing: Merges that do not exist, and that would have made the expected token of the tokens of its bytes.
    """

    text: str
    spelled: str
    ids: list[int]
    pretokens: list[Pretoken]
    verdict: str = ""
    missing: list[tuple[bytes, bytes]] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """Return everything, for JSON; tokens are written as Python writes them."""
        pretokens = [vars(one) | {"merges": [step._asdict() for step in one.merges]} for one in self.pretokens]
        shown: dict[str, Any] = _shown(vars(self) | {"pretokens": pretokens})
        return shown

    def __repr__(self) -> str:
        return f"<Explanation of {len(self.ids)} tokens in {len(self.pretokens)} pre-tokens>"


def _shown(value: Any) -> Any:
    """A value with its bytes as :func:`token_repr` writes them."""
    if isinstance(value, dict):
        return {key: _shown(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return list(map(_shown, value))
    return token_repr(value) if isinstance(value, bytes) else value
