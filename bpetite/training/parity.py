"""Parity-aware BPE: each merge is the most frequent pair of the language that is compressed worst.

N. Foroutan, C. Meister, D. Paul, J. Niklaus, S. Ahmadi, A. Bosselut and R. Sennrich, "Parity-Aware Byte-Pair Encoding:
Improving Cross-lingual Fairness in Tokenization", ACL 2026, arXiv 2508.04796.

Every language has a merger of its own pre-tokens, and so have the texts by which languages are compared. One merger
says what to join, all of them join it; they share the tokens.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from ..errors import short_repr
from ..vocabulary.vocab import Vocab
from ._count_table import CountTable
from .config import config_of, corpus_of
from .continuing import add_counts
from .counting import Progress, count_pretokens
from .counts import PretokenCounts, table_of
from .merging._merger import Merger, join_together
from .options import TrainingOptions, TrainOptions, check_integer, chosen_options
from .spilled import CountFile
from .train import check_cut, merger_of, new_merger, new_vocab, texts_not_paths, warn_of_few

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..tokenizer import Tokenizer

__all__ = ["Corpora", "train_parity"]

STEP = 256  # merges between two calls of `progress`
BLOCK = 1 << 24  # characters of a language that are counted at a time
HELD = 1 << 26  # characters of all languages that wait for that
NOTHING = -1.0
EXPECTED = "a mapping from languages to texts or counts, or pairs of a language and a text"

Counts: TypeAlias = Mapping[bytes, int] | CountFile
#: language -> texts or counts; or pairs of a language and a text.
Corpora: TypeAlias = Mapping[str, str | bytes | Iterable[str | bytes] | Counts] | Iterable[tuple[str, str | bytes]]


def train_parity(
    corpora: Corpora,
    vocab_size: int,
    *,
    dev: Corpora | None = None,
    global_merges: int = 0,
    num_threads: int | None = None,
    **options: Unpack[TrainOptions],
) -> Tokenizer:
    """Learn a tokenizer that is fair to languages: each merge is the most frequent pair of the language that is
    compressed worst so far (parity-aware BPE, Foroutan et al. 2025).

    Args:
        corpora: language -> texts, as for :meth:`train`, or counts, as for :meth:`train_from_counts`; or pairs
            (language, text), in any order.
        vocab_size, num_threads, options: As for :meth:`train`; ``min_frequency`` is that within the language.
        dev: In one of these forms, the same texts in each language: the worst language is the one that takes most
            tokens for them. When None, it is the one with most tokens a byte of its corpus. Of several, the first
            one given.
        global_merges: So many merges at first are those of ordinary training on all languages together.

    Raises:
        ValueError: No language; others in ``dev`` than in ``corpora``; as for :meth:`train`.

    >>> train_parity({"de": "ab ab ab", "fr": ["cd"]}, 258).merges
    [(b'a', b'b'), (b'c', b'd')]
    """
    from ..tokenizer import Tokenizer

    chosen = chosen_options(vocab_size, options)
    return Tokenizer.from_vocab(_learned(corpora, dev, chosen, global_merges, num_threads, options.get("progress")))


def _learned(
    corpora: Corpora,
    dev: Corpora | None,
    options: TrainingOptions,
    global_merges: int,
    num_threads: int | None,
    progress: Progress | None,
) -> Vocab:
    global_merges = check_integer("global_merges", global_merges, 0)
    if options.superwords_from is not None:
        raise ValueError("superwords_from is for train, not for train_parity")
    _check_languages(corpora, dev)
    options = _settled(corpora, _settled(dev, options))
    texts = None if dev is None else _counts(dev, options, num_threads, progress)
    counts = _counts(corpora, options, num_threads, progress, texts)
    _check_same(counts, texts)
    known = new_merger(options)  # holds no words: it keeps what is learned
    groups = [_Languages(counts.values(), options, known, parallel=False)]
    record = {"languages": {name: corpus_of(one) for name, one in counts.items()}}
    if texts is not None:
        texts = {name: texts[name] for name in counts}
        groups.append(_Languages(texts.values(), options, known, parallel=True))
        record["dev"] = {name: corpus_of(one) for name, one in texts.items()}
    shared = min(256 + global_merges, options.vocab_size)
    for pair in _global_merges(list(counts.values()), shared, options):
        _join(known, groups, pair)
    _learn(known, groups, options.vocab_size, progress)
    warn_of_few(known, options)
    vocab = new_vocab(known, options, None)
    given = options.record() | {"languages": list(counts), "global_merges": global_merges}
    return replace(vocab, train_config=config_of("train_parity", given, record))


class _Languages:
    """The texts of each language as tokens: mergers, how many tokens there are, and what that is to be divided by."""

    def __init__(self, counts: Iterable[Counts], options: TrainingOptions, known: Merger, *, parallel: bool) -> None:
        found = list(counts)
        self.mergers = [merger_of(one, options, beside=known) for one in found]
        self.tokens = [_size(one) for one in found]
        self.units = [1] * len(found) if parallel else list(self.tokens)
        #: Tokens a unit; below all others where nothing is left to learn.
        self.costs = [tokens / unit if unit else NOTHING for tokens, unit in zip(self.tokens, self.units, strict=True)]

    def join(self, left: int, right: int, token: int) -> None:
        for number, fewer in join_together(self.mergers, left, right, token):
            self.tokens[number] -= fewer
            if self.costs[number] != NOTHING:
                self.costs[number] = self.tokens[number] / self.units[number]

    def leave_out(self, number: int) -> None:
        """Never take this language for the worst one again."""
        self.costs[number] = NOTHING

    def worst(self) -> int | None:
        """The number of the language with most tokens a unit, the first one of several; None where none is left."""
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


def _learn(known: Merger, groups: Sequence[_Languages], limit: int, progress: Progress | None) -> None:
    """Learn for the worst language that has a pair left, until there are so many tokens or none has one.

    IN: the first group is learned from, and the last one compared.
    """
    start = told = known.tokens
    while known.tokens < limit and (worst := groups[-1].worst()) is not None:
        pair = groups[0].mergers[worst].best()
        if pair is None:
            groups[-1].leave_out(worst)
            continue
        _join(known, groups, pair)
        if progress is not None and known.tokens - told >= STEP:
            told = known.tokens
            progress("merge", told - start, limit - start)
    if progress is not None:
        progress("merge", known.tokens - start, limit - start)


def _join(known: Merger, groups: Iterable[_Languages], pair: tuple[int, int]) -> None:
    token = known.learn_pair(*pair)
    for group in groups:
        group.join(*pair, token)


def _global_merges(counts: Sequence[Counts], limit: int, options: TrainingOptions) -> list[tuple[int, int]]:
    """What ordinary training learns from all languages together, until there are so many tokens."""
    merger = new_merger(options)
    if limit == merger.tokens:
        return []
    for one in counts:
        add_counts(merger, one)
    while not merger.learn(limit, 1 << 20):
        pass
    return list(merger.merges())


def _settled(corpora: Any, options: TrainingOptions) -> TrainingOptions:
    """The options with what counts that were given say of themselves."""
    for corpus in corpora.values() if isinstance(corpora, Mapping) else ():
        if isinstance(corpus, (PretokenCounts, CountFile)):
            options = options.for_counts(corpus)
    return options


def _counts(
    corpora: Any,
    options: TrainingOptions,
    num_threads: int | None,
    progress: Progress | None,
    dev: Mapping[str, Counts] | None = None,
) -> dict[str, Counts]:
    """The counts of each language; a language that `dev` lacks is an error when its first text comes."""
    counted = partial(count_pretokens, **options.counting(), num_threads=num_threads, progress=progress)
    if not isinstance(corpora, Mapping):
        return _counts_of_pairs(corpora, options, counted, dev)
    found: dict[str, Counts] = {}
    for name, corpus in corpora.items():
        if isinstance(corpus, (Mapping, CountFile)):
            found[name] = corpus
            continue
        counts = counted(texts_not_paths(corpus))
        check_cut(counts, options)
        found[name] = counts
    return found


def _counts_of_pairs(
    pairs: Iterable[tuple[str, str | bytes]],
    options: TrainingOptions,
    counted: Callable[..., PretokenCounts],
    dev: Mapping[str, Counts] | None,
) -> dict[str, Counts]:
    """The counts of languages whose texts come in any order, of which a bounded number is held."""
    tables: dict[str, CountTable] = {}
    documents: Counter[str] = Counter()
    held: dict[str, list[str | bytes]] = {}
    sizes: Counter[str] = Counter()

    def count(name: str) -> None:
        tables[name].update(table_of(counted(texts_not_paths(held.pop(name)))))
        del sizes[name]

    for pair in pairs:
        if not (isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[0], str)):
            raise TypeError(f"{EXPECTED}, not {short_repr(pair)}")
        name, text = pair
        if not isinstance(text, (str, bytes)):
            raise TypeError(f"the text of {name!r} is str or bytes, not {short_repr(text)}")
        if dev is not None and name not in dev:
            raise ValueError(f"the corpora have the language {name!r}, and dev has {sorted(dev)}")
        tables.setdefault(name, CountTable())
        held.setdefault(name, []).append(text)
        documents[name] += 1
        sizes[name] += len(text)
        if sizes[name] >= BLOCK:
            count(name)
        elif sizes.total() >= HELD:
            count(sizes.most_common(1)[0][0])
    for name in list(held):
        count(name)
    found: dict[str, Counts] = {}
    for name, table in tables.items():
        counts = PretokenCounts.from_table(table, options.counting(), documents[name])
        check_cut(counts, options)
        found[name] = counts
    return found


def _size(counts: Counts) -> int:
    """Bytes in all."""
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
