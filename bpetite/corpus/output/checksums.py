"""Checksums of files, as trees: one of each range of 16 MiB, and a root over them.

A checksum of a whole file can be taken only from its start to its end, by one thread. Ranges can be taken by many, by
whoever writes or reads them, and a difference has a place.
"""
from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, BinaryIO

from ...core._threads import in_order
from ...errors import FormatError
from ..sources.files import open_bytes
from ..sources.paths import AnyPath

__all__ = ["RANGE", "Sums", "check_file", "checked_bytes", "root_of", "sums_of", "take_in"]

#: Bytes of a range; the last one of a file may have fewer.
RANGE = 16 << 20


def root_of(ranges: Iterable[str]) -> str:
    """The checksum of the checksums of all ranges, one after another as bytes."""
    root = hashlib.sha256()
    for one in ranges:
        root.update(bytes.fromhex(one))
    return root.hexdigest()


@dataclass(frozen=True)
class Sums:
    """The checksums of a file, for its manifest."""

    ranges: tuple[str, ...]

    def listed(self) -> dict[str, Any]:
        """As JSON."""
        root = root_of(self.ranges)
        return {"algorithm": "sha256", "range_bytes": RANGE, "root": root, "ranges": list(self.ranges)}

    @classmethod
    def of_listed(cls, listed: dict[str, Any], path: AnyPath) -> Sums:
        """The checksums in the manifest's entry of a file.

        Raises:
            FormatError: They do not go with its size, or not with their root.
        """
        found = listed["checksum"]
        sums = cls(tuple(found["ranges"]))
        if found["range_bytes"] != RANGE or len(sums.ranges) != -(-listed["bytes"] // RANGE):
            raise FormatError(f"{path}: its manifest has {len(sums.ranges)} checksums of ranges of "
                              f"{found['range_bytes']} bytes for {listed['bytes']} bytes; damaged")
        try:
            right = root_of(sums.ranges) == found["root"]
        except ValueError:
            right = False
        if not right:
            raise FormatError(f"{path}: the checksums in its manifest do not have the root that it says; damaged")
        return sums


def sums_of(path: AnyPath, size: int, threads: int = 1) -> Sums:
    """The checksums of the first ``size`` bytes of a file, by several threads."""
    return Sums(tuple(in_order(partial(_range_of, path, size), range(-(-size // RANGE)), threads)))


def _range_of(path: AnyPath, size: int, index: int) -> str:
    checksum = hashlib.sha256()
    stop = min(size, (index + 1) * RANGE)
    with open_bytes(str(path)) as file:
        file.seek(index * RANGE)
        take_in(checksum, file, stop - index * RANGE)
    return checksum.hexdigest()


def take_in(checksum: hashlib._Hash, file: BinaryIO, size: int) -> int:
    """Feed the next ``size`` bytes of an unbuffered file, or fewer at its end, to a checksum; returns their number."""
    # small enough to stay in the second-level cache between reading and hashing
    buffer = memoryview(bytearray(max(1, min(size, 1 << 18))))
    left = size
    while left > 0 and (count := file.readinto(buffer[: min(left, len(buffer))])):  # type: ignore[attr-defined]
        checksum.update(buffer[:count])
        left -= count
    return size - left


def check_file(path: AnyPath, listed: dict[str, Any], threads: int = 1) -> None:
    """Read a file, and compare it with its entry in a manifest.

    Raises:
        FormatError: It has been changed; the message names the bytes that differ.
    """
    sums = Sums.of_listed(listed, path)
    _check_size(path, listed["bytes"])
    work = partial(_range_of, path, listed["bytes"])
    for index, found in enumerate(in_order(work, range(len(sums.ranges)), threads)):
        _compare(path, listed["bytes"], sums, index, found)


def checked_bytes(path: AnyPath, listed: dict[str, Any], start: int, stop: int) -> Iterator[memoryview]:
    """The bytes of a file from ``start`` to ``stop``, each compared with the manifest's entry before it is given out.

    Only whole ranges can be compared, so what lies before and after in them is read, too.

    Raises:
        FormatError: The file has been changed.
    """
    sums = Sums.of_listed(listed, path)
    _check_size(path, listed["bytes"])
    for index in range(start // RANGE, -(-stop // RANGE) if start < stop else 0):
        first = index * RANGE
        with open_bytes(str(path)) as file:
            file.seek(first)
            data = memoryview(bytearray(min(RANGE, listed["bytes"] - first)))
            filled = 0
            while filled < len(data) and (count := file.readinto(data[filled:])):  # type: ignore[attr-defined]
                filled += count
        _compare(path, listed["bytes"], sums, index, hashlib.sha256(data[:filled]).hexdigest())
        yield data[max(0, start - first) : stop - first]


def _check_size(path: AnyPath, expected: int) -> None:
    size = path.stat().st_size
    if size != expected:
        raise FormatError(f"{path}: {size} bytes, but its manifest says {expected}")


def _compare(path: AnyPath, size: int, sums: Sums, index: int, found: str) -> None:
    if found != sums.ranges[index]:
        stop = min(size, (index + 1) * RANGE)
        raise FormatError(f"{path}: bytes {index * RANGE} to {stop - 1} differ from the checksum in the manifest")
