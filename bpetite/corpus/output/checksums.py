"""Checksums of files, as trees: one of each range of 16 MiB, and a root over them.

A checksum of a whole file can be taken only from its start to its end, by one thread. Ranges can be taken by many, by
whoever writes or reads them, and a difference has a place.
"""
from __future__ import annotations

import hashlib
import io
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any, cast

from ...core._threads import in_order
from ...errors import FormatError
from ..sources.paths import AnyPath
from ..sources.stores import open_bytes

__all__ = ["RANGE", "check_file", "checked_bytes", "checksum_of", "file_sums", "list_sums", "root_of", "sums_in"]

#: Bytes of a range; the last one of a file may have fewer.
RANGE = 16 << 20


def root_of(sums: Iterable[str]) -> str:
    """The checksum of the checksums of all ranges, one after another as bytes."""
    return hashlib.sha256(b"".join(map(bytes.fromhex, sums))).hexdigest()


def list_sums(sums: Sequence[str]) -> dict[str, Any]:
    """The checksums of the ranges of a file, for its manifest."""
    return {"algorithm": "sha256", "range_bytes": RANGE, "root": root_of(sums), "ranges": list(sums)}


def sums_in(listed: dict[str, Any], path: AnyPath) -> list[str]:
    """The checksums in the manifest's entry of a file, whose size is compared.

    Raises:
        FormatError: They do not go with its size, or not with their root; the file has another size.
    """
    checksum, size = listed["checksum"], listed["bytes"]
    sums = list(checksum["ranges"])
    if checksum["range_bytes"] != RANGE or len(sums) != -(-size // RANGE):
        raise FormatError(f"{path}: its manifest has {len(sums)} checksums of ranges of {checksum['range_bytes']} "
                          f"bytes for {size} bytes; damaged")
    try:
        right = root_of(sums) == checksum["root"]
    except ValueError:
        right = False
    if not right:
        raise FormatError(f"{path}: the checksums in its manifest do not have the root that it says; damaged")
    there = path.stat().st_size
    if there != size:
        raise FormatError(f"{path}: {there} bytes, but its manifest says {size}")
    return sums


def checksum_of(path: AnyPath, size: int, index: int) -> hashlib._Hash:
    return hashlib.sha256(_read(path, size, index))


def _read(path: AnyPath, size: int, index: int) -> bytes:
    with io.BufferedReader(cast(io.RawIOBase, open_bytes(str(path)))) as file:  # which reads on where few bytes come
        file.seek(index * RANGE)
        return file.read(max(0, min(size - index * RANGE, RANGE)))


def file_sums(path: AnyPath, size: int, threads: int = 1) -> list[str]:
    ranges = range(-(-size // RANGE))
    return [one.hexdigest() for one in in_order(partial(checksum_of, path, size), ranges, threads)]


def check_file(path: AnyPath, listed: dict[str, Any], threads: int = 1) -> None:
    """Read a file, and compare it with its entry in a manifest.

    Raises:
        FormatError: It has been changed; the message names the bytes that differ.
    """
    sums = sums_in(listed, path)
    for _ in in_order(lambda index: len(_checked(path, listed, sums, index)), range(len(sums)), threads):
        pass


def checked_bytes(path: AnyPath, listed: dict[str, Any], start: int, stop: int) -> Iterator[memoryview]:
    """The bytes of a file from ``start`` to ``stop``, each compared with the manifest's entry before it is given out.

    Only whole ranges can be compared, so what lies before and after in them is read, too.

    Raises:
        FormatError: The file has been changed.
    """
    sums = sums_in(listed, path)
    for index in range(start // RANGE, -(-stop // RANGE) if start < stop else 0):
        first = index * RANGE
        yield memoryview(_checked(path, listed, sums, index))[max(0, start - first) : stop - first]


def _checked(path: AnyPath, listed: dict[str, Any], sums: Sequence[str], index: int) -> bytes:
    data = _read(path, listed["bytes"], index)
    if hashlib.sha256(data).hexdigest() != sums[index]:
        stop = min(listed["bytes"], (index + 1) * RANGE)
        raise FormatError(f"{path}: bytes {index * RANGE} to {stop - 1} differ from the checksum in the manifest")
    return data
