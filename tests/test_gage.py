"""Gage's compressor: what it packs comes back, and no pair stands twice."""
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpetite import gage


def test_examples() -> None:
    packed = gage.compress("aaabdaaabac")  # the paper's
    assert (len(packed.symbols), len(packed.table)) == (5, 3)
    assert gage.decompress(packed) == "aaabdaaabac"
    text = "\ud800x" * 4000  # lone surrogates, and a deep table
    packed = gage.compress(text)
    assert gage.decompress(packed) == text
    assert len(packed.symbols) < 20


def occurs_twice(symbols: tuple[int, ...]) -> bool:
    """True if some pair stands at two places that do not overlap."""
    first: dict[tuple[int, int], int] = {}
    return any(at - first.setdefault(pair, at) >= 2 for at, pair in enumerate(pairwise(symbols)))


any_str = st.text(st.characters(codec=None)) | st.text("ab", max_size=60)


@given(any_str | st.binary() | st.binary(max_size=60).map(lambda b: bytes(x & 3 for x in b)))
def test_lossless_and_no_pair_twice(data: str | bytes) -> None:
    packed = gage.compress(data)
    again = gage.decompress(packed)
    assert again == data
    assert type(again) is type(data)
    assert not occurs_twice(packed.symbols)
    assert list(packed.table) == list(range(packed.first, packed.first + len(packed.table)))


@pytest.mark.parametrize(("symbols", "table"), [((300,), {}), ((-1,), {}), ((256,), {256: (256, 97)})])
def test_damaged(symbols: tuple[int, ...], table: dict[int, tuple[int, int]]) -> None:
    with pytest.raises(ValueError, match="symbol"):
        gage.decompress(gage.Compressed(symbols, table, 256, False))
    with pytest.raises(TypeError, match="int"):
        gage.compress(5)  # type: ignore[arg-type]
