"""Compressed files checked before their documents are taken.

The checksum of a member stands at its end, and damaged data often decompresses for a while to what looks like text. So
where a run goes on behind damage, a file is decompressed twice: once to see which members are whole.
"""
from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass
from functools import lru_cache
from typing import BinaryIO

from .expanding import MAGIC, DamagedError, Expander
from .files import open_bytes
from .find import Piece
from .urls import is_url

__all__ = ["Gap", "find_gaps"]

#: Bytes searched at a time for the start of a member.
SEARCHED = 1 << 20

#: Bytes of starts of members that turn out to be none, for each byte of the file: what a file can make the search cost.
TRIED = 4


@dataclass(frozen=True)
class Gap:
    """Damaged members one after another.

    Attributes:
        start, stop: Bytes of the file.
        offset: Decompressed bytes of whole members before it.
        cause: What is wrong with the first one.
    """

    start: int
    stop: int
    offset: int
    cause: str


@lru_cache(maxsize=64)
def find_gaps(piece: Piece) -> tuple[Gap, ...]:
    """The gaps of a compressed file, in order; cached, as more than the reader asks for them.

    Raises:
        ValueError: It is a pipe.
        OSError: It is not there, or cannot be read.
    """
    assert piece.compression is not None
    if not (is_url(piece.path) or stat.S_ISREG(os.stat(piece.path).st_mode)):
        raise ValueError(f"{piece.path}: a compressed pipe cannot be checked for damage before it is read, as "
                         "on_error='skip' and 'replace' do; write it to a file, or on_error='fail'")
    gaps: list[Gap] = []
    offset, tried = 0, 0
    with open_bytes(piece.path) as file:
        expander = Expander(file, piece.compression)
        open_gap: Gap | None = None
        while True:
            size = 0
            try:
                start = expander.boundary()
                while start is not None:
                    size += len(expander.more())
                    if expander.between:
                        break
            except DamagedError as damage:
                assert start is not None
                if open_gap is None:
                    open_gap = Gap(start, piece.size, offset, str(damage))
                else:
                    tried += expander.read - start
                found = None
                if tried <= TRIED * piece.size:
                    found = _next_start(file, start + 1, MAGIC[piece.compression])
                if found is None:
                    return (*gaps, open_gap)
                expander.seek(found)
                continue
            if open_gap is not None:
                # a member follows that is whole, or nothing
                stop = piece.size if start is None else start
                gaps.append(Gap(open_gap.start, stop, open_gap.offset, open_gap.cause))
                open_gap = None
            if start is None:
                return tuple(gaps)
            offset += size


def _next_start(file: BinaryIO, at: int, magic: re.Pattern[bytes]) -> int | None:
    """Where the next member may begin, from an offset on."""
    file.seek(at)
    edge = b""
    while chunk := file.read(SEARCHED):
        window = edge + chunk
        found = magic.search(window)
        if found:
            return at - len(edge) + found.start()
        edge = window[-15:]
        at += len(chunk)
    return None
