"""Texts or counts in, a vocabulary out.

Options are in `options`, counting in `counting`, the counts and their files in `counts`, merging in `_merger`; here the
merger is driven and its ids become the vocabulary's.
"""
from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import replace

from ..vocabulary.vocab import Vocab
from ._merger import Merger
from .continuing import replay
from .counting import Progress, count_pretokens
from .counts import MAX_COUNT, PretokenCounts, check_count
from .options import TrainingOptions

__all__ = ["train", "train_from_counts"]

log: logging.Logger = logging.getLogger(__name__)

MAX_TOKENS = 2**31 - 2  # of the merger
MAX_LENGTH = 2**32 - 1  # bytes of a token of the merger
STEP = 1 << 20  # segments searched between two calls of `progress`: milliseconds


def train(
    corpus: str | bytes | Iterable[str | bytes],
    options: TrainingOptions,
    *,
    num_threads: int | None = None,
    progress: Progress | None = None,
) -> Vocab:
    """Learn merges from text.

    Among all adjacent pairs inside pre-tokens the most frequent one becomes a token, again and again, until there are
    `vocab_size` tokens or no pair is left.

    Args:
        corpus: Documents, str or UTF-8 bytes, read once; no pair spans two. A single str is one document.
        num_threads: Threads to count on; None for one a processor. Merging runs on one.
        progress: Called as ``progress("count", done, total)`` and then ``progress("merge", done, total)`` now and
            then; see :data:`bpetite.training.counting.Progress`. What it raises ends the training.

    Returns:
        A vocabulary of the merges kind.

    Raises:
        TypeError: A text that is neither str nor bytes.
        UnicodeError: A lone surrogate in a str, or bytes that are not UTF-8, with the offset.

    >>> vocab = train("ab ab ab", TrainingOptions(258))
    >>> vocab.merges, vocab.special_tokens
    (((97, 98), (32, 256)), {'<|endoftext|>': 258})
    """
    counts = count_pretokens(corpus, **options.counting(), num_threads=num_threads, progress=progress)
    merger = _merger_of(counts, options)
    del counts  # the merger has all it needs
    return _learn(merger, options, progress)


def train_from_counts(
    counts: Mapping[bytes, int], options: TrainingOptions, *, progress: Progress | None = None
) -> Vocab:
    """Learn merges from pre-tokens and how often each occurs, as :func:`train` would from the text.

    Args:
        counts: Pre-token bytes -> count of 0..2^63-1; the order does not matter. Pattern and normalization of a
            :class:`PretokenCounts` become part of the vocabulary; with another mapping those of the options do. Special
            tokens that were not cut out when counting are in the counts as text.

    Raises:
        OverflowError: A count, or the sum of a pair's, is past 2^63 - 1.
        ValueError: A negative count; counts made with settings that contradict the options.

    >>> vocab = train_from_counts({b"ab": 2, b" ab": 1}, TrainingOptions(257, special_tokens=[]))
    >>> vocab.tokens[256]
    b'ab'
    """
    if not isinstance(counts, Mapping):
        raise TypeError(f"counts map bytes to int, not {type(counts).__name__}")
    if isinstance(counts, PretokenCounts):
        options = options.for_counts(counts)
    return _learn(_merger_of(counts, options), options, progress)


def _merger_of(counts: Mapping[bytes, int], options: TrainingOptions) -> Merger:
    """A merger that holds these pre-tokens."""
    merger = Merger(
        min(options.min_frequency, MAX_COUNT),
        options.tie_break == "bytes",
        min(options.max_token_bytes or 0, MAX_LENGTH),
    )
    # Nothing is learned from pre-tokens that the vocabulary continued from takes whole.
    initial = options.initial
    whole = initial.id_of if initial is not None and initial.ignore_merges else {}
    if isinstance(counts, PretokenCounts):
        log.info("%s", counts.summary())
        if not whole:
            merger.add_table(counts._table)
            return merger
    for pretoken, count in counts.items():
        pretoken, count = check_count(pretoken, count)
        if count and pretoken not in whole:
            merger.add_word(pretoken, count)
    return merger


def _learn(merger: Merger, options: TrainingOptions, progress: Progress | None) -> Vocab:
    initial = options.initial
    ids = {} if initial is None else replay(initial, merger)
    start = merger.tokens
    limit = min(options.vocab_size, MAX_TOKENS)
    finished = False
    while not finished:
        finished = merger.learn(limit, STEP)
        if progress is not None:
            progress("merge", merger.tokens - start, limit - start)
    if merger.tokens < limit:
        log.info("no pair is left to learn: %d tokens of %d", merger.tokens, options.vocab_size)
    merger.finish()
    if initial is None:
        return _new_vocab(merger, options)
    return _continued_vocab(initial, ids, start, merger, options)


def _new_vocab(merger: Merger, options: TrainingOptions) -> Vocab:
    own = [literal for literal in options.special_tokens if len(literal.encode()) > 1]
    shift = len(own) if options.special_ids == "before" else 0
    tokens = {number + shift: merger.token(number) for number in range(merger.tokens)}
    merges = tuple((left + shift, right + shift) for left, right in merger.merges())
    first = 0 if shift else merger.tokens
    ids = dict(zip(own, range(first, first + len(own)), strict=True))
    _check_no_special(tokens, own)
    tokens |= {number: literal.encode() for literal, number in ids.items()}
    special_tokens = {
        literal: ids[literal] if literal in ids else literal.encode()[0] + shift for literal in options.special_tokens
    }
    settings = options.counting()
    return Vocab(
        dict(sorted(tokens.items())),
        merges,
        special_tokens,
        pattern=settings["pattern"],
        normalization=settings["normalization"],
        unicode=settings["unicode"],
    )


def _continued_vocab(
    initial: Vocab, ids: dict[int, int], start: int, merger: Merger, options: TrainingOptions
) -> Vocab:
    """The vocabulary continued from, then what was learned. IN: the merger's id -> id, up to `start`."""
    free = max(initial.tokens) + 1
    learned = {free + number: merger.token(start + number) for number in range(merger.tokens - start)}
    ids = ids | {start + number: free + number for number in range(merger.tokens - start)}
    tokens = initial.tokens | learned
    free += len(learned)
    special_tokens = dict(initial.special_tokens)
    added = [literal for literal in options.special_tokens if literal not in special_tokens]
    _check_no_special(learned, added)
    for literal in added:
        data = literal.encode()
        special_tokens[literal] = initial.id_of.get(data, free)
        if special_tokens[literal] == free:
            tokens[free] = data
            free += 1
    merges = tuple((ids[left], ids[right]) for left, right in merger.merges())
    return replace(initial, tokens=tokens, merges=(*(initial.merges or ()), *merges), special_tokens=special_tokens)


def _check_no_special(tokens: Mapping[int, bytes], literals: Iterable[str]) -> None:
    """From text nothing of a special token is learned; ready counts may hold one by mistake."""
    literal_of = {literal.encode(): literal for literal in literals}
    for token in tokens.values():
        if token in literal_of:
            literal = literal_of[token]
            raise ValueError(
                f"the counts hold the special token {literal!r} as text: count with special_tokens=[{literal!r}], so "
                "that it is cut out"
            )
