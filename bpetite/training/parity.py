"""Parity-aware BPE: each merge is the most frequent pair of the language that is compressed worst.

N. Foroutan, C. Meister, D. Paul, J. Niklaus, S. Ahmadi, A. Bosselut and R. Sennrich, "Parity-Aware Byte-Pair Encoding:
Improving Cross-lingual Fairness in Tokenization", ACL 2026, arXiv 2508.04796.

Every language has a merger of its own pre-tokens, and so have the texts by which languages are compared. One merger
says what to join, all of them join it; they share the tokens.
"""
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..vocabulary.vocab import Vocab
from ._merger import Merger, join_together
from .config import config_of, corpus_of
from .counting import Progress, count_pretokens
from .counts import PretokenCounts, check_count
from .options import TrainingOptions, check_integer
from .spilled import CountFile
from .train import add_counts, check_cut, merger_of, new_merger, new_vocab, texts_not_paths, warn_of_few

__all__ = ["train_parity"]

STEP = 256  # merges between two calls of `progress`

Counts = Mapping[bytes, int] | CountFile


def train_parity(
    corpora: Mapping[str, Any],
    options: TrainingOptions,
    *,
    dev: Mapping[str, Any] | None = None,
    global_merges: int = 0,
    num_threads: int | None = None,
    progress: Progress | None = None,
) -> Vocab:
    """Learn merges from texts of several languages; :meth:`bpetite.Tokenizer.train_parity` documents the arguments.

    >>> train_parity({"de": "ab ab", "fr": "cd"}, TrainingOptions(258, special_tokens=[])).merges
    ((97, 98), (99, 100))
    """
    global_merges = check_integer("global_merges", global_merges, 0)
    _check_languages(corpora, dev)
    for name in ("superwords_from", "picky_threshold"):
        if getattr(options, name) is not None:
            raise ValueError(f"{name} is for train, not for train_parity")
    options = _settled([*corpora.values(), *(dev or {}).values()], options)
    counts = _counts(corpora, options, num_threads, progress)
    known = new_merger(options)  # holds no words: it keeps what is learned
    groups = [_Languages(counts.values(), options, known, parallel=False)]
    record = {"languages": {name: corpus_of(one) for name, one in counts.items()}}
    if dev is not None:
        texts = _counts({name: dev[name] for name in counts}, options, num_threads, progress)
        groups.append(_Languages(texts.values(), options, known, parallel=True))
        record["dev"] = {name: corpus_of(one) for name, one in texts.items()}
    shared = min(256 + global_merges, options.vocab_size)
    for pair in _global_merges(list(counts.values()), shared, options):
        _join(known, groups, pair)
    _learn(known, groups, options.vocab_size, progress)
    warn_of_few(known, options)
    vocab = new_vocab(known, known.merges(), options, None)
    given = options.record() | {"languages": list(counts), "global_merges": global_merges}
    return replace(vocab, train_config=config_of("train_parity", given, record))


class _Languages:
    """The texts of each language as tokens: mergers, how many tokens there are, and what that is to be divided by."""

    def __init__(self, counts: Iterable[Counts], options: TrainingOptions, known: Merger, *, parallel: bool) -> None:
        found = list(counts)
        self.mergers = [merger_of(one, options, beside=known) for one in found]
        self.tokens = [_size(one) for one in found]
        self.units = [1] * len(found) if parallel else list(self.tokens)

    def join(self, left: int, right: int, token: int) -> None:
        fewer = join_together(self.mergers, left, right, token)
        self.tokens = [tokens - less for tokens, less in zip(self.tokens, fewer, strict=True)]

    def worst(self, among: Sequence[int]) -> int:
        """The number of the language with most tokens a unit, the first one of several."""
        worst = among[0]
        for number in among[1:]:
            if self.tokens[number] * self.units[worst] > self.tokens[worst] * self.units[number]:
                worst = number
        return worst


def _learn(known: Merger, groups: Sequence[_Languages], limit: int, progress: Progress | None) -> None:
    """Learn for the worst language that has a pair left, until there are so many tokens or none has one.

    IN: the first group is learned from, and the last one compared.
    """
    left = [number for number, unit in enumerate(groups[-1].units) if unit]
    start = told = known.tokens
    while left and known.tokens < limit:
        worst = groups[-1].worst(left)
        pair = groups[0].mergers[worst].best()
        if pair is None:
            left.remove(worst)
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


def _settled(corpora: Iterable[Any], options: TrainingOptions) -> TrainingOptions:
    """The options with what counts that were given say of themselves."""
    for corpus in corpora:
        if isinstance(corpus, (PretokenCounts, CountFile)):
            options = options.for_counts(corpus)
    return options


def _counts(
    corpora: Mapping[str, Any], options: TrainingOptions, num_threads: int | None, progress: Progress | None
) -> dict[str, Counts]:
    """The counts of each language."""
    found: dict[str, Counts] = {}
    for name, corpus in corpora.items():
        if isinstance(corpus, (Mapping, CountFile)):
            found[name] = corpus
            continue
        texts = texts_not_paths(corpus)
        counted = count_pretokens(texts, **options.counting(), num_threads=num_threads, progress=progress)
        check_cut(counted, options)
        found[name] = counted
    return found


def _items(counts: Counts) -> Any:
    return (check_count(*item) for item in (counts.items() if isinstance(counts, Mapping) else counts))


def _size(counts: Counts) -> int:
    """Bytes in all."""
    return sum(len(pretoken) * count for pretoken, count in _items(counts))


def _check_languages(corpora: Any, dev: Any) -> None:
    for name, given in (("corpora", corpora), ("dev", dev)):
        if given is None and name == "dev":
            continue
        if not isinstance(given, Mapping):
            raise TypeError(f"{name} is a mapping from languages to texts or counts, not {type(given).__name__}")
        for language in given:
            if not isinstance(language, str):
                raise TypeError(f"{name}: the name of a language is a str, not {language!r}")
    if not corpora:
        raise ValueError("train_parity takes one language at least")
    if dev is not None and dev.keys() != corpora.keys():
        raise ValueError(f"dev has the languages {sorted(dev)}, and the corpora are of {sorted(corpora)}")
