"""Texts or counts in, a vocabulary out.

Counting is in `counting`, the counts and their files in `counts`, merging in `_train`; here the options are checked
and internal ids become the vocabulary's.
"""
from __future__ import annotations

import logging
import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from .. import patterns
from ..patterns import Pattern
from ..steps.normalizers import FORMS
from ..vocabulary.vocab import Vocab
from ._train import Merger
from .counting import Progress, check_specials, count_pretokens
from .counts import PretokenCounts, check_count

__all__ = ["PretokenCounts", "count_pretokens", "train", "train_from_counts"]

log = logging.getLogger(__name__)

MAX_TOKENS = 2**31 - 2  # of the merger
STEP = 1 << 20  # segments searched between two looks at the clock of the caller (progress, Ctrl-C); milliseconds
MAX_COUNT = 2**63 - 1


def train(
    corpus: str | bytes | Iterable[str | bytes],
    vocab_size: int,
    *,
    special_tokens: Sequence[str] = ("<|endoftext|>",),
    special_ids: str = "after",
    pattern: Pattern = patterns.GPT2,
    min_frequency: int = 1,
    tie_break: str = "ids",
    normalization: str | None = None,
    num_threads: int | None = None,
    progress: Progress | None = None,
    max_token_bytes: int | None = None,
    initial: Vocab | None = None,
) -> Vocab:
    """Learn merges from text.

    Among all adjacent pairs inside pre-tokens the most frequent one becomes a token, again and again, until there are
    `vocab_size` tokens or no pair is left.

    Args:
        corpus: Documents, str or UTF-8 bytes, read once; no pair spans two. A single str is one document.
        vocab_size: Tokens to end with, special tokens not counted: 256 bytes plus what is learned.
        special_tokens: Literals that cut the corpus and take no part in any merge.
        special_ids: "after": bytes are 0..255, learned tokens follow, then special tokens. "before": special tokens
            from 0, then bytes, then learned tokens. The merges are the same. A special token of one ASCII character
            has the id of its byte.
        pattern: The split pattern; None for none.
        min_frequency: Pairs that occur less often are not learned.
        tie_break: Among equally frequent pairs, "ids" takes the smallest (left id, right id), where ids are those of
            ``special_ids="after"`` whatever is asked for; "bytes" the greatest (left bytes, right bytes).
        normalization: "NFC", "NFD", "NFKC", "NFKD" or None; applied to the text between special tokens.
        num_threads: Threads to count on; None for one a processor. Merging runs on one.
        progress: Called as ``progress("count", done, total)`` and then ``progress("merge", done, total)`` now and
            then; see :data:`bpetite.training.counting.Progress`. What it raises ends the training.
        max_token_bytes: Pairs that would give a longer token are not learned.
        initial: Continue after the merges of this vocabulary: its tokens keep their ids, new ones get the ids after
            the highest. Its pattern, normalization and special tokens apply.

    Returns:
        A vocabulary of the merges kind.

    Raises:
        ValueError: An option out of range; an `initial` of the ranks kind.
        TypeError: An option or a text of the wrong type.
        UnicodeError: A lone surrogate in a str, or bytes that are not UTF-8, with the place.

    >>> vocab = train("ab ab ab", 258)
    >>> vocab.merges, vocab.special_tokens
    (((97, 98), (32, 256)), {'<|endoftext|>': 258})
    """
    options = _Options.check(
        vocab_size, special_tokens, special_ids, pattern, min_frequency, tie_break, normalization, max_token_bytes,
        initial,
    )
    counts = count_pretokens(
        corpus,
        pattern=options.pattern,
        special_tokens=options.special_tokens,
        normalization=options.normalization,
        num_threads=num_threads,
        progress=progress,
    )
    log.info("%s", counts.summary())
    merger = options.merger()
    options.add_table(merger, counts)
    del counts  # the merger has all it needs
    return options.learn(merger, progress)


def train_from_counts(
    counts: Mapping[bytes, int],
    vocab_size: int,
    *,
    special_tokens: Sequence[str] = ("<|endoftext|>",),
    special_ids: str = "after",
    pattern: Pattern = patterns.GPT2,
    min_frequency: int = 1,
    tie_break: str = "ids",
    normalization: str | None = None,
    num_threads: int | None = None,
    progress: Progress | None = None,
    max_token_bytes: int | None = None,
    initial: Vocab | None = None,
) -> Vocab:
    """Learn merges from pre-tokens and how often each occurs, as :func:`train` would from the text.

    Args:
        counts: Pre-token bytes -> count of 0..2^63-1; the order does not matter.
        pattern, normalization, special_tokens: What the text was split with; they become part of the vocabulary.
            With a :class:`PretokenCounts`, whose own must be the same, the first two may be left out. Special tokens
            that were not cut out when counting are in the counts as text.
        num_threads: Accepted so that both functions take the same options; merging runs on one thread.

    Raises:
        OverflowError: A count, or the sum of a pair's, is past 2^63 - 1.
        ValueError: As for `train`; a negative count; counts made with other settings.

    >>> vocab = train_from_counts({b"ab": 2, b" ab": 1}, 257, special_tokens=[])
    >>> vocab.tokens[256]
    b'ab'
    """
    if not isinstance(counts, Mapping):
        raise TypeError(f"counts map bytes to int, not {type(counts).__name__}")
    if isinstance(counts, PretokenCounts):
        if pattern == patterns.GPT2:
            pattern = counts.pattern
        if normalization is None:
            normalization = counts.normalization
    options = _Options.check(
        vocab_size, special_tokens, special_ids, pattern, min_frequency, tie_break, normalization, max_token_bytes,
        initial,
    )
    merger = options.merger()
    if isinstance(counts, PretokenCounts):
        if (counts.pattern, counts.normalization) != (options.pattern, options.normalization):
            raise ValueError(
                f"these counts were made with pattern={counts.pattern!r}, normalization={counts.normalization!r}, "
                f"not {options.pattern!r}, {options.normalization!r}"
            )
        log.info("%s", counts.summary())
        options.add_table(merger, counts)
    else:
        whole = options.whole_tokens()
        for pretoken, count in counts.items():
            pretoken, count = check_count(pretoken, count)
            if count and pretoken not in whole:
                merger.add_word(pretoken, count)
    return options.learn(merger, progress)


@dataclass
class _Options:
    vocab_size: int
    special_tokens: tuple[str, ...]
    special_ids: str
    pattern: Pattern
    min_frequency: int
    by_bytes: bool
    normalization: str | None
    max_token_bytes: int
    initial: Vocab | None

    @classmethod
    def check(
        cls,
        vocab_size: int,
        special_tokens: Sequence[str],
        special_ids: str,
        pattern: Pattern,
        min_frequency: int,
        tie_break: str,
        normalization: str | None,
        max_token_bytes: int | None,
        initial: Vocab | None,
    ) -> _Options:
        size = _integer("vocab_size", vocab_size)
        if size < 256:
            raise ValueError(f"vocab_size must be at least 256, one token a byte, not {size}")
        specials = check_specials(special_tokens)
        if special_ids not in ("after", "before"):
            raise ValueError(f"special_ids is 'after' or 'before', not {special_ids!r}")
        if tie_break not in ("ids", "bytes"):
            raise ValueError(f"tie_break is 'ids' or 'bytes', not {tie_break!r}")
        if normalization is not None and normalization not in FORMS:
            raise ValueError(f"normalization {normalization!r} is not one of {', '.join(FORMS)} or None")
        least = _integer("min_frequency", min_frequency)
        if least < 1:
            raise ValueError(f"min_frequency must be at least 1, not {least}")
        longest = 0
        if max_token_bytes is not None:
            longest = _integer("max_token_bytes", max_token_bytes)
            if longest < 1:
                raise ValueError(f"max_token_bytes must be at least 1, not {longest}")
        if initial is not None:
            _check_initial(initial, size, special_ids, pattern, normalization)
            specials = (*initial.special_tokens, *(one for one in specials if one not in initial.special_tokens))
            pattern, normalization = cast(Pattern, initial.pattern), cast("str | None", initial.normalization)
        return cls(
            size, specials, special_ids, pattern, min(least, MAX_COUNT), tie_break == "bytes", normalization,
            min(longest, 2**32 - 1), initial,
        )

    def merger(self) -> Merger:
        return Merger(self.min_frequency, self.by_bytes, self.max_token_bytes)

    def whole_tokens(self) -> Mapping[bytes, int]:
        """Pre-tokens that the vocabulary continued from takes whole; nothing is learned from them."""
        return self.initial.id_of if self.initial is not None and self.initial.ignore_merges else {}

    def add_table(self, merger: Merger, counts: PretokenCounts) -> None:
        whole = self.whole_tokens()
        if not whole:
            merger.add_table(counts._table)
            return
        for pretoken, count in counts.items():
            if pretoken not in whole:
                merger.add_word(pretoken, count)

    def learn(self, merger: Merger, progress: Progress | None) -> Vocab:
        ids = {byte: byte for byte in range(256)} if self.initial is None else _replay(self.initial, merger)
        start = merger.tokens
        limit = min(self.vocab_size, MAX_TOKENS)
        finished = False
        while not finished:
            finished = merger.learn(limit, STEP)
            if progress is not None:
                progress("merge", merger.tokens - start, limit - start)
        if merger.tokens < limit:
            log.info("no pair is left to learn: %d tokens of %d", merger.tokens, self.vocab_size)
        merger.finish()
        return self._new_vocab(merger) if self.initial is None else self._grown(self.initial, ids, start, merger)

    def _new_vocab(self, merger: Merger) -> Vocab:
        own = [literal for literal in self.special_tokens if len(literal.encode()) > 1]
        shift = len(own) if self.special_ids == "before" else 0
        tokens = {number + shift: merger.token(number) for number in range(merger.tokens)}
        merges = tuple((left + shift, right + shift) for left, right in merger.merges())
        first = 0 if shift else merger.tokens
        specials = dict(zip(own, range(first, first + len(own)), strict=True))
        _check_no_special(tokens, specials)
        tokens = {**{number: literal.encode() for literal, number in specials.items()}, **tokens}
        placed = {
            literal: specials[literal] if literal in specials else literal.encode()[0] + shift
            for literal in self.special_tokens
        }
        return Vocab(dict(sorted(tokens.items())), merges, placed, pattern=self.pattern,
                     normalization=self.normalization)

    def _grown(self, initial: Vocab, ids: dict[int, int], start: int, merger: Merger) -> Vocab:
        """The vocabulary continued from, with what was learned behind it. IN: internal id -> id up to `start`."""
        free = max(initial.tokens) + 1
        learned = {free + number: merger.token(start + number) for number in range(merger.tokens - start)}
        ids = ids | {start + number: free + number for number in range(merger.tokens - start)}
        tokens = initial.tokens | learned
        free += len(learned)
        specials = dict(initial.special_tokens)
        for literal in self.special_tokens:
            if literal in specials:
                continue
            data = literal.encode()
            _check_no_special(learned, {literal: free})
            specials[literal] = initial.id_of.get(data, free)
            if specials[literal] == free:
                tokens[free] = data
                free += 1
        merges = tuple((ids[left], ids[right]) for left, right in merger.merges())
        return replace(initial, tokens=tokens, merges=(*(initial.merges or ()), *merges), special_tokens=specials)


def _integer(name: str, value: object) -> int:
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"{name} is an int, not {value!r}") from None


def _check_no_special(tokens: Mapping[int, bytes], specials: Mapping[str, int]) -> None:
    """From text nothing of a special token is learned; ready counts may hold one by mistake."""
    if not specials:
        return
    by_bytes = {literal.encode(): literal for literal in specials}
    for token in tokens.values():
        if token in by_bytes:
            raise ValueError(
                f"the counts hold the special token {by_bytes[token]!r} as text: count with "
                f"special_tokens=[{by_bytes[token]!r}], so that it is cut out"
            )


def _check_initial(
    initial: object, vocab_size: int, special_ids: str, pattern: Pattern, normalization: str | None
) -> None:
    if not isinstance(initial, Vocab):
        raise TypeError(f"initial is a Vocab, not {type(initial).__name__}")
    if initial.merges is None:
        raise ValueError("initial has no merge list (it is of the ranks kind), so there is no order to continue")
    flagged = [literal for literal, flags in initial.token_flags.items() if set(flags) - {"plain"}]
    if not patterns.is_plain(initial.pattern) or not isinstance(initial.normalization, str | None) or flagged:
        raise ValueError(
            "initial takes text apart in ways that training does not: "
            f"pattern={initial.pattern!r}, normalization={initial.normalization!r}, flags of {flagged}"
        )
    if special_ids != "after":
        raise ValueError("special_ids='before' needs a new vocabulary: the tokens of initial keep their ids")
    if pattern not in (patterns.GPT2, initial.pattern) or normalization not in (None, initial.normalization):
        raise ValueError(
            f"initial was trained with pattern={initial.pattern!r}, normalization={initial.normalization!r}; "
            f"continuing with {pattern!r}, {normalization!r} would give merges that do not fit together"
        )
    known = len(_plain_ids(initial))
    if vocab_size < known:
        raise ValueError(f"vocab_size {vocab_size} is less than the {known} tokens of initial")


def _plain_ids(initial: Vocab) -> set[int]:
    """Ids that are not special tokens only: bytes, what merges give, and whatever else is not special."""
    specials = set(initial.special_tokens.values())
    results = set(initial.merge_results)
    return {number for number, token in initial.tokens.items()
            if number not in specials or len(token) == 1 or number in results}


def _replay(initial: Vocab, merger: Merger) -> dict[int, int]:
    """Apply the merges of a vocabulary in their order, as encoding would; internal id -> id.

    Internal ids are bytes, then what its merges give in their order, then tokens that no merge gives.
    """
    internal: dict[int, int] = {}
    for byte in range(256):
        number = initial.id_of.get(bytes([byte]))
        if number is None:
            raise ValueError(f"initial has no token for the byte 0x{byte:02x}; only complete vocabularies continue")
        internal[number] = byte
    for rank, (left, right) in enumerate(initial.merges or ()):
        if left not in internal or right not in internal:
            part = initial.tokens[left if left not in internal else right]
            raise ValueError(f"initial: merge {rank} takes {part!r}, which no byte or earlier merge gives")
        internal[initial.merge_results[rank]] = merger.replay(internal[left], internal[right])
    for number in sorted(_plain_ids(initial) - internal.keys()):
        internal[number] = merger.add_token(initial.tokens[number])
    return {inside: number for number, inside in internal.items()}
