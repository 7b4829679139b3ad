from typing import final

from .._merge import MergeTable
from ._tokens import TokenTable

@final
class WordMerges:
    """The merges of a table whose rank is below `limit`, and between which bytes none of them joins."""

    @property
    def merges(self) -> MergeTable:
        """Those of a rank below the limit."""
    def __new__(cls, tokens: TokenTable, table: MergeTable, limit: int | None = None) -> WordMerges: ...

def first_across(tokens: TokenTable, table: MergeTable) -> int | None:
    """The lowest rank of a merge that joins the end of a word with a space and what follows, or None.

    >>> from bpetite import Tokenizer
    >>> vocab = Tokenizer.train("a b a b a", 259, superwords_from=257).to_vocab()
    >>> vocab.merges
    ((32, 97), (32, 98), (257, 256))
    >>> first_across(vocab.token_table, vocab.merge_table)
    2
    """
