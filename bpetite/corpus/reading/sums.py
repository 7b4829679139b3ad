"""Checksums of what is read of each input, by which a later reader finds a change, and where it is.

The CRC-32 of bytes follows from the CRC-32 of their parts: it is the same whoever reads which part, and when.
"""
from __future__ import annotations

from typing import TypeAlias

from ..sources.expanding import crc32
from ._sums import crc_behind
from .blocks import Block
from .problems import Flaw

__all__ = ["Sums", "add_sums", "sums_of"]

#: Bytes of text that have a checksum of their own.
SUM_RANGE = 1 << 30

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
        part = view[: SUM_RANGE - at % SUM_RANGE]
        sums[str(at - at % SUM_RANGE)] = [len(part), crc32(part)]
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
        known[start] = [before + size, crc_behind(first, size) ^ crc]
