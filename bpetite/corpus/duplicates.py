"""Exact duplicates: a table of the hashes of all documents so far.

A document is known by 128 bits of BLAKE2b. Two different ones among n have the same hash with a probability of at most
n^2 / 2^129: 1.5e-19 for ten billion documents.
"""
from __future__ import annotations

import hashlib
import os
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ..errors import FormatError
from .output.durable import explained, open_own, write_all

__all__ = ["Digests", "Duplicates", "Seen", "digests_of"]

#: Hashes that are looked up together, at most.
AT_ONCE = 1 << 14

#: How full the table may be.
FULL = 0.8

#: How many times as large the next table is; both are in memory while hashes move.
GROWTH = 8

Digests = npt.NDArray[np.uint64]


def digests_of(texts: Sequence[bytes], epoch: int) -> Digests:
    """The hash of each text, uint64[n, 2], other ones for each repeat of a mixture."""
    key = b"%d" % epoch
    joined = b"".join(hashlib.blake2b(text, digest_size=16, key=key).digest() for text in texts)
    return np.frombuffer(joined, "<u8").reshape(-1, 2)


class Seen:
    """A set of hashes: open addressing with linear probing, 16 bytes a place.

    Args:
        memory: Bytes that it may take.
    """

    def __init__(self, memory: int) -> None:
        self._memory = memory
        # such that the last table and the one before take all the memory
        sizes = [max(64, memory // 16 * GROWTH // (GROWTH + 1))]
        while sizes[-1] > 1 << 13:
            sizes.append(sizes[-1] // GROWTH)
        self._sizes = sizes
        self._table: Digests = np.zeros((sizes.pop(), 2), np.uint64)
        self.count: int = 0

    def add(self, digests: Digests) -> npt.NDArray[np.bool_]:
        """Add hashes, in order; returns which of them were not there yet.

        Raises:
            ValueError: There is no room for them.
        """
        new = np.zeros(len(digests), np.bool_)
        at = 0
        while at < len(digests):
            step = min(AT_ONCE, max(1, len(self._table) // 8))
            new[at : at + step] = self._add(digests[at : at + step])
            at += step
            if self.count > FULL * len(self._table):
                self._grow()
        return new

    def _add(self, digests: Digests) -> npt.NDArray[np.bool_]:
        """The same for so few that there is room for all."""
        digests = np.where((digests == 0).all(axis=1, keepdims=True), np.uint64(1), digests)  # 0 is an empty place
        order = np.lexsort((digests[:, 1], digests[:, 0]))  # stable: of equal ones, the first comes first
        ordered = digests[order]
        differs = np.ones(len(order), np.bool_)
        differs[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
        new = np.zeros(len(digests), np.bool_)
        table, size = self._table, np.uint64(len(self._table))
        waiting = order[differs]
        places = (digests[waiting, 0] % size).astype(np.int64)
        while len(waiting):
            found = table[places]
            free = (found == 0).all(axis=1)
            table[places[free]] = digests[waiting[free]]  # of several at one place, the last
            found = table[places]
            same = (found == digests[waiting]).all(axis=1)
            new[waiting[free & same]] = True
            waiting, places = waiting[~same], places[~same] + 1
            places[places == len(table)] = 0
        self.count += int(new.sum())
        return new

    def _grow(self) -> None:
        if not self._sizes:
            raise ValueError(
                f"the table of documents without duplicates is full: {self.count:,} of them in {self._memory:,} bytes; "
                f"give more memory (--memory), {16 / FULL * (GROWTH + 1) / GROWTH:.1f} bytes for each"
            )
        old, self._table, self.count = self._table, np.zeros((self._sizes.pop(), 2), np.uint64), 0
        step = len(self._table) // 16
        for start in range(0, len(old), step):
            some = old[start : start + step]
            self._add(some[some.any(axis=1)])


class Duplicates:
    """The hashes of a run, and the file that has those of the documents that a checkpoint covers.

    Args:
        path: Of the file.
        memory: Bytes that the table may take.
        state: From :meth:`sync` of an earlier process.

    Raises:
        FormatError: The file is not as it was when it was synced.
    """

    def __init__(self, path: Path, memory: int, state: Sequence[int] | None) -> None:
        self._path = path
        self._seen = Seen(memory)
        self._size, self._crc = state or (0, 0)
        flags = os.O_RDWR | (os.O_CREAT | os.O_TRUNC if state is None else 0)
        if state is not None and not path.exists():
            raise FormatError(f"{path}: missing; overwrite=True starts anew")
        self._file = open(open_own(path, flags), "r+b", buffering=0)  # noqa: SIM115
        self._new: list[bytes] = []
        try:
            self._restore()
        except BaseException:
            self._file.close()
            raise

    def _restore(self) -> None:
        crc = at = 0
        while at < self._size:
            data = self._file.read(min(16 * AT_ONCE, self._size - at))
            at, crc = at + len(data), zlib.crc32(data, crc)
            if not data or len(data) % 16:
                raise FormatError(f"{self._path}: shorter than the journal says; overwrite=True starts anew")
            self._seen.add(np.frombuffer(data, "<u8").reshape(-1, 2))
        if crc != self._crc:
            raise FormatError(f"{self._path}: has been changed since the interruption; overwrite=True starts anew")
        self._file.truncate(self._size)

    def add(self, digests: Digests) -> npt.NDArray[np.bool_]:
        """Which documents are new; see `Seen.add`."""
        return self._seen.add(digests)

    def cover(self, digests: bytes) -> None:
        """Have the next checkpoint cover new documents of these hashes."""
        self._new.append(digests)

    def sync(self) -> list[int]:
        """Make the hashes durable that a checkpoint covers; returns what its journal records."""
        data, self._new = b"".join(self._new), []
        try:
            self._file.seek(self._size)
            self._size += write_all(self._file, data)
            os.fsync(self._file.fileno())
        except OSError as error:
            raise explained(error, self._path) from None
        self._crc = zlib.crc32(data, self._crc)
        return [self._size, self._crc]

    def close(self, *, remove: bool = False) -> None:
        """Close the file; ``remove`` deletes it."""
        self._file.close()
        if remove:
            self._path.unlink(missing_ok=True)
