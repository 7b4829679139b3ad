from array import array

from .._merge import MergeTable
from ..vocabulary._tokens import TokenTable
from ._count_table import CountTable

def token_uses(table: CountTable, tokens: TokenTable, merges: MergeTable) -> tuple[array[int], array[int]]:
    """How many pre-tokens each token is, and how often it is inside of pre-tokens that are no token.

    Args:
        table: The pre-tokens.
        tokens: Tokens with the ids 0..n-1, all bytes among them, each found by its bytes.
        merges: What pre-tokens that are no token are encoded by.

    Returns:
        Two arrays of int64, by id.

    Raises:
        OverflowError: A token occurs more than 2^63 - 1 times.
    """
