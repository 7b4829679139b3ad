"""Byte pair encoding as it was first published: data compression.

Source: P. Gage, "A New Algorithm for Data Compression", The C Users Journal 12(2), February 1994. Gage replaces pairs
by byte values that the data does not use, and works in blocks. Here a new symbol is a new number, so any text can be
compressed until no pair occurs twice. It shows the idea that tokenizers took up; it is not meant for archives.
"""
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from .reference import replace_pair

__all__ = ["Compressed", "compress", "decompress"]


@dataclass(frozen=True)
class Compressed:
    """The result of :func:`compress`.

    Attributes:
        symbols: The compressed sequence. Numbers below ``first`` are characters (code points) or bytes; others
            stand for a pair in ``table``.
        table: new symbol -> the pair it stands for, in order of creation.
        first: The first new symbol: 256 for bytes, 0x110000 for str.
        is_text: True if the input was a str.
    """

    symbols: tuple[int, ...]
    table: dict[int, tuple[int, int]]
    first: int
    is_text: bool


def compress(data: str | bytes) -> Compressed:
    """Replace the most frequent pair of symbols by a new symbol, and again, until no pair occurs twice.

    Occurrences are counted without overlaps (``aaa`` holds (a, a) once), as they are replaced. Among equally frequent
    pairs the first one in the data is taken. Every new symbol takes a pass over the data.

    Args:
        data: Any str, lone surrogates included, or bytes.

    Returns:
        Symbols and table; :func:`decompress` gives the data back.

    >>> packed = compress("aaabdaaabac")
    >>> len(packed.symbols), len(packed.table)
    (5, 3)
    >>> decompress(packed)
    'aaabdaaabac'
    """
    if not isinstance(data, str | bytes):
        raise TypeError(f"compress takes str or bytes, not {type(data).__name__}")
    is_text = isinstance(data, str)
    symbols = [ord(char) for char in data] if isinstance(data, str) else list(data)
    first = 0x110000 if is_text else 256
    table: dict[int, tuple[int, int]] = {}
    while True:
        pair, count = _most_frequent(symbols)
        if pair is None or count < 2:
            return Compressed(tuple(symbols), table, first, is_text)
        table[first + len(table)] = pair
        symbols = replace_pair(symbols, pair, first + len(table) - 1)


def decompress(compressed: Compressed) -> str | bytes:
    """The data that was compressed.

    Raises:
        ValueError: A symbol that is neither a character nor in the table.
    """
    first, table = compressed.first, compressed.table
    out: list[int] = []
    stack = list(reversed(compressed.symbols))
    while stack:
        symbol = stack.pop()
        if 0 <= symbol < first:
            out.append(symbol)
        elif symbol in table and max(table[symbol]) < symbol:
            left, right = table[symbol]
            stack += (right, left)
        else:
            raise ValueError(f"symbol {symbol} is neither below {first} nor a pair of earlier symbols")
    return "".join(map(chr, out)) if compressed.is_text else bytes(out)


def _most_frequent(symbols: Sequence[int]) -> tuple[tuple[int, int] | None, int]:
    counts: Counter[tuple[int, int]] = Counter()
    last_at: dict[tuple[int, int], int] = {}
    for at, pair in enumerate(pairwise(symbols)):
        if last_at.get(pair) == at - 1 and pair[0] == pair[1]:
            continue
        last_at[pair] = at
        counts[pair] += 1
    if not counts:
        return None, 0
    (pair, count), = counts.most_common(1)
    return pair, count
