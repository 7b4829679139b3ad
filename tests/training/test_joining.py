"""Pairs are joined in blocks of segments: held to the plain trainer above and below every size of a block."""
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bpetite import Tokenizer, reference

# slots that are searched at a time, and those of a segment
SIZES = [2, 3, 7, 8, 9, 15, 16, 17, 24, 25, 63, 64, 65, 128, 129, 200]


def check(texts: list[str], vocab_size: int) -> None:
    """The merges of the plain trainer, each text one pre-token."""
    _, merges = reference.train(texts, vocab_size, pattern=None)
    assert Tokenizer.train(texts, vocab_size, pattern=None).merges == merges


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("period", ["a", "ab", "aab", "abcab"])
def test_words_of_any_size(size: int, period: str) -> None:
    word = (period * size)[:size]
    check([word, word[1:], word[::-1], word + "b"], 300)


@pytest.mark.parametrize("number", [63, 64, 65, 127, 128, 129, 300])
def test_a_pair_in_so_many_words(number: int) -> None:
    words = [f"{chr(0x4E00 + at)}ab{'ab' * (at % 3)}{chr(0x4E00 + at // 2)}" for at in range(number)]
    check(words, 256 + 40)


@pytest.mark.parametrize("number", [3, 4, 5, 40])
def test_a_pair_with_so_many_neighbours(number: int) -> None:
    """Segments full of the pair, each time beside other tokens."""
    rng = random.Random(number)
    words = ["".join(f"ab{chr(rng.randrange(0x21, 0x7F))}" for _ in range(43)) for _ in range(number)]
    check(words, 256 + 30)


@settings(deadline=None, max_examples=100)
@given(st.lists(st.builds(lambda piece, size: (piece * size)[:size], st.text("abc", min_size=1, max_size=5),
                          st.sampled_from(SIZES)), min_size=1, max_size=80))  # fmt: skip
@pytest.mark.filterwarnings("ignore:no pair is left")
def test_any_words(words: list[str]) -> None:
    check(words, 275)
