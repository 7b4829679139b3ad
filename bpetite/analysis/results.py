"""The reports of this room: plain records, which the modules of :mod:`bpetite.analysis.pages` draw."""
from __future__ import annotations

import csv
import io
from collections.abc import Callable
from dataclasses import dataclass, field, is_dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from .cells import Cell
from .characters import token_repr

__all__ = [
    "ALL",
    "AuditReport",
    "Comparison",
    "DiffReport",
    "Difference",
    "Explanation",
    "Figures",
    "Finding",
    "Form",
    "Merge",
    "Pretoken",
    "Reason",
    "Report",
    "ScriptUse",
    "Severity",
    "Side",
    "TokenView",
    "Unreachable",
    "Usage",
]

#: The group of texts that belong to none.
ALL = "all"

#: Order of the Renyi entropy that correlated best with translation quality in the paper that proposed it.
RENYI_ORDER = 2.5

#: A whole page, one element for somebody else's page, text for a terminal, or one line.
Form = Literal["page", "element", "text", "line"]

Reason = Literal["utf-8", "normalization", "merges", "decode-only", "pattern"]
Severity = Literal["fault", "note"]

#: An attribute that JSON leaves out.
_LARGE = {"json": False}


def _plain(value: Any) -> Any:
    """A value for JSON: a record as its attributes, a token as :func:`token_repr` writes it."""
    if isinstance(value, bytes):
        return token_repr(value)
    if is_dataclass(value):
        fields = value.__dataclass_fields__.values()
        return {one.name: _plain(getattr(value, one.name)) for one in fields if "json" not in one.metadata}
    if isinstance(value, dict):
        return {_plain(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return _plain(value._asdict()) if hasattr(value, "_asdict") else list(map(_plain, value))
    return value


class Report:
    """A report that draws itself: a notebook shows it, and ``str()`` gives its text for a terminal."""

    #: Set by the module of its page.
    _drawn: ClassVar[Callable[[Any, Form], str]]

    def page(self) -> str:
        """Return the page, one file of HTML that needs no network."""
        return self._drawn("page")

    def save(self, path: str | Path) -> None:
        """Write the page.

        Raises:
            OSError: The file cannot be written.
        """
        Path(path).write_text(self.page(), encoding="utf-8", newline="")

    def to_html(self) -> str:
        """Return one element with its own styles and without a script, to put into a page of yours."""
        return self._drawn("element")

    _repr_html_ = to_html

    def to_dict(self) -> dict[str, Any]:
        """Return the attributes, for JSON; a token is written as :func:`repr` has it."""
        return dict(_plain(self))

    def __str__(self) -> str:
        return self._drawn("text")

    def __repr__(self) -> str:
        return f"<{self._drawn('line')}>"


# Measures of texts


@dataclass
class ScriptUse:
    """Counts of one script. Tokens and words belong to the script of their first character that has one; a word is a
    sequence of letters, marks and digits. ``word_tokens`` adds up the tokens that each word overlaps."""

    tokens: int = 0
    bytes: int = 0
    characters: int = 0
    words: int = 0
    word_tokens: int = 0
    whole_words: int = 0

    @property
    def bytes_per_token(self) -> float:
        return self.bytes / max(self.tokens, 1)

    @property
    def tokens_per_character(self) -> float:
        return self.tokens / max(self.characters, 1)

    @property
    def tokens_per_word(self) -> float:
        """The tokens that a word overlaps, on average."""
        return self.word_tokens / max(self.words, 1)

    @property
    def whole_word_share(self) -> float:
        """The share of words that lie in one token."""
        return self.whole_words / max(self.words, 1)

    def add(self, other: ScriptUse) -> None:
        for name, count in vars(other).items():
            setattr(self, name, getattr(self, name) + count)

    def to_dict(self) -> dict[str, float]:
        """Return counts and rates, for JSON."""
        rates = ("bytes_per_token", "tokens_per_character", "tokens_per_word", "whole_word_share")
        return vars(self) | {name: round(getattr(self, name), 4) for name in rates}


@dataclass(repr=False)
class Usage:
    """The result of :func:`measure`.

    Attributes:
        documents: The number of texts.
        ids: int64[n]: the ids of the vocabulary, ascending.
        counts: int64[n]: the occurrences of each.
        ordinary: bool[n]: False for special tokens, which ordinary text does not use.
        scripts: script -> its counts, most bytes first; "Common" holds spaces, digits, punctuation and symbols.
        word_tokens: The numbers of words with 1, 2, ... tokens; the last of the ten counts 10 and more.
        costly_words: (word, how often, tokens each), those that take most tokens beyond one a word first.
    """

    documents: int
    ids: npt.NDArray[np.int64]
    counts: npt.NDArray[np.int64]
    ordinary: npt.NDArray[np.bool_]
    scripts: dict[str, ScriptUse] = field(default_factory=dict)
    word_tokens: list[int] = field(default_factory=lambda: [0] * 10)
    costly_words: list[tuple[str, int, int]] = field(default_factory=list)

    def __repr__(self) -> str:
        total = self.total
        rate = f"{total.bytes_per_token:.3f} bytes per token"
        return f"<Usage of {self.documents:,} documents: {total.tokens:,} tokens, {rate}>"

    @property
    def total(self) -> ScriptUse:
        """All scripts together."""
        total = ScriptUse()
        for use in self.scripts.values():
            total.add(use)
        return total

    @property
    def never_used(self) -> list[int]:
        """The ids of tokens that did not occur, special tokens left out."""
        unused: list[int] = self.ids[self.ordinary & (self.counts == 0)].tolist()
        return unused

    @property
    def vocabulary_used(self) -> float:
        """The share of the tokens, without special ones, that occurred."""
        return int((self.counts[self.ordinary] > 0).sum()) / max(int(self.ordinary.sum()), 1)

    def most_used(self, limit: int) -> list[tuple[int, int]]:
        """(id, how often) of the most frequent tokens."""
        order = np.argsort(-self.counts, kind="stable")[:limit]
        return [(int(self.ids[at]), int(self.counts[at])) for at in order if self.counts[at]]

    @property
    def renyi_efficiency(self) -> float:
        """Renyi entropy of order 2.5 of the token frequencies, divided by its maximum, the logarithm of the
        vocabulary's size: 1 when all tokens are equally frequent, near 0 when a few make up the text.

        Source: V. Zouhar et al., "Tokenization and the Noiseless Channel", ACL 2023.
        """
        used = self.counts[self.counts > 0]
        if len(self.counts) < 2 or not len(used):
            return 0.0
        shares = used / used.sum()
        entropy = np.log(np.sum(shares**RENYI_ORDER)) / (1 - RENYI_ORDER)
        return float(entropy / np.log(len(self.counts))) + 0.0

    def figures(self) -> dict[str, float]:
        """Return the figures over all texts, for JSON."""
        efficiency, used = round(self.renyi_efficiency, 6), round(self.vocabulary_used, 6)
        more = {"renyi_efficiency": efficiency, "vocabulary_used": used}
        return {"documents": self.documents, **self.total.to_dict(), **more}

    def to_dict(self) -> dict[str, Any]:
        """Return everything, for JSON; tokens are given as ids."""
        return {
            **self.figures(),
            "never_used": self.never_used,
            "most_used": self.most_used(50),
            "words_by_tokens": self.word_tokens,
            "costly_words": self.costly_words,
            "scripts": {name: use.to_dict() for name, use in self.scripts.items()},
        }


# A tokenizer and its mistakes


@dataclass(frozen=True)
class Unreachable:
    """A token that no text produces, why, and the tokens that its bytes give instead where that is known."""

    id: int
    token: bytes
    reason: Reason
    instead: tuple[bytes, ...] = ()


@dataclass(frozen=True)
class Finding:
    """One result of an audit.

    Attributes:
        code: A stable name for programs, such as "missing-bytes".
        severity: "fault": text is refused, changed or encoded otherwise than intended, or a mistake in the vocabulary
            wastes ids. "note": good to know, and common in tokenizers that work well.
        message: One sentence for people.
        count: The number of tokens, merges, bytes or texts that it concerns.
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
        longest: id -> bytes of the longest tokens, longest first.
        unreachable: Tokens that no text can produce.
        findings: Faults first, then notes.
        usage: The measures of the texts; None without texts.
        files: The files that the texts came from.
    """

    name: str
    settings: dict[str, Any]
    tokens: dict[int, bytes] = field(metadata=_LARGE)
    classes: dict[str, list[int]] = field(metadata=_LARGE)
    scripts: dict[str, int]
    lengths: dict[int, int]
    longest: dict[int, bytes]
    unreachable: list[Unreachable]
    findings: list[Finding]
    usage: Usage | None = None
    files: tuple[str, ...] = ()

    @property
    def faults(self) -> list[Finding]:
        """The findings that make ``bpetite audit --strict`` fail."""
        return [finding for finding in self.findings if finding.severity == "fault"]

    def to_dict(self) -> dict[str, Any]:
        """Return everything, for JSON; a token is written as :func:`repr` has it."""
        kinds = {name: len(ids) for name, ids in self.classes.items()}
        usage = None if self.usage is None else self.usage.to_dict()
        return super().to_dict() | {"kinds": kinds, "faults": len(self.faults), "usage": usage}


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

    @property
    def sizes(self) -> tuple[int, int]:
        """The number of tokens, as different byte strings, of each vocabulary."""
        common = self.shared + len(self.moved)
        return common + len(self.only_a), common + len(self.only_b)

    def to_dict(self) -> dict[str, Any]:
        """Return everything, for JSON; a token is written as :func:`repr` has it."""
        return super().to_dict() | {"same": self.same}


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


@dataclass(frozen=True)
class Side:
    """The tokens of one tokenizer in a :class:`TokenView`.

    Attributes:
        name: The name of the tokenizer.
        tokens, different, specials: The numbers of tokens, different ids and special tokens in the whole text.
        cells: The tokens in the window.
        start: Position of the window's first byte.
    """

    name: str
    tokens: int
    different: int
    specials: int
    cells: list[Cell] = field(repr=False)
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
