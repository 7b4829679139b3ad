"""Texts or counts in, a vocabulary out.

Options are in `options`, texts become counts in `counting/`, counts become merges in `merging/`. Here the merger is
driven, and its ids become the vocabulary's.
"""
from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any

from .. import patterns
from ..bytelevel import ORDER
from ..errors import TrainingWarning, warn_caller
from ..vocabulary.special_literals import place_specials
from ..vocabulary.vocab import Vocab
from .counting.count_pretokens import count_pretokens
from .counting.counts import MAX_COUNT, CountFile, Counts, pairs_of, readers_of
from .counting.cutting import CountOptions, Cutting
from .counting.jobs import Progress
from .merging._learned_tokens import MAX_TOKENS
from .merging._merger import Merger
from .options import TrainingOptions, train_config

MAX_LENGTH = 2**32 - 1  # longest token of a Merger, in bytes
MAX_WORDS = 4  # most words in a superword, as in the authors' trainer (PythonNut/superbpe)
STEP = 100  # tokens learned between two calls of `progress`


def train(
    corpus: str | bytes | Iterable[str | bytes],
    options: TrainingOptions,
    *,
    num_threads: int | None = None,
    progress: Progress | None = None,
) -> Vocab:
    """Learn merges from text: the most frequent adjacent pair inside pre-tokens becomes a token, again and again.

    :meth:`bpetite.Tokenizer.train` documents the arguments.

    >>> vocab = train("ab ab ab", TrainingOptions(258))
    >>> vocab.merges, vocab.special_tokens
    (((97, 98), (32, 256)), {'<|endoftext|>': 258})
    """
    if options.superwords_from is not None and isinstance(corpus, Iterator):
        raise TypeError(
            f"superwords are learned by reading the corpus twice, and a {type(corpus).__name__} is empty after the "
            "first time: give a list, or an object whose __iter__ begins anew"
        )
    cutting: Any = vars(options.cutting)
    counts = count_pretokens(corpus, num_threads=num_threads, progress=progress, **cutting)
    check_cut(counts)
    merger = merger_of(counts, options)
    number = counts.documents
    del counts  # the merger has all it needs
    if options.superwords_from is None:
        return _learned(merger, options, progress)
    learn_until(merger, options.superwords_from, progress)
    first = new_vocab(merger, options, pattern=options.superword_pattern)
    del merger
    cutting = cutting | {"pattern": first.pattern}
    longer = count_pretokens(corpus, num_threads=num_threads, progress=progress, **cutting)
    if longer.documents != number:
        raise ValueError(f"the corpus had {number} documents when it was read first, and then {longer.documents}")
    merger = new_merger(options, MAX_WORDS)
    continue_from(first, longer, merger)
    del longer
    return _learned(merger, options, progress, before=first.merges or (), pattern=first.pattern)


def train_from_counts(
    counts: Mapping[bytes, int] | CountFile,
    vocab_size: int,
    counting: CountOptions,
    *,
    progress: Progress | None = None,
    **options: Any,
) -> Vocab:
    """Learn merges from pre-tokens and how often each occurs; their order does not matter.

    :meth:`bpetite.Tokenizer.train_from_counts` documents the arguments; `options` are fields of `TrainingOptions`.

    >>> vocab = train_from_counts({b"ab": 2, b" ab": 1}, 257, {"special_tokens": []})
    >>> vocab.tokens[256]
    b'ab'
    """
    if not isinstance(counts, (Mapping, CountFile)):
        raise TypeError(f"counts map bytes to int, not {type(counts).__name__}")
    Cutting.of(**counting)
    carried: Any = vars(counts.cutting) if isinstance(counts, Counts) else {}
    chosen = TrainingOptions(vocab_size, **{**carried, **counting}, **options)
    if isinstance(counts, Counts):
        if name := chosen.cutting.difference(counts.cutting):
            given, made_with = getattr(chosen.cutting, name), getattr(counts, name)
            raise ValueError(f"{name}={given!r} contradicts these counts, made with {name}={made_with!r}")
        check_cut(counts)
    return _learned(merger_of(counts, chosen), chosen, progress)


def check_trainable(options: TrainingOptions) -> Vocab:
    """The vocabulary from which learning starts: finds mistakes in options before hours of counting.

    Raises:
        ValueError: The pattern is no regular expression.
    """
    cutting: Any = vars(options.cutting)
    merger = merger_of(count_pretokens((), num_threads=1, **cutting), options)
    learn_until(merger, options.vocab_size, None)
    pattern = options.cutting.pattern if options.superwords_from is None else options.superword_pattern
    return new_vocab(merger, options, pattern=pattern)


def check_cut(counts: Counts) -> None:
    """Refuse a pattern that leaves documents of several words whole, unless it says so itself."""
    pattern = counts.pattern
    if patterns.is_explicit(pattern) or counts.total > 1.5 * counts.documents:
        return
    sample = [pretoken.decode(errors="replace") for pretoken, _ in islice(pairs_of(counts), 100)]
    if sum(len(text.split()) for text in sample) > 3 * len(sample):
        raise ValueError(
            f"pattern {pattern!r} cuts {counts.documents} documents into {counts.total} pre-tokens, such as "
            f"{sample[0][:60]!r}. Where that is meant, write (?:...) around it, or None for no pre-tokenization; named "
            f"patterns are {', '.join(patterns.NAMED)}"
        )


def merger_of(counts: Mapping[bytes, int] | CountFile, options: TrainingOptions) -> Merger:
    """A merger that holds these pre-tokens."""
    merger = new_merger(options)
    _add(merger, counts)
    return merger


def continue_from(vocab: Vocab, counts: Mapping[bytes, int] | CountFile, merger: Merger) -> dict[int, int]:
    """Give a new merger the tokens of a vocabulary, and pre-tokens encoded by it. Returns the ids of `make_known`."""
    ids = make_known(vocab, merger)
    whole = vocab.merges is None or vocab.ignore_merges
    merger.encode_by(vocab.token_table, vocab.merge_table, array("I", ids.values()), whole)
    _add(merger, counts)
    return ids


def make_known(vocab: Vocab, merger: Merger) -> dict[int, int]:
    """Make the tokens of a vocabulary known to a merger.

    Returns:
        merger id -> vocabulary id, in the order of the merger's: bytes first, then the results of merges in the order
        of the list, then tokens that no merge makes. The tokens of ranks come in the order of their ids.

    Raises:
        ValueError: A byte has no token; a merge takes what no byte or earlier merge gives.
    """
    tokens, merges = vocab.tokens, vocab.merges or ()
    ordered = []
    for byte in merger.all_tokens():  # so far the bytes
        number = vocab.find(byte)
        if number is None or number in vocab.not_looked_up:
            raise ValueError(f"there is no token for the byte 0x{byte[0]:02x}; only complete vocabularies are extended")
        ordered.append(number)
    ordered = [*dict.fromkeys(chain(ordered, vocab.merge_results))]
    internal = {number: inside for inside, number in enumerate(ordered)}
    known = set(ordered[:256])
    for rank, (pair, joined) in enumerate(zip(merges, vocab.merge_results, strict=True)):
        for part in pair:
            if part not in known:
                raise ValueError(f"merge {rank} takes {tokens[part]!r}, which no byte or earlier merge gives")
        known.add(joined)
    merger.know(array("I", map(internal.__getitem__, chain.from_iterable(merges))))
    others = sorted(tokens.keys() - internal.keys() - vocab.not_looked_up)
    for number in others:
        merger.add_token(tokens[number])
    return dict(enumerate(ordered + others))


def _add(merger: Merger, counts: Mapping[bytes, int] | CountFile) -> None:
    for pretokens in readers_of(counts):
        merger.add(pretokens)


def new_merger(options: TrainingOptions, max_words: int = 0) -> Merger:
    """A merger that learns as the options say; pre-tokens come later."""
    return Merger(
        min(options.min_frequency, MAX_COUNT),
        options.tie_break == "bytes",
        min(options.max_token_bytes or 0, MAX_LENGTH),
        ORDER if options.tie_break == "tokenizers" else bytes(range(256)),
        max_words,
    )


def learn_until(merger: Merger, limit: int, progress: Progress | None) -> None:
    """Learn until there are `limit` tokens, or no pair is left."""
    start, last = merger.tokens, min(limit, MAX_TOKENS)
    reached = True
    while reached:
        reached = merger.learn(min(last, merger.tokens + STEP)) and merger.tokens < last
        if progress is not None:
            progress("merge", merger.tokens - start, limit - start)


def _learned(merger: Merger, options: TrainingOptions, progress: Progress | None, **more: Any) -> Vocab:
    """Learn until there are `vocab_size` tokens; warn where there are fewer. `more` is for :func:`new_vocab`."""
    learn_until(merger, options.vocab_size, progress)
    warn_of_few(merger.tokens, options.vocab_size, options)
    return new_vocab(merger, options, train_config=train_config("train", options.record()), **more)


def warn_of_few(
    learned: int,
    wanted: int,
    options: TrainingOptions,
    tokens: str = "tokens",
    way_out: str = "train on more text, or with a smaller vocab_size",
) -> None:
    """Warn where there are fewer tokens than were asked for."""
    if learned < wanted:
        few = f"no pair is left to learn (min_frequency={options.min_frequency}): {learned} {tokens}, not {wanted}"
        warn_caller(f"{few}; {way_out}", TrainingWarning)


def new_vocab(
    merger: Merger,
    options: TrainingOptions,
    *,
    before: Sequence[tuple[int, int]] = (),
    **changes: Any,
) -> Vocab:
    """The vocabulary of the learned tokens. `before` are merges, in its ids, that come first; `changes` are fields."""
    shift = options.first_byte
    learned = merger.all_tokens()
    check_no_special(learned[256:], options.special_tokens)
    # the merger's id -> id: bytes have the ids that they are
    ids_of = [*(byte[0] + shift for byte in learned[:256]), *range(256 + shift, len(learned) + shift)]
    tokens = dict(zip(ids_of, learned, strict=True))
    single = {literal.encode(): number for literal, number in options.byte_specials.items()}
    special_tokens, _, new = place_specials(options.special_tokens, tokens, single.get, 0 if shift else len(learned))
    tokens |= new
    order = sorted(tokens)
    if order != list(tokens):
        tokens = {number: tokens[number] for number in order}
    cutting = options.cutting
    settings: Any = {"pattern": cutting.pattern, "normalization": cutting.normalization}
    return Vocab(tokens, [*before, *merger.merges(ids_of)], special_tokens, **settings | changes)


def check_no_special(learned: Iterable[bytes], literals: Iterable[str]) -> None:
    """Refuse a learned token that spells a special token. Counting cuts these out; ready counts may hold one."""
    literal_of = {literal.encode(): literal for literal in literals}
    for token in learned:
        if token in literal_of:
            raise ValueError(
                f"the counts hold the special token {literal_of[token]!r} as text: count with "
                f"special_tokens=[{literal_of[token]!r}], so that it is cut out"
            )
