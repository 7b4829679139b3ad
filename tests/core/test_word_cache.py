"""The word cache: words with few ids and with many, ids that fit into two bytes and ids that do not."""
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bpetite import Tokenizer

LETTERS = b" abcdefgh"

#: Three ids of four bytes fit into an entry, or seven of two; sixteen bytes are no longer a key of a short entry.
words = st.lists(st.text("abcdefgh", min_size=1, max_size=40), max_size=60)


def byte_ids(highest: int) -> dict[int, bytes]:
    """A token for each letter, which no merge joins: a word has as many ids as bytes."""
    return {highest - at * 257: bytes([letter]) for at, letter in enumerate(LETTERS)}


def expected(tokens: dict[int, bytes], text: str) -> list[int]:
    id_of = {token: token_id for token_id, token in tokens.items()}
    return [id_of[bytes([byte])] for byte in text.encode()]


@settings(max_examples=200, deadline=None)
@given(words, st.sampled_from([2**16 - 1, 2**16, 2**32 - 1]), st.sampled_from([0, 3000, 1 << 20]))
def test_ids_on_both_sides_of_two_bytes(words: list[str], highest: int, cache_bytes: int) -> None:
    tokens = byte_ids(highest)
    tok = Tokenizer(tokens, []).with_cache(cache_bytes)
    text = " ".join(words + words[::-1])
    ids = expected(tokens, text)
    assert tok.count(text) == len(ids)
    assert tok.count_batch([text, "", text]).tolist() == [len(ids), 0, len(ids)]
    for _ in range(2):
        assert tok.encode(text) == ids
        assert tok.encode_to_numpy(text).tolist() == ids
    assert tok.count(text) == len(ids)


@pytest.mark.parametrize("highest", [2**16 - 1, 2**16])
@pytest.mark.parametrize("cache_bytes", [2000, 20_000, 200_000, 1 << 24])
def test_many_words_share_a_cache_line(highest: int, cache_bytes: int) -> None:
    """Tables that fill up and grow: words are found away from their home entry, and change places with others."""
    tokens, rng = byte_ids(highest), random.Random(cache_bytes)
    tok = Tokenizer(tokens, []).with_cache(cache_bytes)
    words = ["".join(rng.choices("abcdefgh", k=rng.randint(1, 20))) for _ in range(3000)]
    for _ in range(4):
        text = " ".join(rng.choices(words, k=6000))
        assert tok.count_batch([text, text[:900]]).tolist() == [len(text), 900]
        assert tok.encode(text) == expected(tokens, text)


def test_a_special_token_above_two_bytes() -> None:
    tokens = byte_ids(2**16 - 1)
    tok = Tokenizer(tokens, [], {"<s>": 2**32 - 1})
    text = "abcdefghabcdefg abcdefgh abc"
    for _ in range(2):
        assert tok.encode(text + "<s>" + text) == [*expected(tokens, text), 2**32 - 1, *expected(tokens, text)]
