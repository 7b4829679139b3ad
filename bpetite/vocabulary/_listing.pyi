from collections.abc import Iterable

from ._tokens import TokenTable

def list_tokens(table: TokenTable) -> bytes:
    """The tokens of a table.

    >>> from bpetite.vocabulary._tokens import TokenTable
    >>> list_tokens(TokenTable({1: b" a", 0: b"\\n"}))
    b'0 1\\n\\n\\n1 2\\n a\\n'
    """

def list_pairs(pairs: Iterable[tuple[int, int]]) -> bytes:
    """Pairs of ids.

    >>> list_pairs(((10, 7), (256, 0)))
    b'10 7\\n256 0\\n'
    """
