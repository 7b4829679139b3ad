"""Texts or counts in, a vocabulary out.

Options are in `options`, counting in `counting`, the counts and their files in `counts`, merging in `_merger`; here the
merger is driven and its ids become the vocabulary's.
"""
from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import Any

from .. import patterns
from ..bytelevel import ALPHABET
from ..errors import TrainingWarning, warn_caller
from ..vocabulary.vocab import Vocab
from .config import config_of, corpus_of
from .continuing import add_counts, continue_from
from .counting import Progress, count_pretokens
from .counts import MAX_COUNT, PretokenCounts
from .merging._merger import Merger
from .options import TrainingOptions
from .spilled import CountFile

__all__ = [
    "MAX_WORDS",
    "Repeated",
    "check_cut",
    "check_no_special",
    "learn_until",
    "merger_of",
    "new_merger",
    "new_vocab",
    "rehearse",
    "texts_not_paths",
    "train",
    "train_from_counts",
    "warn_of_few",
]

log: logging.Logger = logging.getLogger(__name__)

MAX_TOKENS = 2**31 - 2  # of the merger
MAX_LENGTH = 2**32 - 1  # bytes of a token of the merger
#: The bytes as Hugging Face's trainer numbers them: by their printable characters.
PRINTABLE_ORDER = bytes(sorted(range(256), key=ALPHABET.__getitem__))
MAX_WORDS = 4  # of a superword, as in the authors' trainer (PythonNut/superbpe)
STEP = 1 << 20  # stretches of words searched between two calls of `progress`: milliseconds


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
        num_threads: Threads to count on; one for each usable processor when None, and never more. Merging runs on one.
        progress: Called as ``progress("count", done, total)`` and then ``progress("merge", done, total)`` now and
            then; see :data:`bpetite.training.counting.Progress`. What it raises ends the training.

    Returns:
        A vocabulary of the merges kind.

    Raises:
        TypeError: A text that is neither str nor bytes.
        ValueError: Paths of files in place of texts; a pattern that leaves most documents whole.
        UnicodeError: A lone surrogate in a str, or bytes that are not UTF-8, with the offset.

    Warns:
        TrainingWarning: No pair was left to learn before there were `vocab_size` tokens.

    >>> vocab = train("ab ab ab", TrainingOptions(258))
    >>> vocab.merges, vocab.special_tokens
    (((97, 98), (32, 256)), {'<|endoftext|>': 258})
    """
    if options.superwords_from is not None and isinstance(corpus, Iterator):
        raise TypeError(
            f"superwords are learned by reading the corpus twice, and a {type(corpus).__name__} is empty after the "
            "first time: give a list, or an object whose __iter__ begins anew"
        )
    documents = texts_not_paths(corpus)
    counts = count_pretokens(documents, **options.counting(), num_threads=num_threads, progress=progress)
    check_cut(counts, options)
    merger = merger_of(counts, options)
    record = corpus_of(counts)
    del counts  # the merger has all it needs
    if options.superwords_from is None:
        return _learn(merger, options, progress, record)
    first = _first_stage(merger, options, progress)
    del merger
    phrases = count_pretokens(
        documents, **options.counting() | {"pattern": first.pattern}, num_threads=num_threads, progress=progress
    )
    if phrases.documents != record["documents"]:
        raise ValueError(f"the corpus had {record['documents']} documents when it was read first, and then "
                         f"{phrases.documents}")  # fmt: skip
    record["superwords"] = corpus_of(phrases)
    merger = new_merger(options, MAX_WORDS)
    continue_from(first, phrases, merger)
    del phrases
    return _learn(merger, options, progress, record, before=first.merges or (), pattern=first.pattern)


def train_from_counts(
    counts: Mapping[bytes, int] | CountFile, options: TrainingOptions, *, progress: Progress | None = None
) -> Vocab:
    """Learn merges from pre-tokens and how often each occurs, as :func:`train` would from the text.

    Args:
        counts: Pre-token bytes -> count of 0..2^63-1; the order does not matter. Pattern and normalization of a
            :class:`PretokenCounts` or a :class:`CountFile` become part of the vocabulary; with another mapping those
            of the options do. Special tokens that were not cut out when counting are in the counts as text.

    Raises:
        OverflowError: A count, or the sum of a pair's, is past 2^63 - 1.
        ValueError: A negative count; counts made with settings that contradict the options.

    >>> vocab = train_from_counts({b"ab": 2, b" ab": 1}, TrainingOptions(257, special_tokens=[]))
    >>> vocab.tokens[256]
    b'ab'
    """
    if not isinstance(counts, (Mapping, CountFile)):
        raise TypeError(f"counts map bytes to int, not {type(counts).__name__}")
    if options.superwords_from is not None:
        raise ValueError("superwords are learned from texts: counts of pre-tokens do not say which ones are neighbours")
    if isinstance(counts, (PretokenCounts, CountFile)):
        options = options.for_counts(counts)
        check_cut(counts, options)
    return _learn(merger_of(counts, options), options, progress, corpus_of(counts))


def rehearse(options: TrainingOptions) -> Vocab:
    """The vocabulary from which learning starts: finds what is wrong with options before hours of counting.

    Raises:
        ValueError: The pattern is no regular expression.
    """
    merger = merger_of(count_pretokens((), **options.counting(), num_threads=1), options)
    return _learn(merger, options, None) if options.superwords_from is None else _first_stage(merger, options, None)


class Repeated:
    """An iterable that calls a function for its iterator, each time anew."""

    def __init__(self, start: Callable[[], Iterator[Any]]) -> None:
        self.start = start

    def __iter__(self) -> Iterator[Any]:
        return self.start()


#: A text of one word with a suffix that files have.
_FILE_NAME = re.compile(r"\S+\.(txt|text|md|csv|tsv|jsonl?|parquet|gz|zst|bz2|xz)")


def texts_not_paths(corpus: Any) -> Any:
    """The corpus, unless it holds paths instead of texts: it is one, or its first documents all are."""
    if isinstance(corpus, (str, os.PathLike)):
        if _is_path(corpus):
            raise ValueError(f"the corpus is {corpus!r}, the path of a file: train_from_files reads files")
        if _FILE_NAME.fullmatch(os.fspath(corpus)):
            raise ValueError(f"the corpus is {corpus!r}, and no file has this name; [text] makes a corpus of it")
        return corpus
    if isinstance(corpus, (bytes, Repeated)) or not isinstance(corpus, Iterable):
        return corpus
    first = []
    documents = iter(corpus)
    for document in islice(documents, 100):
        first.append(document)
        if not _is_path(document):
            break
    else:
        if first:
            raise ValueError(f"the corpus holds paths of files, {first[0]!r} first: train_from_files reads files")
    return chain(first, documents) if isinstance(corpus, Iterator) else corpus


def _is_path(document: object) -> bool:
    if isinstance(document, str):
        return len(document) < 4096 and not {"\n", "\0"} & set(document) and os.path.isfile(document)
    return isinstance(document, os.PathLike)


def check_cut(counts: PretokenCounts | CountFile, options: TrainingOptions) -> None:
    """Refuse a pattern that leaves documents of several words whole, unless it is certainly meant."""
    pattern = counts.pattern
    if patterns.is_explicit(pattern) or counts.total > 1.5 * counts.documents:
        return
    pretokens = counts if isinstance(counts, Mapping) else (pretoken for pretoken, _ in counts)
    sample = [pretoken.decode(errors="replace") for pretoken in islice(pretokens, 100)]
    if sum(len(text.split()) for text in sample) > 3 * len(sample):
        raise ValueError(
            f"pattern {pattern!r} cuts {counts.documents} documents into {counts.total} pre-tokens, such as "
            f"{sample[0][:60]!r}. Where that is meant, write (?:...) around it, or None for no pre-tokenization; named "
            f"patterns are {', '.join(patterns.NAMED)}"
        )


def merger_of(
    counts: Mapping[bytes, int] | CountFile, options: TrainingOptions, beside: Merger | None = None
) -> Merger:
    """A merger that holds these pre-tokens, and shares the tokens of the merger `beside` it."""
    merger = new_merger(options, beside=beside)
    if isinstance(counts, (PretokenCounts, CountFile)):
        log.info("%s", counts.summary())
    add_counts(merger, counts)
    return merger


def new_merger(options: TrainingOptions, max_words: int = 0, beside: Merger | None = None) -> Merger:
    """A merger that learns as the options say; words come later."""
    return Merger(
        min(options.min_frequency, MAX_COUNT),
        options.tie_break == "bytes",
        min(options.max_token_bytes or 0, MAX_LENGTH),
        PRINTABLE_ORDER if options.tie_break == "tokenizers" else bytes(range(256)),
        max_words,
        beside,
    )


def learn_until(merger: Merger, limit: int, progress: Progress | None) -> None:
    """Learn until there are so many tokens, or no pair is left."""
    start = merger.tokens
    finished = False
    while not finished:
        finished = merger.learn(min(limit, MAX_TOKENS), STEP)
        if progress is not None:
            progress("merge", merger.tokens - start, limit - start)


def _learn(
    merger: Merger,
    options: TrainingOptions,
    progress: Progress | None,
    corpus: Mapping[str, Any] | None = None,
    **more: Any,
) -> Vocab:
    """Learn until there are `vocab_size` tokens; warn where there are fewer, unless there is no corpus. `more` is for
    :func:`new_vocab`."""
    learn_until(merger, options.vocab_size, progress)
    if corpus is not None:
        warn_of_few(merger, options)
    return new_vocab(merger, options, corpus, **more)


def _first_stage(merger: Merger, options: TrainingOptions, progress: Progress | None) -> Vocab:
    """Learn the tokens within words that superwords are made of. The vocabulary has the pattern of superwords."""
    assert options.superwords_from is not None
    learn_until(merger, options.superwords_from, progress)
    return new_vocab(merger, options, None, pattern=options.superword_pattern)


def warn_of_few(merger: Merger, options: TrainingOptions) -> None:
    """Warn where there are fewer tokens than were asked for."""
    if merger.tokens < options.vocab_size:
        warn_caller(
            f"no pair is left to learn (min_frequency={options.min_frequency}): {merger.tokens} tokens, not "
            f"{options.vocab_size}; train on more text, or with a smaller vocab_size",
            TrainingWarning,
        )


def new_vocab(
    merger: Merger,
    options: TrainingOptions,
    corpus: Mapping[str, Any] | None,
    *,
    before: tuple[tuple[int, int], ...] = (),
    **changes: Any,
) -> Vocab:
    """The vocabulary of what was learned, after merges of its ids that came before; `changes` are fields of it."""
    own = [literal for literal in options.special_tokens if len(literal.encode()) > 1]
    shift = len(own) if options.special_ids == "before" else 0
    found = merger.all_tokens()
    # the merger's id -> id: bytes have the ids that they are
    ids_of = [*(byte[0] + shift for byte in found[:256]), *range(256 + shift, len(found) + shift)]
    tokens = dict(zip(ids_of, found, strict=True))
    first = 0 if shift else len(found)
    if isinstance(options.special_tokens, Mapping):
        ids = {literal: options.special_tokens[literal] for literal in own}
    else:
        ids = dict(zip(own, range(first, first + len(own)), strict=True))
    check_no_special(tokens, own)
    tokens |= {number: literal.encode() for literal, number in ids.items()}
    order = sorted(tokens)
    if order != list(tokens):
        tokens = {number: tokens[number] for number in order}
    special_tokens = {
        literal: ids[literal] if literal in ids else literal.encode()[0] + shift for literal in options.special_tokens
    }
    settings = options.counting()
    return Vocab(
        tokens,
        before + merger.merges(ids_of),
        special_tokens,
        normalization=settings["normalization"],
        unicode=settings["unicode"],
        train_config=None if corpus is None else config_of("train", options.record(), corpus),
        **({"pattern": settings["pattern"]} | changes),
    )


def check_no_special(tokens: Mapping[int, bytes], literals: Iterable[str]) -> None:
    """From text nothing of a special token is learned; ready counts may hold one by mistake."""
    literal_of = {literal.encode(): literal for literal in literals}
    if literal_of.keys().isdisjoint(tokens.values()):
        return
    literal = next(literal_of[token] for token in tokens.values() if token in literal_of)
    raise ValueError(
        f"the counts hold the special token {literal!r} as text: count with special_tokens=[{literal!r}], so that it "
        "is cut out"
    )
