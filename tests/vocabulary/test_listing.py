import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpetite.vocabulary._listing import list_pairs, list_tokens
from bpetite.vocabulary._tokens import TokenTable

IDS = st.one_of(st.integers(0, 300), st.integers(0, 2**32 - 1))


def plain(tokens: dict[int, bytes]) -> bytes:
    return b"".join(b"%d %d\n%b\n" % (token_id, len(token), token) for token_id, token in sorted(tokens.items()))


@given(st.dictionaries(IDS, st.binary(max_size=20)))
def test_tokens_as_python_writes_them(tokens: dict[int, bytes]) -> None:
    assert list_tokens(TokenTable(tokens)) == plain(tokens)


@given(st.lists(st.tuples(IDS, IDS)))
def test_pairs_as_python_writes_them(pairs: list[tuple[int, int]]) -> None:
    expected = b"".join(b"%d %d\n" % pair for pair in pairs)
    assert list_pairs(pairs) == list_pairs(tuple(pairs)) == list_pairs(iter(pairs)) == expected


def test_a_long_token_and_the_highest_id() -> None:
    tokens = {0: bytes(100_000), 2**32 - 1: b"\n"}
    assert list_tokens(TokenTable(tokens)) == plain(tokens)


@pytest.mark.parametrize("pairs", [[(1,)], [(1, 2, 3)], [(1, "2")], [(-1, 2)], [(1, 2**32)], [5]])
def test_what_is_no_pair_of_ids(pairs: list[object]) -> None:
    with pytest.raises((TypeError, ValueError, OverflowError)):
        list_pairs(pairs)
