"""Superwords (SuperBPE): tokens that span words, learned after tokens within words.

A. Liu, J. Hayase, V. Hofmann, S. Oh, N. A. Smith and Y. Choi, "SuperBPE: Space Travel for Language Models", COLM 2025,
arXiv 2503.13423. The first stage is ordinary training. The second keeps its merges and goes on with a pattern that does
not cut at spaces. As in the authors' trainer (PythonNut/superbpe), a superword has at most four words, and no token
holds ": ", which ends the prompts of many benchmarks.

The corpus is read again, a block at a time, for the pairs of tokens, and once more, unless the tokens fit in memory,
for pieces that are cut where no merge can come (`_phrases.pyx`). What is learned is what whole phrases would give as
long as every merge is as frequent as the bound that the cuts were made with. That is checked, and where it fails the
bound is lowered and the pieces are cut again.
"""
from __future__ import annotations

import logging
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from ..core._threads import in_order, thread_count
from ..errors import TrainingWarning, warn_caller
from ..vocabulary.vocab import Vocab
from ._count_table import CountTable
from ._merger import Merger
from ._pair_counts import FrequentPairs, PairCounts
from ._phrases import PhraseReader
from ._pieces import PieceTable
from ._text_counter import batches
from ._words import Words
from .continuing import make_known
from .counting import count_as
from .counts import table_of

__all__ = ["MAX_WORDS", "Repeated", "learn_superwords", "repeatable"]

log: logging.Logger = logging.getLogger("bpetite.training.train")

MAX_WORDS = 4  # of a superword
BLOCK = 1 << 26  # characters (bytes of bytes) whose phrases are counted at a time
MOST_PAIRS = 1 << 26  # counted at a time, on all threads together: at most 1 GiB
MOST_THREADS = 8  # that share them
KEPT = 1 << 26  # tokens of phrases that are held, so that their texts are not read a third time: 256 MiB


class Repeated:
    """An iterable that calls a function for its iterator, each time anew."""

    def __init__(self, start: Callable[[], Iterator[Any]]) -> None:
        self.start = start

    def __iter__(self) -> Iterator[Any]:
        return self.start()


def repeatable(corpus: Any) -> Any:
    """The corpus, if it can be read several times.

    Raises:
        TypeError: It is an iterator, which is empty after the first time.
    """
    if isinstance(corpus, Iterator):
        raise TypeError(
            f"superwords are learned by reading the corpus several times, and a {type(corpus).__name__} is empty after "
            "the first: give a list, or an object whose __iter__ begins anew"
        )
    return corpus


def learn_superwords(
    vocab: Vocab,
    cutting: Vocab,
    corpus: Any,
    n: int,
    new_merger: Callable[[int], Merger],
    learn: Callable[[Merger, int], object],
    *,
    min_frequency: int,
    documents: int = 0,
    words: list[Words] | None = None,
    num_threads: int | None = None,
) -> tuple[Merger, dict[int, int], dict[str, Any]]:
    """Learn `n` tokens from the phrases of a corpus, after those of a vocabulary.

    Args:
        vocab: A merge list, whose pattern is the one of the second stage.
        cutting: The same with the special tokens that cut the corpus.
        corpus: Texts that can be iterated over again, or counts of phrases.
        new_merger: Makes a merger that takes superwords only, given how often a pair must occur to be learned.
        learn: Called with the merger and the number of tokens to end with.
        min_frequency: As the merger has it.
        documents: How many texts there were when the corpus was read before; 0 for not known.
        words: Those that the vocabulary was learned from, as its tokens; the list is emptied, so that they are freed.

    Returns:
        The merger, what it calls the tokens of the vocabulary (see `make_known`), and what the manifest says.
    """
    threads = min(thread_count(num_threads), MOST_THREADS)
    phrases = _Phrases(cutting, corpus, threads, documents)
    readers = [
        PhraseReader(vocab.token_table, vocab.merge_table, vocab.special_only, KEPT // threads) for _ in range(threads)
    ]
    while words:
        _know(words.pop(), readers)
    pairs = _pairs(phrases, readers, len(vocab.tokens))
    least = max(min_frequency, pairs.error + 1)
    floor = max(_first_floor(pairs, n), least)
    while True:
        # Pairs rarer than the bound need not be held: where one would be learned, the bound was too high.
        merger = new_merger(floor if floor > least else min_frequency)
        ids = make_known(vocab, merger)
        start = merger.tokens
        merger.add_pieces(_pieces(phrases, readers, pairs, floor), _internal_ids(vocab, ids))
        learn(merger, start + n)
        exact = merger.tokens == start + n and merger.frequency >= floor
        if exact or floor <= least:
            break
        floor = max(least, floor // 4)
    if not exact and least > min_frequency:
        warn_caller(
            f"the rarest pairs were not counted, for want of memory: superwords that occur fewer than {least} times "
            f"may not be the most frequent ones; the last one occurs {merger.frequency} times",
            TrainingWarning,
        )
    total, checksum = pairs.summary()
    record = {"pairs": total, "checksum": checksum if pairs.error == 0 else None}
    return merger, ids, ({"documents": phrases.documents} | record if phrases.documents else record)


class _Phrases:
    """The phrases of a corpus, a table for each block of it, each time they are iterated over."""

    def __init__(self, vocab: Vocab, corpus: Any, threads: int, documents: int) -> None:
        self.vocab, self.corpus, self.threads, self.documents = vocab, corpus, threads, documents

    def __iter__(self) -> Iterator[CountTable]:
        if isinstance(self.corpus, Mapping):
            yield table_of(self.corpus)
            return
        texts: Iterable[Any] = [self.corpus] if isinstance(self.corpus, (str, bytes)) else self.corpus
        found = 0
        for first, block, _ in batches(texts, BLOCK):
            found = first + len(block)
            yield count_as(self.vocab, block, num_threads=self.threads)._table
        if self.documents not in (0, found):
            raise ValueError(f"the corpus had {self.documents} documents when it was read before, and now {found}")
        self.documents = found


def _internal_ids(vocab: Vocab, ids: Mapping[int, int]) -> array[int]:
    """A token's place in the order of ids -> the merger's id; for a token that no text gives, its own place."""
    internal = {number: inside for inside, number in ids.items()}
    return array("I", [internal.get(number, place) for place, number in enumerate(sorted(vocab.tokens))])


def _know(words: Words, readers: Sequence[PhraseReader]) -> None:
    _together(lambda part: readers[part].know_words(words), len(readers))


def _pairs(phrases: _Phrases, readers: Sequence[PhraseReader], tokens: int) -> PairCounts:
    found = [PairCounts(MOST_PAIRS // len(readers), tokens) for _ in readers]
    for table in phrases:
        _together(partial(_count_part, table, readers, found), len(readers))
    for other in found[1:]:
        found[0].update(other)
    return found[0]


def _pieces(phrases: _Phrases, readers: Sequence[PhraseReader], pairs: PairCounts, floor: int) -> PieceTable:
    found = [PieceTable() for _ in readers]
    frequent = FrequentPairs(pairs, floor)
    if all(reader.kept for reader in readers):
        _together(lambda part: readers[part].cut_kept(frequent, found[part]), len(readers))
    else:
        for table in phrases:
            _together(partial(_cut_part, table, readers, frequent, found), len(readers))
    for other in found[1:]:
        found[0].update(other)
    log.info(f"superwords: {len(found[0]):,} different pieces of phrases, cut at pairs that occur fewer than {floor:,} "
             f"times; {found[0].size:,} tokens")  # fmt: skip
    return found[0]


def _count_part(
    table: CountTable, readers: Sequence[PhraseReader], found: Sequence[PairCounts], part: int
) -> None:
    readers[part].count_pairs(table, found[part], part, len(readers))


def _cut_part(
    table: CountTable, readers: Sequence[PhraseReader], frequent: FrequentPairs, found: Sequence[PieceTable], part: int
) -> None:
    readers[part].cut(table, frequent, found[part], part, len(readers))


def _together(work: Callable[[int], None], parts: int) -> None:
    """Each part on a thread of its own."""
    for _ in in_order(work, range(parts), parts):
        pass


def _first_floor(pairs: PairCounts, n: int) -> int:
    """0.45 times as often as the n-th most frequent pair occurs. The n-th merge of all texts and sizes tried occurred
    0.48 times as often or more; where a bound turns out too high, everything is done again."""
    return max(1, pairs.count_at(n) * 9 // 20) if n else 1
