from collections.abc import Iterable

from ._tokens import TokenTable

def members(data: bytes) -> dict[str, tuple[int, int]] | None:
    """The positions of the values in a JSON object.

    Only brackets and quotes are looked at; damage to anything else is found when the values are read.

    Args:
        data: The file.

    Returns:
        key -> (start, stop) of its value, in the order of the file. None for what is no object, a key that occurs twice
        or has an escape, or damage.

    >>> members(b'{"a": {"b": []}, "c": 5}')
    {'a': (6, 15), 'c': (22, 23)}
    """

def read_tokens(data: bytes, start: int = 0, stop: int = -1) -> dict[int, bytes] | None:
    """The tokens in a JSON object: printable form -> id.

    Args:
        data: The file.
        start: Where the object begins in it, white space before it included.
        stop: Where it ends, white space after it included; -1 for the end of the file.

    Returns:
        id -> bytes, in the order of the file; None where anything is wrong. Tokens with the same bytes are not looked
        for.

    >>> read_tokens('{"Ġa": 5, "\\\\u0120": 3}'.encode())
    {5: b' a', 3: b' '}
    """

def read_merges(data: bytes, table: TokenTable) -> tuple[tuple[int, int], ...] | None:
    """The merges in a merges.txt: two tokens a line, after an optional first line that begins with ``#version``.

    Args:
        data: The file.
        table: The vocabulary. Of two tokens with the same bytes, the one with the lower id is meant.

    Returns:
        Pairs of ids; None where anything is wrong.
    """

def read_merge_list(data: bytes, start: int, stop: int, table: TokenTable) -> tuple[tuple[int, int], ...] | None:
    """The merges in a JSON array of strings, each two tokens with a space between.

    Arguments and result are those of :func:`read_tokens` and :func:`read_merges`.
    """

def decode_tokens(printables: Iterable[str]) -> list[bytes] | None:
    """The bytes of printable forms, as :func:`bpetite.bytelevel.decode_token_bytes` gives them; None where it raises.

    Args:
        printables: An iterable of str.
    """
