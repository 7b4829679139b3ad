"""Learning further tokens for a vocabulary.

A vocabulary of the ranks kind is continued as the merge list that gives the same ids (:mod:`bpetite.vocabulary.kinds`).
In fully merged text, the bytes of a new token are always the same two tokens, the pair that was learned. The highest
rank is therefore the pair's own, and the tokens appended to the ranks give the ids that the merge list gives. Only a
token that no merge reaches, taken whole where it is a pre-token, can differ: ranks join its parts as soon as a new
token is one of them.
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from .. import patterns
from ..engine.choice import engine_parts
from ..errors import check_integer
from ..patterns import PatternLike
from ..vocabulary.special_literals import place_specials
from ..vocabulary.vocab import Vocab
from .counting.count_pretokens import Corpus, count_as
from .counting.cutting import SpecialLiterals, distinct_literals
from .counting.jobs import Progress
from .options import TieBreak, TrainingOptions, checked_ids, train_config
from .train import MAX_WORDS, check_no_special, continue_from, learn_until, new_merger, warn_of_few


def extend(
    vocab: Vocab,
    corpus: Corpus,
    add: int,
    *,
    num_threads: int | None = None,
    progress: Progress | None = None,
    special_tokens: SpecialLiterals = (),
    superword_pattern: PatternLike = None,
    min_frequency: int = 1,
    tie_break: TieBreak = "ids",
    max_token_bytes: int | None = None,
) -> Vocab:
    """The vocabulary with `add` more tokens; :meth:`bpetite.Tokenizer.extend` documents the arguments.

    >>> from bpetite import Tokenizer
    >>> extend(Tokenizer.train("ab ab", 257).to_vocab(), "ab ab ab", 1).merges
    ((97, 98), (32, 256))
    """
    add = check_integer("add", add, 0)
    if vocab.alphabet is not None:
        raise ValueError("more tokens are learned as merges of bytes, and this vocabulary begins from characters")
    literals = distinct_literals(special_tokens)
    free = vocab.next_id
    if isinstance(special_tokens, Mapping):
        known = {literal: vocab.special_tokens.get(literal, vocab.find(literal.encode())) for literal in literals}
        special_tokens = checked_ids(special_tokens, known, partial(_taken, vocab, add))
    else:
        special_tokens = literals
    options = TrainingOptions(
        256 + add, special_tokens=(), min_frequency=min_frequency, tie_break=tie_break, max_token_bytes=max_token_bytes
    )
    record = {name: getattr(options, name) for name in ("min_frequency", "tie_break", "max_token_bytes")}
    record |= {"add": add, "special_tokens": special_tokens}
    before, max_words = vocab, 0
    if superword_pattern is not None:
        if vocab.merges is None:
            raise ValueError("superwords extend a merge list, and this vocabulary is of ranks: take to_merges() first")
        if vocab.ignore_merges or engine_parts(vocab)[2] is not None:
            raise ValueError("superwords extend a plain merge list; this tokenizer takes pre-tokens that are tokens "
                             "whole, or has steps beyond a pattern")  # fmt: skip
        vocab, max_words = replace(vocab, pattern=patterns.resolve(superword_pattern)), MAX_WORDS
        record["superword_pattern"] = vocab.pattern
    counts = count_as(vocab, corpus, num_threads, progress, literals=literals)
    merger = new_merger(options, max_words)
    ids = continue_from(vocab, counts, merger)
    del counts  # the merger has all it needs
    start = len(ids)
    learn_until(merger, start + add, progress)
    learned = merger.all_tokens()[start:]
    warn_of_few(len(learned), add, options, "new tokens", "extend with more text, or by fewer")
    check_no_special(learned, [*vocab.special_tokens, *literals])
    ids |= dict(enumerate(range(free, free + len(learned)), start))
    tokens = {**vocab.tokens, **dict(enumerate(learned, free))}
    further: Any = [literal for literal in literals if literal not in vocab.special_tokens]
    if isinstance(special_tokens, Mapping):
        further = {literal: special_tokens[literal] for literal in further}
    further, _, new = place_specials(further, tokens, vocab.find)
    return replace(
        vocab,
        tokens=tokens | new,
        merges=None if vocab.merges is None else [*vocab.merges, *merger.merges(list(ids.values()))],
        special_tokens={**vocab.special_tokens, **further},
        name=None,
        train_config=train_config("extend", record, before),
    )


def _taken(vocab: Vocab, add: int, token_id: int) -> str | None:
    free = vocab.next_id
    if token_id in vocab.tokens:
        return f"it belongs to {vocab.tokens[token_id]!r}"
    return f"learned tokens have {free}..{free + add - 1}" if free <= token_id < free + add else None
