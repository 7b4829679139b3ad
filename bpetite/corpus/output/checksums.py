"""Checksums of files, as trees: one of each range of 16 MiB, and a root over them.

A checksum of a whole file can be taken only from its start to its end, by one thread. Ranges can be taken by many, by
whoever writes or reads them, and a difference has a place.
"""
from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, BinaryIO, Protocol

from ...core._threads import in_order
from ...errors import FormatError
from ..sources.files import open_bytes
from ..sources.paths import AnyPath

__all__ = ["RANGE", "Checksum", "FileCheck", "Sums", "check_file", "new_checksum", "root_of", "sums_of", "take_in"]

#: Bytes of a range; the last one of a file may have fewer.
RANGE = 16 << 20


class Checksum(Protocol):
    """A checksum that is being computed, as those of hashlib are."""

    def update(self, data: Any, /) -> object:
        """Take in the next bytes."""

    def hexdigest(self) -> str:
        """The checksum so far, in hex digits."""

    def copy(self) -> Checksum:
        """The same, to go on from separately."""


class Crc32:
    """CRC-32: finds accidental damage in a fraction of the time of SHA-256, in files that are soon read and deleted."""

    def __init__(self, crc: int = 0) -> None:
        self._crc = crc

    def update(self, data: Any, /) -> None:
        """Take in the next bytes."""
        self._crc = zlib.crc32(data, self._crc)

    def hexdigest(self) -> str:
        """Eight hex digits."""
        return f"{self._crc:08x}"

    def copy(self) -> Crc32:
        """The same, to go on from separately."""
        return Crc32(self._crc)


def new_checksum(algorithm: str) -> Checksum:
    """An empty checksum: "sha256" or "crc32"."""
    return Crc32() if algorithm == "crc32" else hashlib.sha256()


def root_of(algorithm: str, ranges: Iterable[str]) -> str:
    """The checksum of the checksums of all ranges, one after another as bytes."""
    root = new_checksum(algorithm)
    for one in ranges:
        root.update(bytes.fromhex(one))
    return root.hexdigest()


@dataclass(frozen=True)
class Sums:
    """The checksums of a file: what a manifest has of it."""

    algorithm: str
    ranges: tuple[str, ...]

    def listed(self) -> dict[str, Any]:
        """As JSON."""
        root = root_of(self.algorithm, self.ranges)
        return {"algorithm": self.algorithm, "range_bytes": RANGE, "root": root, "ranges": list(self.ranges)}

    @classmethod
    def of_listed(cls, listed: dict[str, Any], path: AnyPath) -> Sums:
        """Those that a manifest lists of a file.

        Raises:
            FormatError: They do not go with its size, or not with their root.
        """
        found = listed["checksum"]
        sums = cls(found["algorithm"], tuple(found["ranges"]))
        if found["range_bytes"] != RANGE or len(sums.ranges) != -(-listed["bytes"] // RANGE):
            raise FormatError(f"{path}: its manifest has {len(sums.ranges)} checksums of ranges of "
                              f"{found['range_bytes']} bytes for {listed['bytes']} bytes; damaged")
        try:
            right = root_of(sums.algorithm, sums.ranges) == found["root"]
        except ValueError:
            right = False
        if not right:
            raise FormatError(f"{path}: the checksums in its manifest do not have the root that it says; damaged")
        return sums


def sums_of(path: AnyPath, size: int, algorithm: str, threads: int = 1) -> Sums:
    """The checksums of the first ``size`` bytes of a file, by several threads."""
    ranges = in_order(partial(_range_of, path, size, algorithm), range(-(-size // RANGE)), threads)
    return Sums(algorithm, tuple(ranges))


def _range_of(path: AnyPath, size: int, algorithm: str, index: int) -> str:
    checksum = new_checksum(algorithm)
    stop = min(size, (index + 1) * RANGE)
    with open_bytes(str(path)) as file:
        file.seek(index * RANGE)
        take_in(checksum, file, stop - index * RANGE)
    return checksum.hexdigest()


def take_in(checksum: Checksum, file: BinaryIO, size: int) -> int:
    """Feed the next ``size`` bytes of an unbuffered file, or fewer at its end, to a checksum; returns their number."""
    # small enough to stay in the second-level cache between reading and hashing
    buffer = memoryview(bytearray(max(1, min(size, 1 << 18))))
    left = size
    while left > 0 and (count := file.readinto(buffer[: min(left, len(buffer))])):  # type: ignore[attr-defined]
        checksum.update(buffer[:count])
        left -= count
    return size - left


def check_file(path: AnyPath, listed: dict[str, Any], threads: int = 1) -> None:
    """Read a file, and compare it with what a manifest lists.

    Raises:
        FormatError: It has been changed; the message says which bytes differ.
    """
    sums = Sums.of_listed(listed, path)
    _check_size(path, listed["bytes"])
    work = partial(_range_of, path, listed["bytes"], sums.algorithm)
    for index, found in enumerate(in_order(work, range(len(sums.ranges)), threads)):
        _compare(path, listed["bytes"], sums, index, found)


def _check_size(path: AnyPath, expected: int) -> None:
    size = path.stat().st_size
    if size != expected:
        raise FormatError(f"{path}: {size} bytes, but its manifest says {expected}")


def _compare(path: AnyPath, size: int, sums: Sums, index: int, found: str) -> None:
    if found != sums.ranges[index]:
        stop = min(size, (index + 1) * RANGE)
        raise FormatError(f"{path}: bytes {index * RANGE} to {stop - 1} differ from the checksum in the manifest")


class FileCheck:
    """Compares bytes of a file that are read in order, from anywhere on, with what a manifest lists of them.

    Only whole ranges can be compared, so what lies before and after in them is read once more.

    Raises:
        FormatError: The file has another size than the manifest says.
    """

    def __init__(self, path: AnyPath, listed: dict[str, Any]) -> None:
        self._path = path
        self._size: int = listed["bytes"]
        self._sums = Sums.of_listed(listed, path)
        self._at: int | None = None
        self._checksum = new_checksum(self._sums.algorithm)
        _check_size(path, self._size)

    def take(self, offset: int, data: Any) -> None:
        """Take in the bytes at an offset, where the ones before ended.

        Raises:
            FormatError: They differ, as far as it is known now.
        """
        if self._at is None:
            self._at = offset // RANGE * RANGE
            self._read(offset - self._at)
        assert self._at == offset
        view = memoryview(data).cast("B")
        while len(view):
            part = view[: RANGE - self._at % RANGE]
            self._checksum.update(part)
            self._move(len(part))
            view = view[len(part) :]

    def finish(self, *, whole: bool) -> None:
        """Compare the last range; ``whole`` also what has not been taken in behind it.

        Raises:
            FormatError: They differ.
        """
        if self._at is None:
            self._at = 0
        if whole:
            self._read(self._size - self._at)
        elif self._at % RANGE:
            self._read(min(self._size, -(-self._at // RANGE) * RANGE) - self._at)

    def _read(self, count: int) -> None:
        assert self._at is not None
        with open_bytes(str(self._path)) as file:
            file.seek(self._at)
            while count:
                part = min(count, RANGE - self._at % RANGE)
                if take_in(self._checksum, file, part) < part:
                    raise FormatError(f"{self._path}: ends before byte {self._at + part}")
                self._move(part)
                count -= part

    def _move(self, count: int) -> None:
        assert self._at is not None
        self._at += count
        if self._at % RANGE == 0 or self._at == self._size:
            index = (self._at - 1) // RANGE
            _compare(self._path, self._size, self._sums, index, self._checksum.hexdigest())
            self._checksum = new_checksum(self._sums.algorithm)
