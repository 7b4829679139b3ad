from collections.abc import Collection, Sequence

from .._merge import MergeTable
from ._tokens import TokenTable

def build_merge_table(
    tokens: TokenTable, merges: Sequence[tuple[int, int]] | None, excluded: Collection[int] = frozenset()
) -> MergeTable:
    """The merge table of a vocabulary.

    Args:
        tokens: The vocabulary.
        merges: Pairs of ids in rank order; the token that a pair becomes is the one whose bytes are the two joined.
            None for the ranks kind: every split of a token into two tokens is a pair, and the rank of a pair is the
            place of the joined token in the order of the ids.
        excluded: Ids that take no part in merges of the ranks kind; an empty token never does.

    Raises:
        TypeError: A merge is no tuple.
        ValueError: A merge names an unknown id, or gives bytes that are no token.
        MemoryError: No memory for the table.

    >>> from bpetite.vocabulary._tokens import TokenTable
    >>> table = build_merge_table(TokenTable({0: b"a", 1: b"b", 2: b"ab"}), [(0, 1)])
    >>> table.get(0, 1)
    (0, 2)
    """

def last_steps(
    tokens: TokenTable, excluded: Collection[int] = frozenset()
) -> tuple[list[tuple[int, int]], int]:
    """The last step of each token when its bytes are merged by ranks: what is left of them without the tokens as long.

    Args:
        tokens: The vocabulary.
        excluded: Ids that take no part; an empty token never does.

    Returns:
        Pairs of ids, the two parts that are joined last, in the order of the ids of the tokens that they make; and how
        many tokens of two bytes or more are not reached.

    Raises:
        MemoryError: No memory for the tables.

    >>> from bpetite.vocabulary._tokens import TokenTable
    >>> last_steps(TokenTable({0: b"a", 1: b"b", 2: b"ab", 3: b"abab", 4: b"bba"}))
    ([(0, 1), (2, 2)], 1)
    """
