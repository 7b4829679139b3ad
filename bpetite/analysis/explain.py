"""The way from a text to its ids: normalization, special tokens, pre-tokens, and merge by merge inside each pre-token.

The pre-tokens come from the engine; the merges are followed here by the plain rule, the lowest rank first.
"""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal, NamedTuple

from ..core._special import Specials
from ..engine.call_options import SpecialSelection
from ..engine.choice import engine_parts
from ..engine.pipeline import Pipeline
from ..errors import counted
from ..reference import candidates
from ..tokenizer import Tokenizer
from ..vocabulary.vocab import Vocab
from .escapes import token_repr
from .report import Code, Contents, Report, Section, Table

#: Bytes of a pre-token at most: the plain rule is quadratic.
LONGEST = 1000


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
    """

    text: str
    spelled: str
    ids: list[int]
    pretokens: list[Pretoken]

    def _contents(self) -> Contents:
        return Contents(f"The ids of {self.text!r}", counted(len(self.ids), "token"), [], _sections(self))


def explain(tokenizer: Tokenizer, text: str, *, allowed_special: SpecialSelection = "all") -> Explanation:
    """Explain the ids of a text, step by step.

    Args:
        tokenizer: The tokenizer.
        text: The text, such as one word.
        allowed_special: Special tokens to recognise, as :meth:`bpetite.Tokenizer.encode` takes them.

    Raises:
        ValueError: A pre-token is longer than 1,000 bytes; a byte has no token.

    >>> found = explain(Tokenizer.train("ab ab ab", 258), "abba")
    >>> [(step.rank, step.left, step.right) for step in found.pretokens[0].merges], found.ids
    ([(0, b'a', b'b')], [256, 98, 97])
    """
    vocab = tokenizer.to_vocab()
    ids = tokenizer.encode(text, allowed_special=allowed_special)
    specials = {
        literal: token_id for literal, token_id in vocab.special_tokens.items()
        if allowed_special == "all" or literal in allowed_special
    }  # fmt: skip
    rules = _Rules(vocab)
    pretokens: list[Pretoken] = []
    pipeline = engine_parts(vocab)[2] or Pipeline(vocab, vocab.pattern)
    for item in pipeline.items(text, Specials(specials)):
        if isinstance(item, int):
            token = vocab.tokens[item]
            pretokens.append(Pretoken(token, "special", [item], [token]))
            continue
        data, ends = item if isinstance(item, tuple) else (item, pipeline.pretokenizer.ends(item))
        pretokens += [rules.encode(rules.as_tokens(data[start:end])) for start, end in pairwise([0, *ends])]
    spelled = b"".join([one.data for one in pretokens]).decode("utf-8")
    return Explanation(text, spelled, ids, pretokens)


class _Rules:
    """The plain rules of a vocabulary, on the bytes of tokens."""

    def __init__(self, vocab: Vocab) -> None:
        self.id_of = vocab.id_of
        self.tokens, self.alphabet = vocab.tokens, vocab.alphabet_table
        self.space = b"" if vocab.alphabet is None else vocab.alphabet.space.encode("utf-8")
        self.ordinary = {token: one for token, one in self.id_of.items() if one not in vocab.not_looked_up}
        self.whole = self.ordinary if vocab.merges is None or vocab.ignore_merges else {}
        #: The rank of a pair, or in the ranks kind the rank of the joined token.
        self.ranks: dict[Any, int] = self.ordinary
        if vocab.merges is not None:
            tokens = vocab.tokens
            self.ranks = {(tokens[left], tokens[right]): rank for rank, (left, right) in enumerate(vocab.merges)}

    def as_tokens(self, data: bytes) -> bytes:
        """Normalized text in the characters of tokens, in which a space is a space."""
        return data.replace(self.space, b" ") if self.space else data

    def encode(self, data: bytes) -> Pretoken:
        return Pretoken(data, "whole", [self.whole[data]], [data]) if data in self.whole else self.merge(data)

    def merge(self, data: bytes) -> Pretoken:
        """Bytes joined by merges, the lowest rank first, the leftmost of equals first."""
        if len(data) > LONGEST:
            raise ValueError(f"a pre-token of {len(data):,} bytes; up to {LONGEST:,} are explained: {data[:20]!r}...")
        tokens = [bytes([byte]) for byte in data]
        if self.alphabet is not None:
            tokens = [self.tokens[token_id] for token_id in self.alphabet.ids_of(data)]
        steps: list[Merge] = []
        while joins := candidates(tokens, self.ranks):
            rank, at = min(joins)
            steps.append(Merge(rank, tokens[at], tokens[at + 1], len(b"".join(tokens[:at]))))
            tokens[at : at + 2] = [tokens[at] + tokens[at + 1]]
        return Pretoken(data, "merges", [self.id_of.get(token, -1) for token in tokens], tokens, steps)


def _sections(report: Explanation) -> Iterator[Section]:
    if report.spelled != report.text:
        yield "Normalization", [Table("Normalization", [], [["normalized", Code(repr(report.spelled))]])]
    rules = {"special": "special token", "whole": "taken whole", "merges": "merges"}
    rows = [[Code(token_repr(one.data)), rules[one.rule], _tokens(one)] for one in report.pretokens]
    yield "Pre-tokens", [Table("Pre-tokens", ["pre-token", "rule", "tokens"], rows, few=100)]
    merged = {one.data: one for one in report.pretokens if one.rule == "merges" and len(one.data) > 1}
    yield from map(_merges, merged.values())


def _merges(one: Pretoken) -> Section:
    steps = [(f"{step.rank:,}", step.left, step.right) for step in one.merges]
    steps += [("none", left, right) for left, right in pairwise(one.tokens)]
    rows = [[rank, Code(token_repr(left)), Code(token_repr(right))] for rank, left, right in steps]
    title = f"Merges of {token_repr(one.data)}"
    return title, [Table(title, ["rank", "left", "right"], rows, few=100)]


def _tokens(one: Pretoken) -> Code:
    pairs = zip(one.ids, one.tokens, strict=True)
    return Code("  ".join(f"{token_id} {token_repr(token)}" for token_id, token in pairs))
