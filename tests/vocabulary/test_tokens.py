"""Tokens and merges in flat memory: mappings and sequences that equal the dicts and tuples they were made from."""
import base64
import copy
import pickle
from array import array
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpetite import Tokenizer
from bpetite.formats._ranks import read_ranks
from bpetite.vocabulary._merge_list import MergeList
from bpetite.vocabulary._tokens import TokenTable, grown

ids = st.integers(0, 2**32 - 1)
tokens = st.dictionaries(ids | st.integers(0, 9), st.binary(max_size=20), max_size=12)
pairs = st.lists(st.tuples(ids, ids), max_size=9)


@given(tokens, tokens)
def test_a_table_is_a_mapping(first: dict[int, bytes], second: dict[int, bytes]) -> None:
    table = TokenTable(first)
    assert dict(table) == first == table == TokenTable(dict(reversed(first.items())))
    assert list(table) == list(table.keys()) == sorted(first)
    assert list(table.items()) == sorted(first.items())
    assert len(list(table.values())) == len(table) == len(first)
    assert (table == second) == (table == TokenTable(second)) == (first == second)
    assert [table.get(key) for key in second] == [first.get(key) for key in second]
    assert table.keys() - second.keys() == first.keys() - second.keys()
    assert table.with_tokens(second) == {**first, **second}
    assert (table.with_tokens({}) is table) == (b"" not in first.values())
    assert table.next_id == max(first, default=-1) + 1
    for missing in (-1, 2**32, 2**70, "a", None, 0.5):
        assert missing not in table
        assert table.get(missing, b"?") == b"?"
        with pytest.raises(KeyError):
            table[missing]
    for copied in (pickle.loads(pickle.dumps(table)), copy.deepcopy(table)):
        assert copied == table
        assert copied.next_id == table.next_id


@given(tokens, st.lists(st.binary(max_size=20), max_size=40), st.booleans())
def test_a_table_that_grows(first: dict[int, bytes], new: list[bytes], higher: bool) -> None:
    hidden = frozenset(token_id for token_id in first if token_id % 3 == 0)
    start = max(first, default=-1) + 1 if higher else 0
    more = {start + 2 * n: token for n, token in reversed([*enumerate(new)]) if start + 2 * n < 1 << 32}
    plain = TokenTable(first, hidden).with_tokens(more, hidden)
    table = grown(TokenTable(first, hidden), more, hidden)
    assert dict(table) == {**first, **more} == table == plain
    assert (table.repeated, table.empty, table.unreachable, table.longest, table.next_id) == (
        plain.repeated, plain.empty, plain.unreachable, plain.longest, plain.next_id
    )  # fmt: skip
    for token in {*first.values(), *new, b"?"}:
        assert table.find_id(token) == plain.find_id(token)


class Repeating(Mapping[int, bytes]):
    """Gives its only id twice."""

    def __getitem__(self, key: int) -> bytes:
        return b"a"

    def __iter__(self) -> Iterator[int]:
        return iter([7, 7])

    def __len__(self) -> int:
        return 2


def test_what_holds_no_tokens_is_refused() -> None:
    for make in (lambda: Tokenizer(Repeating(), []), lambda: TokenTable(Repeating())):  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="an id occurs twice"):
            make()
    with pytest.raises(TypeError, match="positional argument"):
        TokenTable()
    with pytest.raises(ValueError, match="3 ids are no pairs"):
        MergeList(array("I", [1, 2, 3]))


@given(pairs, pairs)
def test_a_merge_list_is_a_sequence(first: list[tuple[int, int]], second: list[tuple[int, int]]) -> None:
    merges = MergeList(first)
    assert tuple(merges) == tuple(first) == merges
    assert (len(merges), repr(merges)) == (len(first), repr(tuple(first)))
    assert (merges == second) == (merges == MergeList(second)) == (first == second)
    assert merges[1:] == tuple(first[1:])
    assert list(reversed(merges)) == first[::-1]
    assert [merges[at] for at in range(-len(first), len(first))] == first + first
    for copied in (MergeList(merges), pickle.loads(pickle.dumps(merges)), copy.deepcopy(merges)):
        assert copied == merges
    with pytest.raises(IndexError):
        merges[len(first)]


@pytest.mark.parametrize(
    ("merge", "error"),
    [([0, 1], TypeError), ((0,), TypeError), ((0, 1, 2), TypeError), (5, TypeError), ((0, -1), ValueError),
     ((2**32, 0), ValueError), (("a", 0), ValueError), ((0.5, 0), ValueError)],
)  # fmt: skip
def test_what_is_no_merge(merge: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match=r"^merge 1 "):
        MergeList([(0, 1), merge])


AB = TokenTable({0: b"a", 1: b"b", 2: b"ab", 3: b"abb", 9: b"x"}, {9})


@pytest.mark.parametrize(
    ("merges", "message"),
    [
        ([(0, 1), (0, 7), (0, 1)], r"^merge 1 \(0, 7\): no token has the id 7$"),
        ([(0, 1), (0, 1), (0, 7)], r"^merges 0 and 1 are the same pair \(b'a', b'b'\)$"),
        ([(0, 1), (0, 9), (0, 1)], r"^merge 1 \(0, 9\): token 9 b'x' is unreachable$"),
        ([(0, 1), (1, 0)], r"^merge 1 \(b'b', b'a'\) gives b'ba', which is no token$"),
    ],
)
def test_the_first_fault_of_a_list_is_named(merges: list[tuple[int, int]], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        MergeList(merges).results(AB, frozenset({9}))
    assert MergeList([(0, 1), (2, 1)]).results(AB, frozenset({9})) == array("I", [2, 3])


def test_different_merges_may_give_one_token() -> None:
    table = TokenTable({0: b"a", 1: b"aa", 2: b"aaa"})
    assert list(MergeList([(0, 0), (0, 1), (1, 0)]).results(table)) == [1, 2, 2]


def test_left_parts_that_differ_by_64_bytes() -> None:
    """Lengths are kept modulo 64 until two are equal."""
    table = TokenTable({length: b"a" * length for length in (1, 2, 65, 66)})
    pairs = [(1, 65), (65, 1), (1, 1)]
    assert list(MergeList(pairs).results(table)) == [66, 66, 2]
    with pytest.raises(ValueError, match="merges 1 and 3 are the same pair"):
        MergeList([*pairs, (65, 1)]).results(table)


ends = st.sampled_from(["\n", "\r\n", "\r", "\n\n"])


@given(st.dictionaries(ids, st.binary(max_size=40), min_size=1, max_size=9), ends)
def test_ranks_are_read(found: dict[int, bytes], end: str) -> None:
    lines = [f"{base64.b64encode(token).decode() or '='} {token_id}{end}" for token_id, token in found.items()]
    assert read_ranks("".join(lines).encode()) == found


@pytest.mark.parametrize(
    "line",
    ["", "YQ==", "YQ== ", " 1", "YQ==  1", "YQ==\t1", "YQ== 1 ", "YQ== x", "YQ== -1", "YQ== 4294967296",
     "YQ== 00000000001", "YR== 1", "YWJ= 1", "YQ=  1", "YQ 1", "Y=== 1", "==== 1", "== 1", "Y!== 1", "YQ== 1\x0b"],
)  # fmt: skip
def test_lines_that_are_no_rank(line: str) -> None:
    assert read_ranks(line.encode()) is None
    assert read_ranks(b"YQ== 1\nYg== 1\n") is None  # a rank twice


@given(tokens)
def test_a_table_knows_its_tokens(tokens: dict[int, bytes]) -> None:
    for unreachable in (frozenset(), frozenset(list(tokens)[::3])):
        table = TokenTable(tokens, unreachable)
        reachable = [token_id for token_id in sorted(tokens) if tokens[token_id] and token_id not in unreachable]
        first: dict[bytes, int] = {}
        for token_id in reachable:
            first.setdefault(tokens[token_id], token_id)
        assert table.repeated == len(reachable) - len(first)
        assert table.unreachable == len(tokens) - len(reachable)
        assert table.empty == list(tokens.values()).count(b"")
        assert all(table.find_id(token) == first.get(token) for token in tokens.values())
        assert table.find_id(b"no such token") is None


@pytest.mark.parametrize("tokens", [{True: b"a"}, {1: "a"}, {"1": b"a"}, {1: bytearray(b"a")}])
def test_a_table_takes_ints_and_bytes_only(tokens: Any) -> None:
    with pytest.raises(TypeError):
        TokenTable(tokens)
