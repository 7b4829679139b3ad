"""Sums of files: SHA-256 of ranges, joined to one, as files are written and checked."""
import hashlib
import random
from pathlib import Path
from typing import Any

import pytest
from corpus_tools import plain_sums
from hypothesis import given, settings
from hypothesis import strategies as st

from bpetite.corpus.output import checksums
from bpetite.corpus.output.checksums import (
    check_file,
    checked_bytes,
    checksum_of,
    file_sums,
    list_sums,
    root_of,
    sums_in,
)
from bpetite.errors import FormatError

ABC = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"  # of b"abc", FIPS 180-2


@pytest.fixture(params=[1000, 1])
def size_of_range(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(checksums, "RANGE", request.param)
    return int(request.param)


def test_known_values(ram_path: Path) -> None:
    (ram_path / "f").write_bytes(b"abcdef")
    assert file_sums(ram_path / "f", 3) == [ABC]
    assert root_of([]) == hashlib.sha256().hexdigest()


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("size", [0, 1, 999, 1000, 1001, 5500])
def test_ranges_of_a_file(ram_path: Path, size_of_range: int, size: int, threads: int) -> None:
    data = bytes(i * 7 % 251 for i in range(size))
    (ram_path / "f").write_bytes(data + b"more")
    assert list_sums(file_sums(ram_path / "f", size, threads)) == plain_sums(data, size_of_range)


def test_what_there_is_of_so_many_bytes(ram_path: Path) -> None:
    (ram_path / "f").write_bytes(b"abc")
    assert checksum_of(ram_path / "f", 10, 0).hexdigest() == ABC


def listed_of(path: Path) -> dict[str, Any]:
    size = path.stat().st_size
    return {"bytes": size, "checksum": list_sums(file_sums(path, size))}


def test_a_difference_has_a_place(ram_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checksums, "RANGE", 100)
    path = ram_path / "f"
    data = random.Random(1).randbytes(250)
    path.write_bytes(data)
    listed = listed_of(path)
    check_file(path, listed, threads=2)
    for at, says in ((0, "bytes 0 to 99 "), (150, "bytes 100 to 199 "), (249, "bytes 200 to 249 ")):
        path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        with pytest.raises(FormatError, match=f"f: {says}differ from the checksum in the manifest"):
            check_file(path, listed)
    path.write_bytes(data + b"x")
    with pytest.raises(FormatError, match="251 bytes, but its manifest says 250"):
        check_file(path, listed)


def test_damaged_lists_are_refused(ram_path: Path) -> None:
    path = ram_path / "f"
    path.write_bytes(b"abc")
    listed = listed_of(path)
    for changes in ({"ranges": []}, {"root": ABC}, {"range_bytes": 5}, {"ranges": ["zz"]}, {"ranges": [ABC[:-2]]}):
        with pytest.raises(FormatError, match=r"f: .*damaged"):
            sums_in({**listed, "checksum": {**listed["checksum"], **changes}}, path)


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_parts_are_compared_wherever_they_begin(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Every flipped bit in what is read is found, and in nothing outside of its ranges."""
    path = tmp_path_factory.mktemp("check") / "f"
    content = bytes(range(data.draw(st.integers(0, 60))))
    path.write_bytes(content)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(checksums, "RANGE", 10)
        listed = listed_of(path)
        start = data.draw(st.integers(0, len(content)))
        stop = data.draw(st.integers(start, len(content)))
        flipped = data.draw(st.none() | st.integers(0, len(content) - 1)) if content else None
        if flipped is not None:
            content = content[:flipped] + bytes([content[flipped] ^ 4]) + content[flipped + 1 :]
            path.write_bytes(content)
        read_ranges = set(range(start // 10, -(-stop // 10))) if stop > start else set()
        wrong = flipped is not None and flipped // 10 in read_ranges

        if wrong:
            with pytest.raises(FormatError, match=f"bytes {flipped // 10 * 10} to"):
                list(checked_bytes(path, listed, start, stop))
        else:
            assert b"".join(checked_bytes(path, listed, start, stop)) == content[start:stop]
