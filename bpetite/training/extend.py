"""Learning further tokens for a vocabulary.

A vocabulary of the ranks kind is continued as the merge list that gives the same ids (:mod:`bpetite.formats.kinds`).
In fully merged text, the bytes of a new token are always the same two tokens, the pair that was learned: nothing was
joined across their ends, so the bytes alone become these two. The highest rank is therefore the pair's own, and the
tokens appended to the ranks give the ids that the merge list gives. Only a token that no merge reaches, taken whole
where it is a pre-token, can differ: ranks join its parts as soon as a new token is one of them.
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from .. import patterns
from ..engine.choice import engine_parts
from ..errors import check_integer
from ..patterns import PatternLike
from ..vocabulary.vocab import Vocab
from .counting.count_options import Specials, distinct_literals
from .counting.jobs import Progress
from .counting.texts import Corpus, count_as
from .merging._merger import Merger
from .options import TrainingOptions, checked_ids, train_config
from .train import MAX_WORDS, check_no_special, continue_from, learn_until, new_merger, warn_of_few


def extend(
    vocab: Vocab,
    corpus: Corpus,
    n: int,
    *,
    num_threads: int | None = None,
    progress: Progress | None = None,
    special_tokens: Specials = (),
    superword_pattern: PatternLike = None,
    **rules: Any,
) -> Vocab:
    """The vocabulary with `n` more tokens; :meth:`bpetite.Tokenizer.extend` documents the arguments.

    >>> from bpetite import Tokenizer
    >>> extend(Tokenizer.train("ab ab", 257).to_vocab(), "ab ab ab", 1).merges
    ((97, 98), (32, 256))
    """
    n = check_integer("n", n, 0)
    if vocab.alphabet is not None:
        raise ValueError("extend learns merges of bytes, and this vocabulary begins from characters")
    special_tokens = dict(special_tokens) if isinstance(special_tokens, Mapping) else distinct_literals(special_tokens)
    options = TrainingOptions(256 + n, special_tokens=(), **rules)
    placed = _further_specials(special_tokens, vocab, n)
    record = {name: getattr(options, name) for name in ("min_frequency", "tie_break", "max_token_bytes")}
    record |= {"n": n, "special_tokens": special_tokens}
    before, max_words = vocab, 0
    if superword_pattern is not None:
        if vocab.merges is None:
            raise ValueError("superwords extend a merge list, and this vocabulary is of ranks: take to_merges() first")
        if vocab.ignore_merges or engine_parts(vocab)[2] is not None:
            raise ValueError("superwords extend a plain merge list; this tokenizer takes pre-tokens that are tokens "
                             "whole, or has steps beyond a pattern")  # fmt: skip
        vocab, max_words = replace(vocab, pattern=patterns.resolve(superword_pattern)), MAX_WORDS
        record["superword_pattern"] = vocab.pattern
    counts = count_as(vocab, corpus, num_threads, progress, literals=placed)
    merger = new_merger(options, max_words)
    ids = continue_from(vocab, counts, merger)
    del counts  # the merger has all it needs
    start = len(ids)
    learn_until(merger, start + n, progress)
    warn_of_few(merger.tokens - start, n, options, "new tokens", "extend with more text, or by fewer")
    return _extended(vocab, merger, ids, start, placed, train_config("extend", record, before))


def _further_specials(special_tokens: Specials, vocab: Vocab, n: int) -> dict[str, int | None]:
    """literal -> id of the new special tokens; None for the next free id."""
    literals = distinct_literals(special_tokens)
    known = {one: vocab.special_tokens.get(one, vocab.find(one.encode())) for one in literals}
    if not isinstance(special_tokens, Mapping):
        return {literal: known[literal] for literal in literals if literal not in vocab.special_tokens}
    free = vocab.next_id
    ids = checked_ids({literal: special_tokens[literal] for literal in literals})
    for literal, token_id in ids.items():
        refusal = f"special token {literal!r} cannot have the id {token_id}"
        if known[literal] is not None:
            if known[literal] != token_id:
                raise ValueError(f"{refusal}: it has {known[literal]}")
        elif token_id in vocab.tokens:
            raise ValueError(f"{refusal}: it belongs to {vocab.tokens[token_id]!r}")
        elif free <= token_id < free + n:
            raise ValueError(f"{refusal}: learned tokens have {free}..{free + n - 1}")
    return {literal: token_id for literal, token_id in ids.items() if literal not in vocab.special_tokens}


def _extended(
    vocab: Vocab,
    merger: Merger,
    ids: dict[int, int],
    start: int,
    placed: Mapping[str, int | None],
    config: dict[str, Any],
) -> Vocab:
    """The vocabulary with the learned tokens appended. IN: the merger's id -> id, up to `start`."""
    free = vocab.next_id
    learned = dict(enumerate(merger.all_tokens()[start:], free))
    check_no_special(learned, [*vocab.special_tokens, *placed])
    ids = ids | {start + number: free + number for number in range(merger.tokens - start)}
    tokens = {**vocab.tokens, **learned}
    free += len(learned)
    special_tokens = dict(vocab.special_tokens)
    for literal, token_id in placed.items():
        if token_id is None:
            token_id, free = free, free + 1
        special_tokens[literal] = token_id
        tokens[token_id] = literal.encode()
    merges = None
    if vocab.merges is not None:
        merges = [*vocab.merges, *merger.merges(list(ids.values()))]
    return replace(vocab, tokens=tokens, merges=merges, special_tokens=special_tokens, name=None, train_config=config)
