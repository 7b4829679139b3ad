"""Tokens that a text can produce, and those that none can.

A token is *reachable* when there is a text, of whole characters, whose ``encode_ordinary`` holds it. This module
decides that for each token of whole characters. A reachable one comes with such a text, which the tokenizer itself has
encoded; an unreachable one comes with its reason, one of :data:`REASONS`.

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
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, product
from typing import Literal

import numpy as np

from ..patterns import as_tuple
from ..steps.normalizers import normalize
from ..tokenizer import Tokenizer
from ..vocabulary.vocab import Vocab

__all__ = ["BUDGET", "REASONS", "Reach", "Unreachable", "reach"]

Reason = Literal["utf-8", "normalization", "merges", "decode-only", "pattern"]

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


@dataclass(frozen=True)
class Unreachable:
    """A token that no text produces, why, and the tokens that its bytes give instead where that is known."""

    id: int
    token: bytes
    reason: Reason
    instead: tuple[bytes, ...] = ()


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
    vocab = tokenizer.to_vocab()
    tokens, specials = vocab.tokens, set(vocab.special_tokens.values())
    byte_ids = {
        token: token_id
        for token_id, token in tokens.items()
        if len(token) == 1 and token_id not in vocab.not_looked_up
    }
    unreachable = {one: Unreachable(one, tokens[one], "decode-only") for one in vocab.unreachable - specials}
    texts: dict[int, str] = {}
    # of special tokens, ordinary text gives only those that are the token of a byte
    for token_id in sorted(tokens.keys() - vocab.unreachable - specials.difference(byte_ids.values())):
        try:
            texts[token_id] = tokens[token_id].decode("utf-8")
        except UnicodeDecodeError:
            unreachable |= _proof(vocab, byte_ids, token_id)
    given = {token_id for token_id, _ in _giving(tokenizer, list(texts.items()))}
    cut: dict[int, str] = {}
    for token_id in sorted(texts.keys() - given):
        instead = _instead(tokenizer, texts[token_id])
        proof = _proof(vocab, byte_ids, token_id, instead)
        if not proof:
            cut[token_id] = texts[token_id]
            proof = {token_id: Unreachable(token_id, tokens[token_id], "pattern", instead)}
        unreachable |= proof
    witness = _search(tokenizer, cut)
    left = sorted(unreachable.keys() - witness.keys() - specials)
    forgeable = {token_id: texts[token_id] for token_id in sorted(specials & given)}
    return Reach([unreachable[token_id] for token_id in left], witness, forgeable)


def _proof(
    vocab: Vocab, byte_ids: dict[bytes, int], token_id: int, instead: tuple[bytes, ...] = ()
) -> dict[int, Unreachable]:
    """id -> the reason why no text gives the token, if that is proven.

    Args:
        byte_ids: byte -> id, for those that ordinary text gives.
        instead: The tokens that its own text gives, if it is one.
    """
    token = vocab.tokens[token_id]
    body = whole_characters(token)
    if body is None:
        return {token_id: Unreachable(token_id, token, "utf-8")}
    form = vocab.normalization
    # part of a text in a Unicode normal form is in that form; of other normalizations nothing is known
    if isinstance(form, str) and normalize(form, body) != body:
        return {token_id: Unreachable(token_id, token, "normalization", instead)}
    merged = _merged(vocab, byte_ids, token)
    takes_whole = vocab.merges is None or vocab.ignore_merges  # a pre-token that is a token needs no merges
    if merged == (token,) or (takes_whole and body.encode() == token):
        return {}
    return {token_id: Unreachable(token_id, token, "merges", merged)}


def _merged(vocab: Vocab, byte_ids: dict[bytes, int], token: bytes) -> tuple[bytes, ...]:
    """The tokens that the merges make of some bytes alone."""
    parts = [bytes([byte]) for byte in token]
    if vocab.alphabet_table is not None:
        ids = vocab.alphabet_table.ids_of(token)
    elif byte_ids.keys() >= set(parts):
        ids = array("I", [byte_ids[part] for part in parts])
    else:  # a byte without a token, which no merge has
        return tuple(parts)
    return tuple(vocab.tokens[one] for one in vocab.merge_table.apply(ids))


def _instead(tokenizer: Tokenizer, text: str) -> tuple[bytes, ...]:
    """The tokens that a text gives; none if it cannot be encoded."""
    try:
        return tuple(map(tokenizer.token_bytes, tokenizer.encode_ordinary(text)))
    except ValueError:
        return ()


def _giving(tokenizer: Tokenizer, pairs: list[tuple[int, str]]) -> list[tuple[int, str]]:
    """The pairs (id, text) whose text, read as ordinary text, gives the id."""
    try:
        ids, offsets = tokenizer.encode_batch_to_numpy([text for _, text in pairs], allowed_special=())
    except ValueError:  # a byte without a token, in one text or more
        middle = len(pairs) // 2
        return _giving(tokenizer, pairs[:middle]) + _giving(tokenizer, pairs[middle:]) if middle else []
    text_of = np.repeat(np.arange(len(pairs)), np.diff(offsets))
    wanted = np.array([token_id for token_id, _ in pairs], dtype=np.int64)
    return [pairs[at] for at in np.unique(text_of[ids == wanted[text_of]]).tolist()]


def _search(tokenizer: Tokenizer, cut: dict[int, str]) -> dict[int, str]:
    """id -> the first text that gives it, for tokens that their own text does not give. Tries them in surroundings, up
    to BUDGET texts."""
    witness: dict[int, str] = {}
    left = dict(cut)
    # characters of every kind, and those that the pattern itself names
    named = [char for step in as_tuple(tokenizer.pattern) if isinstance(step, str) for char in step if char.isalnum()]
    surroundings = _surroundings(list(dict.fromkeys([*_AROUND, *named])))
    spent = 0
    while left and spent < BUDGET:
        # A batch is few surroundings of many tokens, or many of few.
        some = list(islice(surroundings, max(1, BATCH // len(left))))
        if not some:
            break
        spent += len(some) * len(left)
        pairs = [(token_id, before + text + after) for before, after in some for token_id, text in left.items()]
        for token_id, text in _giving(tokenizer, pairs):
            if left.pop(token_id, None) is not None:
                witness[token_id] = text
    return witness


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
