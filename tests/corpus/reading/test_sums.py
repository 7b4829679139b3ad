"""Checksums of parts, put together: those of the whole."""
import zlib

from hypothesis import example, given
from hypothesis import strategies as st

from bpetite.corpus.reading.sums import Sums, add_sums


@given(st.lists(st.binary(max_size=9) | st.integers(0, 1 << 17).map(bytes), max_size=6))
@example([b"a", bytes((1 << 20) - 1), b"b", bytes(1 << 20)])
def test_parts_give_the_checksum_of_the_whole(parts: list[bytes]) -> None:
    known: Sums = {"0": [0, 0]}
    for part in parts:
        add_sums(known, {"0": [len(part), zlib.crc32(part)]})
    whole = b"".join(parts)
    assert known == {"0": [len(whole), zlib.crc32(whole)]}
