"""Tokens that a text can produce, and those that none can.

A token is *reachable* when there is a text, of whole characters, whose ``encode_ordinary`` holds it. This module
decides that for each token of whole characters. A reachable one comes with such a text, which the tokenizer itself has
encoded. An unreachable one comes with the reason:

``utf-8``          no UTF-8 text holds these bytes (0xFF; a lead byte without the bytes that must follow)
``normalization``  the tokenizer normalizes, and no text in that form holds these characters
``merges``         the merges make other tokens of these bytes, whatever surrounds them
``decode-only``    the vocabulary keeps it as one that no text reaches, see :class:`bpetite.Vocab`
``pattern``        the merges would make it, but the split pattern (or a normalization that is not one of Unicode's
                   forms) separated its bytes in every text tried

All but ``pattern`` are proofs. ``pattern`` is the outcome of a search that is bounded by :data:`BUDGET`. A token that
is part of a character counts as reachable unless ``utf-8``, ``normalization`` or ``merges`` rules it out: it may still
be that every way to complete the character merges into it.

Why ``merges`` may look at the bytes of a token alone: merges take the lowest rank, the leftmost first. Where a token
comes out, no merge ever crossed its edges, so inside them the same merges ran in the same order as they do on its bytes
alone.
"""
from __future__ import annotations

import codecs
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice, product

import numpy as np

from ..patterns import as_tuple
from ..steps.normalizers import normalize
from ..tokenizer import Tokenizer
from .results import Reason, Unreachable

__all__ = ["BUDGET", "REASONS", "Reach", "reach"]

#: Texts that the search encodes at most.
BUDGET = 500_000

#: Texts that are encoded in one call.
BATCH = 4096

#: reason -> its meaning, for people.
REASONS: dict[Reason, str] = {
    "utf-8": "no UTF-8 text holds these bytes",
    "normalization": "no text in the tokenizer's normal form holds these characters",
    "merges": "the merges make other tokens of these bytes",
    "decode-only": "empty, or not in the printable form of their file: they only decode",
    "pattern": "the split pattern cut it in every text tried",
}

#: Characters that a pattern may tell apart, to surround a token with: the likeliest first.
_AROUND = (
    "a A1 .\n'!/_\t\r-猫éÉ\u00a0\u3000s\u0301٣²ǅʰ🙂—€"
    "\u200d\u3042\uac00عkLtmdlvreSTMDLVRE\u17b5Ⅷ«»‿ſ\ue000\u0378\x00\u2028"
)

_CONTINUATION = bytes(range(0x80, 0xC0))


@dataclass(frozen=True, repr=False)
class Reach:
    """The answer for a whole vocabulary.

    Attributes:
        unreachable: In the order of ids; special tokens are not among them.
        witness: id -> a text that produces the token, for tokens that need something before or after them.
        forgeable: id -> a text, for special tokens that ordinary text can produce.
    """

    unreachable: list[Unreachable]
    witness: dict[int, str]
    forgeable: dict[int, str]

    def __repr__(self) -> str:
        return f"<Reach: {len(self.unreachable):,} tokens unreachable, {len(self.forgeable):,} specials forgeable>"


def reach(tokenizer: Tokenizer) -> Reach:
    """Sort the tokens of a vocabulary into those that a text can produce and those that none can."""
    return _Search(tokenizer).run()


class _Search:
    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        vocab = tokenizer.to_vocab()
        self.tokens = vocab.tokens
        self.decode_only = vocab.unreachable
        self.specials = set(vocab.special_tokens.values())
        self.merge_table = vocab.merge_table
        self.byte_ids = {
            token: token_id
            for token_id, token in self.tokens.items()
            if len(token) == 1 and token_id not in vocab.not_looked_up
        }
        # Of special tokens, ordinary text gives only those that are the token of a byte.
        never = (self.decode_only | self.specials).difference(self.byte_ids.values())
        self.judged = {token_id: token for token_id, token in self.tokens.items() if token_id not in never}
        self.letters = vocab.letters
        #: Part of a text in a Unicode normal form is in that form; of other normalizations nothing is known.
        self.form = vocab.normalization if isinstance(vocab.normalization, str) else None
        self.unicode = vocab.unicode
        #: A pre-token that is a token is taken whole, so a token can be reached without merges.
        self.takes_whole = vocab.merges is None or vocab.ignore_merges

    def run(self) -> Reach:
        texts: dict[int, str] = {}
        verdicts: dict[int, str | Unreachable | None] = {}
        for token_id, token in self.judged.items():
            try:
                texts[token_id] = token.decode("utf-8")
            except UnicodeDecodeError:
                verdicts[token_id] = self.judge_part(token_id)
        produced = self.produced(texts.values())
        left = {token_id: text for token_id, text in texts.items() if token_id not in produced}
        verdicts |= {token_id: self.judge_text(token_id, text) for token_id, text in left.items()}
        verdicts |= self.search({token_id: text for token_id, text in left.items() if verdicts[token_id] is None})
        verdicts |= {one: Unreachable(one, self.tokens[one], "decode-only") for one in self.decode_only}
        unreachable = [found for found in verdicts.values() if isinstance(found, Unreachable)]
        return Reach(
            sorted((one for one in unreachable if one.id not in self.specials), key=lambda one: one.id),
            {token_id: found for token_id, found in verdicts.items() if isinstance(found, str)},
            {token_id: texts[token_id] for token_id in sorted(self.specials) if token_id in produced},
        )

    # Asking the tokenizer

    def produced(self, texts: Iterable[str]) -> dict[int, str]:
        """The ids that texts give, read as ordinary text, each with the first text that gives it."""
        texts = list(texts)
        if not texts:
            return {}
        try:
            ids, offsets = self.tokenizer.encode_batch_to_numpy(texts, allowed_special=())
        except ValueError:  # a byte without a token, in one text or more
            if len(texts) == 1:
                return {}
            middle = len(texts) // 2
            return self.produced(texts[middle:]) | self.produced(texts[:middle])
        different, first = np.unique(ids, return_index=True)
        text_of = np.searchsorted(offsets, first, "right") - 1
        return {token_id: texts[at] for token_id, at in zip(different.tolist(), text_of.tolist(), strict=True)}

    def instead(self, text: str) -> tuple[bytes, ...]:
        """The tokens that a text gives; none if it cannot be encoded."""
        try:
            return tuple(self.tokens[token_id] for token_id in self.tokenizer.encode_ordinary(text))
        except ValueError:
            return ()

    def merged(self, token: bytes) -> tuple[bytes, ...]:
        """The tokens that the merges make of some bytes alone."""
        if self.letters is not None:
            merged = self.merge_table.apply(self.letters.ids_of(token))
            return tuple(self.tokens[token_id] for token_id in merged)
        parts = [bytes([byte]) for byte in token]
        if not self.byte_ids.keys() >= set(parts):  # a byte without a token, which no merge has
            return tuple(parts)
        merged = self.merge_table.apply(array("I", [self.byte_ids[part] for part in parts]))
        return tuple(self.tokens[token_id] for token_id in merged)

    def in_form(self, text: str) -> bool:
        return self.form is None or normalize(self.form, text, self.unicode) == text

    # Tokens of whole characters

    def judge_text(self, token_id: int, text: str) -> Unreachable | None:
        """The proof that no text gives this token; None leaves it to the search."""
        token = self.tokens[token_id]
        if not self.in_form(text):
            return Unreachable(token_id, token, "normalization", self.instead(text))
        merged = self.merged(token)
        if merged != (token,) and not self.takes_whole:
            return Unreachable(token_id, token, "merges", merged)
        return None

    def search(self, cut: dict[int, str]) -> dict[int, str | Unreachable]:
        """For tokens that their own text does not give, a text that does, or the reason ``pattern``."""
        found = self.search_around(cut, _surroundings(_around(self.tokenizer)))
        return {
            key: found.get(key) or Unreachable(key, self.tokens[key], "pattern", self.instead(text))
            for key, text in cut.items()
        }

    def search_around(self, wanted: dict[int, str], surroundings: Iterable[tuple[str, str]]) -> dict[int, str]:
        """Try tokens in surroundings, up to BUDGET texts: id -> the first text that gives the token."""
        found: dict[int, str] = {}
        left = dict(wanted)
        surroundings = iter(surroundings)
        spent = 0
        while left and spent < BUDGET:
            # A batch is few surroundings of many tokens, or many of few.
            some = list(islice(surroundings, max(1, BATCH // len(left))))
            if not some:
                break
            spent += len(some) * len(left)
            texts = (before + text + after for before, after in some for text in left.values())
            for token_id, text in self.produced(texts).items():
                if left.pop(token_id, None) is not None:
                    found[token_id] = text
        return found

    # Tokens that are not whole characters

    def judge_part(self, token_id: int) -> Unreachable | None:
        """The proof that no text gives this token, if there is one."""
        token = self.tokens[token_id]
        body = whole_characters(token)
        if body is None:
            return Unreachable(token_id, token, "utf-8")
        if not self.in_form(body):
            return Unreachable(token_id, token, "normalization")
        merged = self.merged(token)
        return None if merged == (token,) else Unreachable(token_id, token, "merges", merged)


def whole_characters(token: bytes) -> str | None:
    r"""Return the whole characters between the parts of characters at a token's ends; None if no UTF-8 holds the token.

    >>> whole_characters(b"\xa0 caf\xc3"), whole_characters(b"\x80\x80"), whole_characters(b"a\xff")
    (' caf', '', None)
    """
    body = token.lstrip(_CONTINUATION)
    if len(token) - len(body) > 3:
        return None
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        text = decoder.decode(body)
    except UnicodeDecodeError:
        return None
    rest = decoder.getstate()[0]
    return None if rest[:1] == b"\xed" and rest[1:] >= b"\xa0" else text  # a surrogate is refused at its third byte


def _around(tokenizer: Tokenizer) -> list[str]:
    """The characters to try around a token: of every kind, and those that the pattern itself names."""
    named = [char for step in as_tuple(tokenizer.pattern) if isinstance(step, str) for char in step if char.isalnum()]
    return list(dict.fromkeys([*_AROUND, *named]))


def _surroundings(around: list[str]) -> Iterator[tuple[str, str]]:
    """Texts to put before a token and after it, the shortest first."""
    yield from ((one, "") for one in around)
    yield from (("", one) for one in around)
    yield from product(around, around)
    pairs = ["".join(pair) for pair in product(around, around)]
    yield from ((pair, "") for pair in pairs)
    yield from (("", pair) for pair in pairs)
    yield from product(pairs, around)
    yield from product(around, pairs)
