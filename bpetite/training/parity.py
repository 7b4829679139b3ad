"""Parity-aware BPE: each merge is the most frequent pair of the language that is compressed worst.

N. Foroutan, C. Meister, D. Paul, J. Niklaus, S. Ahmadi, A. Bosselut and R. Sennrich, "Parity-Aware Byte-Pair Encoding:
Improving Cross-lingual Fairness in Tokenization", ACL 2026, arXiv 2508.04796.

Every language has a merger of its own pre-tokens; so have the texts that languages are compared by. One merger chooses
the pair, all mergers join it, and they share the tokens.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias

from ..errors import check_integer, short_repr
from ..lazy import lists_options
from .counting._count_table import CountTable
from .counting.counts import CountFile, Counts, PretokenCounts, reader_of, table_of
from .counting.texts import Progress, count_pretokens, gathered, texts_not_paths
from .merging._merger import Merger, join_together
from .options import LearningOptions, TrainingOptions, chosen_options, train_config
from .train import check_cut, learn_until, merger_of, new_merger, new_vocab, warn_of_few

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..tokenizer import Tokenizer

__all__ = ["Corpora", "train_parity"]

STEP = 256  # merges between two calls of `progress`
BLOCK = 1 << 24  # characters of a language that are counted at a time
HELD = 1 << 26  # characters of all languages that wait for that
NOTHING = -1.0
EXPECTED = "a mapping from languages to texts or counts, or pairs of a language and a text"

AnyCounts: TypeAlias = Mapping[bytes, int] | CountFile
#: language -> texts or counts; or pairs of a language and a text.
Corpora: TypeAlias = Mapping[str, str | bytes | Iterable[str | bytes] | AnyCounts] | Iterable[tuple[str, str | bytes]]


@lists_options("training.options", "LearningOptions", "DEFAULTS")
def train_parity(
    corpora: Corpora,
    vocab_size: int,
    *,
    dev: Corpora | None = None,
    global_merges: int = 0,
    num_threads: int | None = None,
    progress: Progress | None = None,
    **options: Unpack[LearningOptions],
) -> Tokenizer:
    """Learn a tokenizer that is fair to languages: each merge is the most frequent pair of the language that is
    compressed worst so far (parity-aware BPE, Foroutan et al. 2025).

    Args:
        corpora: language -> texts, as for :meth:`train`, or counts, as for :meth:`train_from_counts`; or pairs
            (language, text), in any order.
        vocab_size, num_threads, progress: As for :meth:`train`.
        dev: In one of these forms, the same texts in each language: the worst language is the one that takes most
            tokens for them. When None, it is the one with most tokens a byte of its corpus. Among equals, the first
            one given.
        global_merges: The number of first merges, which ordinary training on all languages together gives.
        options: As for :meth:`train_from_counts`; ``min_frequency`` counts within the language.

    Raises:
        ValueError: No language; others in ``dev`` than in ``corpora``; as for :meth:`train`.

    >>> train_parity({"de": "ab ab ab", "fr": ["cd"]}, 258).merges
    [(b'a', b'b'), (b'c', b'd')]
    """
    from ..tokenizer import Tokenizer

    chosen = chosen_options(vocab_size, options, LearningOptions)
    global_merges = check_integer("global_merges", global_merges, 0)
    _check_languages(corpora, dev)
    given = [corpus for one in (dev, corpora) if isinstance(one, Mapping) for corpus in one.values()]
    for corpus in given:  # counts carry the options of counting
        if isinstance(corpus, Counts):
            chosen = chosen.for_counts(corpus)
    texts = None if dev is None else _counts(dev, chosen, num_threads, progress)
    counts = _counts(corpora, chosen, num_threads, progress, texts)
    _check_same(counts, texts)
    known = new_merger(chosen)  # holds no words, only the learned tokens
    groups = [_Languages(counts.values(), chosen, known, parallel=False)]
    if texts is not None:
        texts = {name: texts[name] for name in counts}
        groups.append(_Languages(texts.values(), chosen, known, parallel=True))
    shared = min(256 + global_merges, chosen.vocab_size)
    first: list[tuple[int, int]] = []
    if shared > known.tokens:  # ordinary training on all languages together
        merger = new_merger(chosen)
        for one in counts.values():
            merger.add(reader_of(one))
        learn_until(merger, shared, progress)
        first = list(merger.merges())
        del merger  # which holds all words
    _learn(known, groups, first, chosen.vocab_size, progress)
    warn_of_few(known.tokens, chosen.vocab_size, chosen)
    record = chosen.record() | {"languages": list(counts), "global_merges": global_merges}
    return Tokenizer.from_vocab(new_vocab(known, chosen, train_config=train_config("train_parity", record)))


class _Languages:
    """The texts of each language as tokens: mergers, numbers of tokens, and the units that divide these."""

    def __init__(self, counts: Iterable[AnyCounts], options: TrainingOptions, known: Merger, *, parallel: bool) -> None:
        by_language = list(counts)
        self.mergers = [merger_of(one, options, sharing=known) for one in by_language]
        self.tokens = [_size(one) for one in by_language]
        self.units = [1] * len(by_language) if parallel else list(self.tokens)
        #: Tokens a unit; below all others where nothing is left to learn.
        self.costs = [tokens / unit if unit else NOTHING for tokens, unit in zip(self.tokens, self.units, strict=True)]

    def join(self, left: int, right: int, token: int) -> None:
        for number, fewer in join_together(self.mergers, left, right, token):
            self.tokens[number] -= fewer
            if self.costs[number] != NOTHING:
                self.costs[number] = self.tokens[number] / self.units[number]

    def worst(self) -> int | None:
        """The number of the language with most tokens a unit, the first among equals; None where none is left."""
        most = max(self.costs)
        if most == NOTHING:
            return None
        worst = self.costs.index(most)
        if self.costs.count(most) == 1:  # division rounds, but never changes which of two is the larger
            return worst
        for number, cost in enumerate(self.costs):
            if cost == most and self.tokens[number] * self.units[worst] > self.tokens[worst] * self.units[number]:
                worst = number
        return worst


def _learn(
    known: Merger,
    groups: Sequence[_Languages],
    first: Iterable[tuple[int, int]],
    limit: int,
    progress: Progress | None,
) -> None:
    """Learn the first pairs, then for the worst language, until there are `limit` tokens or no pair is left."""
    start = told = known.tokens
    for pair in chain(first, _pairs_of_the_worst(groups)):
        if known.tokens >= limit:
            break
        token = known.learn_pair(*pair)
        for group in groups:
            group.join(*pair, token)
        if progress is not None and known.tokens - told >= STEP:
            told = known.tokens
            progress("merge", told - start, limit - start)
    if progress is not None:
        progress("merge", known.tokens - start, limit - start)


def _pairs_of_the_worst(groups: Sequence[_Languages]) -> Iterator[tuple[int, int]]:
    """Yield the most frequent pair of the worst language that has one left, again and again.

    IN: the first group is learned from, and the last one compared.
    """
    while (worst := groups[-1].worst()) is not None:
        pair = groups[0].mergers[worst].best()
        if pair is None:
            groups[-1].costs[worst] = NOTHING
        else:
            yield pair


def _counts(
    corpora: Any,
    options: TrainingOptions,
    num_threads: int | None,
    progress: Progress | None,
    dev: Mapping[str, AnyCounts] | None = None,
) -> dict[str, AnyCounts]:
    """The counts of each language; a language that `dev` lacks is an error when its first text comes."""
    cutting: Any = vars(options.cutting)
    counted = partial(count_pretokens, num_threads=num_threads, progress=progress, **cutting)
    if not isinstance(corpora, Mapping):
        return _counts_of_pairs(corpora, options, counted, dev)
    given: dict[str, AnyCounts] = {}
    for name, corpus in corpora.items():
        if isinstance(corpus, (Mapping, CountFile)):
            given[name] = corpus
            continue
        counts = counted(texts_not_paths(corpus))
        check_cut(counts)
        given[name] = counts
    return given


def _counts_of_pairs(
    pairs: Iterable[tuple[str, str | bytes]],
    options: TrainingOptions,
    counted: Callable[..., PretokenCounts],
    dev: Mapping[str, AnyCounts] | None,
) -> dict[str, AnyCounts]:
    """Count texts by language. They may come in any order; a bounded number of them is held."""
    tables: dict[str, CountTable] = {}
    documents: Counter[str] = Counter()

    def checked() -> Iterator[tuple[str, str | bytes]]:
        for pair in pairs:
            if not (isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[0], str)):
                raise TypeError(f"{EXPECTED}, not {short_repr(pair)}")
            name, text = pair
            if not isinstance(text, (str, bytes)):
                raise TypeError(f"the text of {name!r} is str or bytes, not {short_repr(text)}")
            if dev is not None and name not in dev:
                raise ValueError(f"the corpora have the language {name!r}, and dev has {sorted(dev)}")
            tables.setdefault(name, CountTable())
            documents[name] += 1
            yield name, text

    for name, texts in gathered(checked(), BLOCK, HELD):
        tables[name].update(table_of(counted(texts_not_paths(texts))))
    counts_of: dict[str, AnyCounts] = {}
    for name, table in tables.items():
        counts = PretokenCounts.from_table(table, options.cutting, documents[name])
        check_cut(counts)
        counts_of[name] = counts
    return counts_of


def _size(counts: AnyCounts) -> int:
    """The bytes of all pre-tokens."""
    pairs = counts if isinstance(counts, CountFile) else table_of(counts).sorted()
    return sum(len(pretoken) * count for pretoken, count in pairs)


def _check_languages(corpora: Any, dev: Any) -> None:
    for name, given in (("corpora", corpora), ("dev", dev)):
        if given is None and name == "dev":
            continue
        if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
            raise TypeError(f"{name}: {EXPECTED}, not {short_repr(given)}")
        for language in given if isinstance(given, Mapping) else ():
            if not isinstance(language, str):
                raise TypeError(f"{name}: the name of a language is a str, not {language!r}")
    if isinstance(corpora, Mapping) and (dev is None or isinstance(dev, Mapping)):
        _check_same(corpora, dev)


def _check_same(languages: Mapping[str, Any], dev: Mapping[str, Any] | None) -> None:
    "".join(languages).encode()  # train_config, which is saved, has the names
    if not languages:
        raise ValueError("train_parity takes one language at least")
    if dev is not None and dev.keys() != languages.keys():
        raise ValueError(f"dev has the languages {sorted(dev)}, and the corpora are of {sorted(languages)}")
