from array import array
from typing import final

from typing_extensions import Buffer

@final
class MergeTable:
    """Pair of token ids -> (rank, id of the token that the pair becomes); immutable once it is filled.

    ``MergeTable()`` has no merges; :mod:`bpetite.vocabulary._merge_builder` fills one from a merge list or from ranks.

    >>> from bpetite import Tokenizer
    >>> table = Tokenizer.train("ab ab ab", 258).to_vocab().merge_table
    >>> table.get(97, 98)
    (0, 256)
    """

    @property
    def size(self) -> int:
        """How many pairs there are."""
    @property
    def ranks(self) -> int:
        """How many ranks there are: more than pairs where a pair is listed twice."""
    def __len__(self) -> int: ...
    def get(self, left: int, right: int) -> tuple[int, int] | None:
        """(rank, resulting id) of a pair, or None."""
    def results(self) -> array[int]:
        """uint32 ids as an ``array('I')``: what each merge gives, in rank order; for a table made of a list."""
    def apply(self, ids: Buffer, *, section: int = 2048) -> array[int]:
        """Merge token ids: the lowest rank first, the leftmost first, until no pair has a rank.

        Args:
            ids: uint32[n], an ``array('I')`` or a NumPy array; n is less than 2^32 - 1.
            section: How many ids of a long array are merged at a time, at least 1; the result does not depend on it.

        Returns:
            The ids that are left, as an ``array('I')``.

        >>> from array import array
        >>> from bpetite import Tokenizer
        >>> Tokenizer.train("ab ab ab", 258).to_vocab().merge_table.apply(array("I", list(b"ab ab")))
        array('I', [256, 257])
        """
