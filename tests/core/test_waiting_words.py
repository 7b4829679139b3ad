"""Words that the cache does not know, merged side by side: each as if it were alone, at its place in the output."""
import random
from array import array
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import slow_but

from bpetite import Tokenizer, reference

LETTERS = b"abcde"
SPACE = 32
HIGHEST = 2**32 - 1

#: Lengths on both sides of what is merged side by side, and of what one key of the cache holds.
words = st.one_of(
    st.text("abcde", min_size=1, max_size=9),
    st.text("ab", min_size=13, max_size=18),
    st.text("abc", min_size=29, max_size=34),
    st.text("abc", min_size=60, max_size=66),
)
pieces = st.lists(st.text("abcde ", min_size=2, max_size=6).map(str.encode), unique=True, max_size=40)


def vocabulary(pieces: list[bytes], order: random.Random) -> tuple[dict[int, bytes], list[tuple[bytes, bytes]]]:
    """Tokens with the first and the last of all ids among them, and every merge of two tokens to one, in any order."""
    tokens = {byte: bytes([byte]) for byte in (SPACE, *LETTERS)}
    free = [0, HIGHEST, 256, *range(1000, 1100)]
    tokens |= dict(zip(free, pieces, strict=False))
    known = set(tokens.values())
    merges = [(token[:cut], token[cut:]) for token in sorted(known) for cut in range(1, len(token))]
    merges = [merge for merge in merges if known.issuperset(merge)]
    order.shuffle(merges)
    return tokens, merges


def alone(tok: Tokenizer, text: str) -> list[int]:
    """The ids of a text, each pre-token merged by the merge table alone."""
    vocab = tok.to_vocab()
    ids: list[int] = []
    for word in reference.split(text, tok.pattern):
        data = word.encode()
        if vocab.merges is None and data in vocab.id_of:
            ids.append(vocab.id_of[data])
        else:
            ids += vocab.merge_table.apply(array("I", [vocab.id_of[bytes([byte])] for byte in data]))
    return ids


@settings(max_examples=250, deadline=None)
@given(pieces, st.lists(words, max_size=90), st.randoms(use_true_random=False), st.booleans(), st.integers(0, 1))
def test_any_vocabulary(pieces: list[bytes], some: list[str], order: random.Random, ranks: bool, mb: int) -> None:
    tokens, merges = vocabulary(pieces, order)
    tok = Tokenizer(tokens, None if ranks else merges).with_cache(mb << 20)
    text = " ".join(some + some[::3])
    expected = reference.encode(text, tokens, None if ranks else merges, pattern=tok.pattern)
    assert tok.count(text) == len(expected)
    assert tok.encode(text) == tok.encode(text) == alone(tok, text) == expected


def different(count: int, length: int) -> list[str]:
    """Words of a length, no two the same."""
    return ["".join("abcd"[number >> 2 * at & 3] for at in range(length - 1)) + "e" for number in range(count)]


@pytest.mark.parametrize("ranks", [False, True])
@pytest.mark.parametrize(("count", "length"), [
    *product([1, 32, 33, 200], [15, 16, 63]),
    *(pytest.param(count, 63, marks=pytest.mark.slow) for count in (2, 30, 31, 63, 64, 65)),
    *(pytest.param(33, length, marks=pytest.mark.slow) for length in (5, 14, 30, 31, 32, 62, 64)),
])  # fmt: skip
def test_how_many_wait(count: int, length: int, ranks: bool) -> None:
    tokens, merges = vocabulary([b"ab", b"ba", b"aab", b" a", b" ab", b"cd", b"abcd", b"aaaae"], random.Random(5))
    tok = Tokenizer(tokens, None if ranks else merges)
    once = " ".join(different(count, length))
    assert tok.count(once) == len(alone(tok, once))
    for text in (once, f"{once} {once}"):
        assert tok.with_cache(1 << 20).encode(text) == alone(tok, text)


@pytest.mark.parametrize("between", slow_but([0, 1, 1300, 1360, 1370, 4090, 4100], 0, 1360, 1370))
def test_known_words_between(between: int) -> None:
    """So many that those waiting are merged before there are enough of them."""
    tokens, merges = vocabulary([b"ab", b" a", b"ba"], random.Random(5))
    tok = Tokenizer(tokens, merges)
    known = " a" * between
    text = "".join(f"{known} {word}{known} {word}" for word in different(5, 8))
    assert tok.encode(text) == alone(tok, text)
    assert tok.with_cache(0).encode(text) == tok.encode(text)


@pytest.mark.parametrize("earlier", ["abz", "abcdez" * 4, "abcdez" * 9, "abcdez" * 12])
@pytest.mark.parametrize("later", ["zab", "zabcde" * 4, "zabcde" * 9, "zabcde" * 12])
@pytest.mark.parametrize("count", [0, 3, 28, 29, 30, 31, 40])
def test_the_first_byte_without_a_token_is_reported(earlier: str, later: str, count: int) -> None:
    tokens, merges = vocabulary([b"ab", b" a"], random.Random(5))
    tok = Tokenizer(tokens, merges)
    good = " ".join(["aaa", *different(count, 6)])
    text = f"{good} {earlier} {later}"
    for encode in (tok.encode, tok.count, tok.encode):
        with pytest.raises(ValueError, match=f"byte 0x7a, at offset {text.index('z')} of the text in UTF-8, has no"):
            encode(text)
        assert tok.encode(good) == alone(tok, good)
