"""Tokens that a text can produce, and those that none can.

A token is *reachable* when there is a text, of whole characters, whose ``encode_ordinary`` holds it. This module
decides that for each token of whole characters; an unreachable one comes with its reason, one of :data:`REASONS`.

All reasons but ``pattern`` are proofs; that one says that none of the texts that were tried produced the token. A token
that is part of a character counts as reachable unless ``utf-8``, ``normalization`` or ``merges`` rules it out: it may
still be that every way to complete the character merges into it.

Why ``merges`` may look at the bytes of a token alone: merges take the lowest rank, the leftmost first. Where a token
comes out, no merge ever crossed its edges, so inside them the same merges ran in the same order as they do on its bytes
alone.
"""
from __future__ import annotations

import codecs
from array import array
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Literal

import numpy as np

from ..steps.normalizers import normal_form, normalizer
from ..tokenizer import Tokenizer
from ..vocabulary.vocab import Vocab

Reason = Literal["utf-8", "normalization", "merges", "decode-only", "pattern"]

#: reason -> its meaning, for people.
REASONS: dict[Reason, str] = {
    "utf-8": "no UTF-8 text holds these bytes",
    "normalization": "no text in the tokenizer's normal form holds these characters",
    "merges": "the merges make other tokens of these bytes",
    "decode-only": "empty, or not in the printable form of their file: they only decode",
    "pattern": "the split pattern cuts them, alone and next to letters, digits, spaces and marks",
}

#: The texts that are tried before and after a token that a pattern cuts: characters that patterns and maps tell apart.
AROUND = ("", "a", " ", "\n", "!", "1", "S", "'", "/", "_", "猫", "🙂", "İ")

_CONTINUATION = bytes(range(0x80, 0xC0))


@dataclass(frozen=True)
class Unreachable:
    """A token that no text produces (reason "pattern": that none of the tried texts produced), why, and the tokens that
    its bytes give instead where that is known."""

    id: int
    token: bytes
    reason: Reason
    instead: tuple[bytes, ...] = ()


@dataclass(frozen=True, repr=False)
class Reach:
    """The answer for a whole vocabulary.

    Attributes:
        unreachable: In the order of ids; special tokens are not among them.
        forgeable: id -> a text, for special tokens that ordinary text can produce.
    """

    unreachable: list[Unreachable]
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
    given = {token_id for token_id, _ in _pairs_that_give(tokenizer, list(texts.items()))}
    cut: dict[int, str] = {}
    changed = normalizer(vocab.normalization) or str
    for token_id in sorted(texts.keys() - given):
        instead = _tokens_of(tokenizer, texts[token_id])
        proof = _proof(vocab, byte_ids, token_id, instead, changed)
        if not proof:
            cut[token_id] = texts[token_id]
            proof = {token_id: Unreachable(token_id, tokens[token_id], "pattern", instead)}
        unreachable |= proof
    for before, after in product(AROUND, repeat=2):
        for token_id, _ in _pairs_that_give(tokenizer, [(one, before + text + after) for one, text in cut.items()]):
            del cut[token_id], unreachable[token_id]
    left = sorted(unreachable.keys() - specials)
    forgeable = {token_id: texts[token_id] for token_id in sorted(specials & given)}
    return Reach([unreachable[token_id] for token_id in left], forgeable)


def _proof(
    vocab: Vocab, byte_ids: dict[bytes, int], token_id: int, instead: tuple[bytes, ...] = (),
    changed: Callable[[str], str] = str,
) -> dict[int, Unreachable]:
    """id -> the reason why no text gives the token, if that is proven.

    Args:
        byte_ids: byte -> id, for those that ordinary text gives.
        instead: The tokens that its own text gives, if it is one.
        changed: Normalizes a text.
    """
    token = vocab.tokens[token_id]
    body = whole_characters(token)
    if body is None:
        return {token_id: Unreachable(token_id, token, "utf-8")}
    form = vocab.normalization
    # part of a text in a Unicode normal form is in that form; other normalizers are asked for single characters, beside
    # the one of which Lowercase makes two
    rewritten = normal_form(form)(body) != body if isinstance(form, str) else (
        len(body) == 1 and body != " " and body not in changed("İ" + body)
    )
    if rewritten:
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


def _tokens_of(tokenizer: Tokenizer, text: str) -> tuple[bytes, ...]:
    """The tokens that a text gives; none if it cannot be encoded."""
    try:
        return tuple(map(tokenizer.token_bytes, tokenizer.encode_ordinary(text)))
    except ValueError:
        return ()


def _pairs_that_give(tokenizer: Tokenizer, pairs: list[tuple[int, str]]) -> list[tuple[int, str]]:
    """The pairs (id, text) whose text, read as ordinary text, gives the id."""
    try:
        ids, offsets = tokenizer.encode_batch_to_numpy([text for _, text in pairs], allowed_special=())
    except ValueError:  # a byte without a token, in one text or more
        middle = len(pairs) // 2
        halves = (pairs[:middle], pairs[middle:]) if middle else ()
        return [pair for half in halves for pair in _pairs_that_give(tokenizer, half)]
    text_of = np.repeat(np.arange(len(pairs)), np.diff(offsets))
    wanted = np.array([token_id for token_id, _ in pairs], dtype=np.int64)
    return [pairs[at] for at in np.unique(text_of[ids == wanted[text_of]]).tolist()]


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
