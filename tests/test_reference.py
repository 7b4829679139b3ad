"""The definition itself: examples by hand, and its two encoders against each other."""
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpetite import patterns, reference


def test_by_hand() -> None:
    tokens = dict(enumerate([b" ", b"a", b"c", b"e", b"h", b"t", b"th", b" c", b" a", b"the", b" at"]))
    merges = [(b"t", b"h"), (b" ", b"c"), (b" ", b"a"), (b"th", b"e"), (b" a", b"t")]
    assert reference.encode("the cat ate", tokens, merges, pattern=patterns.GPT2) == [9, 7, 1, 5, 10, 3]
    assert reference.train(["ab ab ab"], 258, pattern=patterns.GPT2)[1] == [(b"a", b"b"), (b" ", b"ab")]
    # ties
    assert reference.train(["ab", "cd"], 257)[1] == [(b"a", b"b")]
    assert reference.train(["ab", "cd"], 257, tie_break="bytes")[1] == [(b"c", b"d")]
    assert reference.train([" a", "ab"], 257, tie_break="tokenizers")[1] == [(b"a", b"b")]
    # special tokens cut the corpus
    assert reference.train(["ab<s>ab<s>"], 258, special_tokens=["<s>"])[1] == [(b"a", b"b")]


def test_split_keeps_what_the_pattern_does_not_cover() -> None:
    assert reference.split("a1b22", r"[0-9]+") == ["a", "1", "b", "22"]
    assert reference.split("a1b", (r"[0-9]", r"\w")) == ["a", "1", "b"]
    assert reference.split("axb", r"x*") == ["a", "x", "b"]
    assert reference.split("", None) == []


def test_decode() -> None:
    assert reference.decode([1, 0], {0: b"\x82\xac", 1: b"\xe2"}) == "€"
    with pytest.raises(UnicodeDecodeError):
        reference.decode([0], {0: b"\x80"})
    with pytest.raises(KeyError, match="7"):
        reference.decode([7], {0: b"a"})


@given(st.lists(st.text("ab c", max_size=30), max_size=4), st.text("ab c", max_size=40), st.integers(256, 280))
def test_one_pass_per_rank_equals_lowest_rank_first(corpus: list[str], text: str, size: int) -> None:
    _, merges = reference.train(corpus, size)
    ranks = {pair: rank for rank, pair in enumerate(merges)}
    assert reference.apply_merges(text.encode(), merges) == reference.merge_pretoken(text.encode(), ranks)


@given(st.lists(st.text("abc", max_size=12), max_size=6))
def test_training_from_bytes_alone_never_meets_a_token_twice(corpus: list[str]) -> None:
    # two ways to form the same bytes cannot both stand in text: what lies between two token edges merges alone
    tokens, merges = reference.train(corpus, 300)
    assert len(tokens) == 256 + len(merges)
