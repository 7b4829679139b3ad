"""Learning merges: texts or counts in, a vocabulary out."""
from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

import regex

from . import patterns
from ._train import Merger
from .patterns import Pattern
from .pretokenize import pretokenizer
from .vocab import Vocab

__all__ = ["PretokenCounts", "count_pretokens", "train", "train_from_counts"]


class PretokenCounts(Counter[bytes]):
    """pre-token -> how often it occurs."""


def count_pretokens(
    texts: str | Iterable[str | bytes],
    *,
    pattern: Pattern = patterns.GPT2,
    special_tokens: Sequence[str] = (),
    normalization: str | None = None,
    num_threads: int | None = None,
    progress: Callable[..., None] | None = None,
) -> PretokenCounts:
    """Count the pre-tokens of texts."""
    split = pretokenizer(pattern).split
    specials = sorted(special_tokens, key=len, reverse=True)
    cut = regex.compile("|".join(map(regex.escape, specials))) if specials else None
    counts = PretokenCounts()
    for text in [texts] if isinstance(texts, str) else texts:
        whole = text if isinstance(text, str) else text.decode("utf-8")
        for piece in cut.split(whole) if cut else [whole]:
            normal = unicodedata.normalize(normalization, piece) if normalization else piece  # type: ignore[arg-type]
            counts.update(pretoken.encode("utf-8") for pretoken in split(normal))
    return counts


def train(
    corpus: str | Iterable[str | bytes],
    vocab_size: int,
    *,
    special_tokens: Sequence[str] = ("<|endoftext|>",),
    pattern: Pattern = patterns.GPT2,
    normalization: str | None = None,
    num_threads: int | None = None,
    progress: Callable[..., None] | None = None,
    **options: Any,
) -> Vocab:
    """Count pre-tokens, then learn merges from the counts."""
    counts = count_pretokens(corpus, pattern=pattern, special_tokens=special_tokens, normalization=normalization)
    return train_from_counts(
        counts, vocab_size, special_tokens=special_tokens, pattern=pattern, normalization=normalization, **options
    )


def train_from_counts(
    counts: Mapping[bytes, int],
    vocab_size: int,
    *,
    special_tokens: Sequence[str] = ("<|endoftext|>",),
    special_ids: Literal["after", "before"] = "after",
    pattern: Pattern = patterns.GPT2,
    min_frequency: int = 1,
    tie_break: Literal["ids", "bytes"] = "ids",
    normalization: str | None = None,
    max_token_bytes: int | None = None,
    initial: Vocab | None = None,
    progress: Callable[..., None] | None = None,
) -> Vocab:
    """Learn merges from pre-token counts."""
    if vocab_size < 256:
        raise ValueError(f"vocab_size {vocab_size} is below 256, the number of bytes")
    merger = Merger(min_frequency, tie_break == "bytes", max_token_bytes or 0)
    for word, count in counts.items():
        merger.add_word(word, count)
    while not merger.learn(vocab_size, 1 << 24):
        pass
    shift = len(special_tokens) if special_ids == "before" else 0
    tokens = {token + shift: merger.token(token) for token in range(merger.tokens)}
    specials: Sequence[str] | dict[str, int] = special_tokens
    if shift:
        specials = {literal: number for number, literal in enumerate(special_tokens)}
    merges = [(merger.token(left), merger.token(right)) for left, right, _ in merger.merges()]
    return Vocab.build(tokens, merges, specials, pattern=pattern, normalization=normalization)
