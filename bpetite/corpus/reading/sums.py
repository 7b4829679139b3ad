"""Checksums of what is read of each input, by which a later reader finds a change, and where it is.

The CRC-32 of bytes follows from the CRC-32 of their parts: it is the same whoever reads which part, and when.
"""
from __future__ import annotations

from functools import lru_cache
from typing import TypeAlias

from ..sources.expanding import crc32
from .blocks import Block
from .problems import Flaw

__all__ = ["Sums", "add_sums", "sums_of"]

#: Bytes of text that have a checksum of their own.
RANGE = 1 << 30

#: Where a range begins -> [bytes that were read in it, their CRC-32].
Sums: TypeAlias = dict[str, list[int]]


def sums_of(block: Block) -> Sums:
    """The checksums of a block: of its bytes; of rows, of their texts, each with a line feed behind it."""
    data, at = block.data, block.start
    if block.form == "items":
        texts = [text.replacement if isinstance(text, Flaw) else text for text in data]
        data, at = b"\n".join([*texts, b""]), 0
    sums: Sums = {}
    view = memoryview(data if isinstance(data, bytes) else b"")
    while view:
        part = view[: RANGE - at % RANGE]
        sums[str(at - at % RANGE)] = [len(part), crc32(part)]
        at, view = at + len(part), view[len(part) :]
    return sums


def add_sums(known: Sums, added: Sums) -> None:
    """Add the checksums of the bytes that follow.

    >>> known = {"0": [2, crc32(b"ab")]}
    >>> add_sums(known, {"0": [3, crc32(b"cde")]})
    >>> known == {"0": [5, crc32(b"abcde")]}
    True
    """
    for start, (size, crc) in added.items():
        before, first = known.get(start, (0, 0))
        known[start] = [before + size, _behind(first, size) ^ crc]


def _behind(crc: int, size: int) -> int:
    """A CRC-32, as a polynomial over two elements, times x to the power of the bits of ``size`` bytes."""
    for bit in range(size.bit_length()):
        if size >> bit & 1:
            crc = _times(crc, _power(bit))
    return crc


@lru_cache(maxsize=64)
def _power(bit: int) -> int:
    """x to the power of the bits of 2^bit bytes; the highest bit of a number belongs to x^0."""
    return _times(_power(bit - 1), _power(bit - 1)) if bit else 1 << 23


def _times(first: int, second: int) -> int:
    """The product of two polynomials modulo the polynomial of CRC-32."""
    product = 0
    while first:
        product ^= second if first & 1 << 31 else 0
        first = first << 1 & 0xFFFFFFFF
        second = second >> 1 ^ (0xEDB88320 if second & 1 else 0)
    return product
