import hashlib
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpetite.corpus.writing.checksums import Crc32, crc32_joined, crc32_of, sha256_of, take_in

ABC = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"  # of b"abc", FIPS 180-2


def test_of_a_file_and_of_its_beginning(ram_path: Path) -> None:
    (ram_path / "f").write_bytes(b"abcdef")
    assert sha256_of(ram_path / "f", 3) == ABC
    assert sha256_of(ram_path / "f") == hashlib.sha256(b"abcdef").hexdigest()
    (ram_path / "f").write_bytes(b"123456789")
    assert crc32_of(ram_path / "f") == "cbf43926"  # the check value of the CRC catalogue
    assert crc32_of(ram_path / "f", 3) == f"{zlib.crc32(b'123'):08x}"


@pytest.mark.parametrize("size", [0, 1, (1 << 18) - 1, 1 << 18, (1 << 18) + 1, 1_000_000])
def test_files_of_many_reads(ram_path: Path, size: int) -> None:
    data = bytes(i * 7 % 251 for i in range(size))
    (ram_path / "f").write_bytes(data)
    assert sha256_of(ram_path / "f") == hashlib.sha256(data).hexdigest()
    assert crc32_of(ram_path / "f") == f"{zlib.crc32(data):08x}"


def test_what_there_is_of_so_many_bytes(ram_path: Path) -> None:
    (ram_path / "f").write_bytes(b"abc")
    checksum = hashlib.sha256()
    with (ram_path / "f").open("rb", buffering=0) as file:
        assert take_in(checksum, file, 10) == 3
    assert checksum.hexdigest() == ABC


def test_crc32_piece_by_piece() -> None:
    crc = Crc32()
    assert crc.hexdigest() == "00000000"
    crc.update(b"1234")
    crc.update(memoryview(b"56789"))
    assert crc.hexdigest() == "cbf43926"


@given(st.binary(max_size=60), st.binary(max_size=300))
def test_checksums_of_parts_are_joined(first: bytes, second: bytes) -> None:
    assert crc32_joined(zlib.crc32(first), zlib.crc32(second), len(second)) == zlib.crc32(first + second)
