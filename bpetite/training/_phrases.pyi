from typing import final

from .._merge import MergeTable
from ..vocabulary._tokens import TokenTable
from ._count_table import CountTable
from ._pair_counts import FrequentPairs, PairCounts
from ._pieces import PieceTable
from ._words import Words

@final
class PhraseReader:
    """Encodes phrases, and counts or cuts what they become. One thread at a time.

    Tokens are numbers here: their places in the order of the ids.

    Args:
        tokens, merges, special_only: Of the vocabulary, see `Core`; a list of merges, not ranks.
        most_kept: Tokens of phrases that are kept, so that these are not read again; four bytes each.
    """

    kept: bool
    def __new__(
        cls, tokens: TokenTable, merges: MergeTable, special_only: frozenset[int], most_kept: int
    ) -> PhraseReader: ...
    def know_words(self, words: Words) -> None:
        """Know what the merges make of words, so that they are not merged again where phrases hold them.

        Args:
            words: Those that the merges were learned from, with all of them joined.
        """
    def count_pairs(self, phrases: CountTable, pairs: PairCounts, part: int, parts: int) -> None:
        """Count the pairs of tokens in one of several parts of a table of phrases, and keep the tokens while there is
        room; `kept` says whether all of them are."""
    def cut(self, phrases: CountTable, frequent: FrequentPairs, pieces: PieceTable, part: int, parts: int) -> None:
        """Cut phrases between two tokens whose pair is certainly not frequent, and count the pieces of two and more."""
    def cut_kept(self, frequent: FrequentPairs, pieces: PieceTable) -> None:
        """:meth:`cut` for the phrases that were kept."""
