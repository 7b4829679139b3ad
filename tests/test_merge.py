"""Merging on ids against the definition, for both kinds of vocabulary and on both sides of the scan/heap switch."""
import random
import subprocess
import sys
from array import array
from collections.abc import Collection

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bpetite import reference
from bpetite._merge import MergeTable
from bpetite.vocabulary._merge_builder import build_merge_table
from bpetite.vocabulary._tokens import TokenTable
from tests.support.running import own_memory

SINGLE = {byte: bytes([byte]) for byte in b"abc"}


def learned(pieces: list[bytes]) -> dict[int, bytes]:
    """Tokens a, b, c and the given ones, ids from 300 with gaps of 7."""
    tokens = dict(SINGLE)
    for piece in dict.fromkeys(pieces):
        if piece not in tokens.values():
            tokens[300 + 7 * len(tokens)] = piece
    return tokens


def apply(table: MergeTable, text: bytes) -> list[int]:
    return table.apply(array("I", list(text))).tolist()


def compare(pieces: list[bytes], text: bytes, order: random.Random | None) -> None:
    """Compare with the definition: ranks, or all merges that the tokens allow, in a random order."""
    tokens = learned(pieces)
    ids = {token: token_id for token_id, token in tokens.items()}
    merges = None if order is None else every_merge(ids, order)
    listed = None if merges is None else [(ids[left], ids[right]) for left, right in merges]
    ranks = ids if merges is None else {pair: rank for rank, pair in enumerate(merges)}
    expected = [ids[part] for part in reference.merge_pretoken(text, ranks)]
    assert apply(build_merge_table(TokenTable(tokens), listed), text) == expected


words = st.text("abc", min_size=1, max_size=6).map(str.encode)
texts = st.one_of(
    st.text("abc", max_size=300),
    st.text("ab", min_size=100, max_size=150),
    st.tuples(st.text("abc", min_size=1, max_size=4), st.integers(1, 80)).map(lambda pair: pair[0] * pair[1]),
).map(str.encode)


@settings(max_examples=300, deadline=None)
@given(st.lists(words, max_size=12), texts, st.none() | st.randoms())
def test_every_list_is_merged_as_the_definition_says(
    pieces: list[bytes], text: bytes, order: random.Random | None
) -> None:
    """Ranks; and merges in any order: parts that only a later merge makes, several merges that give one token."""
    compare(pieces, text, order)


@pytest.mark.parametrize("length", [0, 1, 2, 3, 95, 96, 97, 98, 1000, 100_000])
def test_one_letter(length: int) -> None:
    table = build_merge_table(TokenTable({97: b"a", 256: b"aa", 257: b"aaaa"}), [(97, 97), (256, 256)])
    fours, rest = divmod(length, 4)
    assert apply(table, b"a" * length) == [257] * fours + [256] * (rest // 2) + [97] * (rest % 2)


def every_merge(known: Collection[bytes], order: random.Random) -> list[tuple[bytes, bytes]]:
    """All that give a token of two tokens, in any order."""
    merges = [(token[:cut], token[cut:]) for token in known for cut in range(1, len(token))]
    merges = [merge for merge in merges if merge[0] in known and merge[1] in known]
    order.shuffle(merges)
    return merges


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.text("ab", min_size=2, max_size=9).map(str.encode), max_size=10),
    st.lists(
        st.tuples(st.text("abc", min_size=1, max_size=5).map(str.encode), st.integers(1, 300)), min_size=1, max_size=4
    ),
    st.randoms(),
)
def test_long_texts_are_merged_as_the_definition_says(
    pieces: list[bytes], parts: list[tuple[bytes, int]], order: random.Random
) -> None:
    """Runs that begin anywhere, for passes; then letters without order, for the heap."""
    text = b"".join(period * times for period, times in parts)[:700] + bytes(order.choices(b"abc", k=300))
    compare(pieces, text, None)
    compare(pieces, text, order)


def test_order_of_the_list_decides_and_not_the_ids() -> None:
    tokens = {97: b"a", 98: b"b", 99: b"c", 256: b"ab", 257: b"bc"}
    assert apply(build_merge_table(TokenTable(tokens), [(98, 99), (97, 98)]), b"abc") == [97, 257]
    assert apply(build_merge_table(TokenTable(tokens), None), b"abc") == [256, 99]


def test_get() -> None:
    table = build_merge_table(TokenTable({97: b"a", 98: b"b", 2**32 - 1: b"ab"}), [(98, 97), (97, 98)][1:])
    assert table.get(97, 98) == (0, 2**32 - 1)
    assert table.get(98, 97) is None
    assert len(table) == 1


@given(
    st.lists(st.sampled_from([0, 1, 254, 255, 256, 257, 65536, 2**32 - 1]), min_size=8, max_size=8, unique=True),
    st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), unique=True),
)
def test_every_pair_is_found_and_no_other(ids: list[int], listed: list[tuple[int, int]]) -> None:
    """On both sides of the ids that have a table of their own; several merges may give one token."""
    tokens = {token_id: b"a" * (1 + place) for place, token_id in enumerate(ids)}
    tokens |= {1000 + place: b"a" * place for place in range(9, 17)}
    by_length = {len(token): token_id for token_id, token in tokens.items()}
    merges = [(ids[left], ids[right]) for left, right in listed]
    table = build_merge_table(TokenTable(tokens), merges)
    results = [by_length[left + right + 2] for left, right in listed]
    expected = {pair: (rank, results[rank]) for rank, pair in enumerate(merges)}
    assert {(a, b): found for a in tokens for b in tokens if (found := table.get(a, b)) is not None} == expected


def test_a_long_token_of_the_ranks_kind_is_linear_to_split() -> None:
    tokens = {97: b"a", 98: b"b", 300: b"ab" * 500_000, 301: b"a" + b"ba" * 499_999, 302: b"ab"}
    table = build_merge_table(TokenTable(tokens), None)
    assert table.get(301, 98) == (2, 300)
    assert len(table) == 2


@pytest.mark.parametrize(
    ("merges", "message"),
    [([(97, 5)], r"merge 0 \(97, 5\): no token has the id 5"), ([(97, 97)], r"merge 0 .* gives b'aa', which is no")],
)
def test_damaged_lists(merges: list[tuple[int, int]], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build_merge_table(TokenTable({97: b"a"}), merges)


MEMORY = """
import resource
import sys
from array import array
from bpetite.vocabulary._merge_builder import build_merge_table
from bpetite.vocabulary._tokens import TokenTable
tokens = {97: b"a", 98: b"b", 256: b"ab", 257: b"abab", 258: b"aa", 259: b"aaaa", 260: b"aaaaaaaa"}
table = build_merge_table(TokenTable(tokens), None)
ids = array("I", [98]) + array("I", map(ord, sys.argv[1])) * 10_000_000
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
assert len(table.apply(ids)) < len(ids) // 2
assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 < 10 * len(ids)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss in KiB")
@own_memory
@pytest.mark.parametrize("period", ["a", "ab"])
def test_memory_of_a_run(period: str) -> None:
    """Four bytes an id for the copy that is merged, four for the ranks of its pairs, and the result."""
    subprocess.run([sys.executable, "-c", MEMORY, period], check=True)
