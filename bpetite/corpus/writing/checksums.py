"""Checksums of files."""
from __future__ import annotations

import hashlib
import os
import zlib
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from ...errors import FormatError

__all__ = ["Checksum", "Crc32", "check_file", "crc32_joined", "crc32_of", "listed_checksum", "sha256_of", "take_in"]


class Checksum(Protocol):
    """A checksum that is being computed, as those of hashlib are."""

    def update(self, data: Any, /) -> object:
        """Take in the next bytes."""

    def hexdigest(self) -> str:
        """The checksum so far, in hex digits."""


class Crc32:
    """CRC-32: finds accidental damage in a fraction of the time of SHA-256, where no other program needs to compare."""

    def __init__(self) -> None:
        self._crc = 0

    def update(self, data: Any, /) -> None:
        """Take in the next bytes."""
        self._crc = zlib.crc32(data, self._crc)

    def hexdigest(self) -> str:
        """Eight hex digits."""
        return f"{self._crc:08x}"


def sha256_of(path: Path, size: int | None = None) -> str:
    """SHA-256 of a file, or of its first ``size`` bytes, in hex digits."""
    return _of(path, size, hashlib.sha256())


def crc32_of(path: Path, size: int | None = None) -> str:
    """CRC-32 of a file, or of its first ``size`` bytes, in hex digits."""
    return _of(path, size, Crc32())


def _of(path: Path, size: int | None, checksum: Checksum) -> str:
    with path.open("rb", buffering=0) as file:
        take_in(checksum, file, os.fstat(file.fileno()).st_size if size is None else size)
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


def listed_checksum(listed: dict[str, Any], path: Path) -> tuple[Checksum, str]:
    """A new checksum of the kind that a manifest has of a file, and what it must be at the end.

    Raises:
        FormatError: The manifest has none.
    """
    if "sha256" in listed:
        return hashlib.sha256(), listed["sha256"]
    if "crc32" in listed:
        return Crc32(), listed["crc32"]
    raise FormatError(f"{path}: its manifest has no checksum of it")


def check_file(path: Path, listed: dict[str, Any]) -> None:
    """Read a file, and compare it with what a manifest lists.

    Raises:
        FormatError: It has been changed.
    """
    checksum, expected = listed_checksum(listed, path)
    if _of(path, None, checksum) != expected:
        raise FormatError(f"{path}: differs from the checksum in the manifest")


#: The polynomial of CRC-32, the coefficient of x^0 in the highest bit.
_POLYNOMIAL = 0xEDB88320


def crc32_joined(first: int, second: int, size: int) -> int:
    """The CRC-32 of two byte strings one after another, from that of each and the ``size`` of the second, in bytes.

    The bytes after it multiply a checksum by x^(8 size) modulo the polynomial; source: zlib's crc32_combine.

    >>> crc32_joined(zlib.crc32(b"ab"), zlib.crc32(b"cde"), 3) == zlib.crc32(b"abcde")
    True
    """
    power = 1 << 23  # x^8
    while size:
        if size & 1:
            first = _product(power, first)
        power = _product(power, power)
        size >>= 1
    return first ^ second


def _product(left: int, right: int) -> int:
    """The product of two polynomials modulo that of CRC-32."""
    product = 0
    for bit in range(31, -1, -1):
        if left >> bit & 1:
            product ^= right
        right = right >> 1 ^ (_POLYNOMIAL if right & 1 else 0)
    return product
