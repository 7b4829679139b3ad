"""Encoding against the definition: both kinds of vocabulary, every cut-off of the fast path, every form of input."""
import ctypes
import sys
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bpetite import Tokenizer, patterns, reference

BYTES = {byte: bytes([byte]) for byte in range(256)}
CORPUS = (
    "the cat sat on the mat, the rat ate the cat's hat; don't we'll I've\n\n  it's 2024, naïve café 中文字 中文 🙂🙂 "
    "uncharacteristically internationalization   ----------------    ================ \t\t\tx\n"
)
TOKENS, MERGES = reference.train([CORPUS] * 2, 400, pattern=patterns.GPT2)
RANKED = {**TOKENS, 500: b" the cat", 501: "中文字".encode(), 7000: b"uncharacteristically", 7001: b" =-=-=-=-=-=-=-=-"}

text = st.one_of(
    st.text(max_size=60),
    st.text("thecats '\n日本中文é🙂1-=", max_size=200),
    st.lists(st.sampled_from(CORPUS.split(" ")), max_size=40).map(" ".join),
)


@pytest.fixture(scope="module")
def merges() -> Tokenizer:
    return Tokenizer(TOKENS, MERGES, {"<|endoftext|>": 1000, "<|endoftext|><|endoftext|>": 1001, "猫<s>": 1002})


@pytest.fixture(scope="module")
def ranks() -> Tokenizer:
    return Tokenizer(RANKED, None)


def every_form(tok: Tokenizer, text: str) -> list[list[int]]:
    """The ids of a text by every method that encodes it with special tokens."""
    ids, offsets = tok.encode_batch_to_numpy([text, text.encode(), "x"], num_threads=1)
    assert offsets[1] * 2 == offsets[2]
    return [
        tok.encode(text),
        tok.encode(text.encode()),
        tok.encode(text, num_threads=3),
        tok.encode_to_numpy(text).tolist(),
        tok.encode_batch([text])[0],
        ids[: offsets[1]].tolist(),
        ids[offsets[1] : offsets[2]].tolist(),
        tok.encode_with_offsets(text)[0],
    ]


@settings(max_examples=300, deadline=None)
@given(text)
def test_merges_kind(merges: Tokenizer, text: str) -> None:
    expected = reference.encode(text, TOKENS, MERGES, special_tokens=merges.special_tokens, pattern=patterns.GPT2)
    for ids in every_form(merges, text):
        assert ids == expected
    assert merges.count(text) == len(expected)
    assert merges.decode(expected) == text
    assert merges.decode_bytes(expected) == text.encode()


@settings(max_examples=200, deadline=None)
@given(text)
def test_ranks_kind(ranks: Tokenizer, text: str) -> None:
    assert ranks.encode(text) == reference.encode(text, RANKED, None, pattern=patterns.GPT2)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.text("abc", min_size=2, max_size=5).map(str.encode), unique=True, max_size=12),
    st.text("abc ", max_size=120),
    st.randoms(),
    st.booleans(),
)
def test_odd_merge_lists(pieces: list[bytes], text: str, random, ignore_merges: bool) -> None:
    """Merges whose parts only later merges make, several that give one token, tokens that none reaches."""
    tokens = {**BYTES, **{300 + 7 * number: piece for number, piece in enumerate(pieces)}}
    known = set(tokens.values())
    merges = [
        (token[:cut], token[cut:])
        for token in pieces
        for cut in range(1, len(token))
        if token[:cut] in known and token[cut:] in known
    ]
    random.shuffle(merges)
    tok = Tokenizer(tokens, merges)
    assert tok.encode(text) == reference.encode(text, tokens, merges, pattern=patterns.GPT2)
    whole = Tokenizer(tokens, None)
    assert whole.encode(text) == reference.encode(text, tokens, None, pattern=patterns.GPT2)


@pytest.mark.parametrize("cache_bytes", [0, 1, 200, 1000, 5000, 20_000, 100_000, 1 << 20, 1 << 24])
def test_the_cache_changes_no_id(merges: Tokenizer, cache_bytes: int) -> None:
    """No cache, caches that are always full and forget, and some that grow between calls, up to a load of a quarter;
    words below and above every length that matters."""
    lengths = (1, 2, 6, 7, 8, 9, 14, 15, 16, 17, 31, 32, 33, 255, 256, 257)
    words = [letter * length for length in lengths for letter in "at中"]
    words += [f"w{number}th" for number in range(2000)]
    words += [f"longer{number}than{number * 7}fifteen" for number in range(300)]
    for text in (" ".join(words), "".join(f" {number:x}" for number in range(6000))):
        expected, tok = merges.with_cache(0).encode(text), merges.with_cache(cache_bytes)
        for _ in range(3):
            assert tok.encode(text) == expected
            ids, offsets = tok.encode_batch_to_numpy([text, text[:9000], ""], num_threads=1)
            assert ids[: offsets[1]].tolist() == expected
            assert tok.encode_batch([text], num_threads=2) == [expected]
        assert tok == merges
    assert expected == reference.encode(text, TOKENS, MERGES, pattern=patterns.GPT2)
    with pytest.raises(ValueError, match=r"must be 0 to .*, not -1"):
        merges.with_cache(-1)


def test_a_large_cache_changes_no_id(merges: Tokenizer) -> None:
    """One that is not moved for a lower load any more, and the last one that is."""
    for words in (30_000, 70_000):
        text = "".join(f" {number:x}" for number in range(words))
        expected, tok = merges.with_cache(0).encode_to_numpy(text), merges.with_cache(64 << 20)
        for _ in range(3):
            assert np.array_equal(tok.encode_to_numpy(text), expected)


@pytest.mark.parametrize("unit", ["the cat's ", "é1 ", "\n  x", "<|endoftext|> the", "猫<s>", "a b", "中 x", "🙂 y"])
def test_every_length_of_a_text(merges: Tokenizer, unit: str) -> None:
    """One pass below 64 bytes, a scan above; special tokens where the text is barely long enough for one."""
    whole = Tokenizer(RANKED, None, {"<|endoftext|>": 1000, "猫<s>": 1002}, pattern=patterns.CL100K)
    for length in [*range(80), 127, 128, 129, 239, 240, 241, 4095, 4096, 4097]:
        text = (unit * length)[:length]
        special = merges.special_tokens
        expected = reference.encode(text, TOKENS, MERGES, special_tokens=special, pattern=patterns.GPT2)
        assert merges.encode(text) == merges.encode(text.encode()) == expected
        special = whole.special_tokens
        expected = reference.encode(text, RANKED, None, special_tokens=special, pattern=patterns.CL100K)
        assert whole.encode(text) == whole.encode_to_numpy(text).tolist() == expected


@pytest.mark.parametrize("characters", ["aé", "aé中", "aé中🙂", "中字"])
def test_every_four_characters_of_one_to_four_bytes(merges: Tokenizer, characters: str) -> None:
    """UTF-8 is written by fours of characters, chosen by their lengths; a str of each width of units."""
    for four in map("".join, product(characters, repeat=4)):
        for text in (four * 4, "a" + four * 4 + "é", characters + four * 9):
            assert merges.encode(text) == merges.encode(text.encode())


@pytest.mark.parametrize("filler", ["ab ", "é ", "中 x", "🙂 "])
@pytest.mark.parametrize("tail", ["x", " y", "<|endoftext|>", "<|endoftext|><|endoftext|>", "猫<s>", "'ll", "\n \n"])
def test_what_lies_over_the_edge_of_a_piece(merges: Tokenizer, filler: str, tail: str) -> None:
    """Text that has to be rewritten goes by pieces of 2^15 characters; nothing may change at their edges."""
    piece = 1 << 15
    for shift in (0, 1, 2, 5, 12, 13, 14, 25, 26, 27, 30):
        text = (filler * piece)[: piece - shift] + tail + "é."
        assert merges.encode(text) == merges.encode(text.encode())


def test_a_token_that_no_merge_reaches() -> None:
    tokens = {**BYTES, 300: b"abc"}
    assert Tokenizer(tokens, []).encode_ordinary("abc") == [97, 98, 99]
    assert Tokenizer(tokens, None).encode_ordinary("abc") == [300]
    assert Tokenizer(tokens, None).encode_ordinary("abcd") == [97, 98, 99, 100]


@pytest.mark.parametrize("pattern", [patterns.GPT2, r"a+(?=b)|\w|\W", r"\w|\W"])
def test_a_byte_without_token_is_named_with_its_offset_in_the_whole_text(pattern: str) -> None:
    tok = Tokenizer({97: b"a", 98: b"b", 32: b" ", 300: b"ab"}, [(b"a", b"b")], ["<s>"], pattern=pattern)
    for wrong in ("aac", "é", "abc", "ab<s>abc", "ab" * 40_000 + "中"):
        offset = min(wrong.find(char) for char in "cé中" if char in wrong)
        with pytest.raises(ValueError, match=rf"byte 0x.., at offset {offset} of the text in UTF-8, has no token"):
            tok.encode(wrong)
        with pytest.raises(ValueError, match=f"at offset {offset} "):
            tok.encode_to_numpy(wrong.encode(), num_threads=2)
    assert tok.encode("b ab") == ([98, 32, 300] if pattern == patterns.GPT2 else [98, 32, 97, 98])


@pytest.mark.parametrize("prefix", ["", "a", "é", "中" * 40_000, "🙂" * 40_000, "a" * 100_000])
def test_what_is_no_unicode(merges: Tokenizer, prefix: str) -> None:
    """Where Python's own decoder finds it; test_decode.py has every kind of fault at every place."""
    for method in (merges.encode, merges.encode_ordinary, merges.encode_to_numpy, merges.count):
        with pytest.raises(UnicodeEncodeError) as caught:
            method(prefix + "\udc80x")
        assert caught.value.start == len(prefix)
        wrong = prefix.encode() + b"\xe4\xb8a"
        with pytest.raises(UnicodeDecodeError) as broken:
            method(wrong)
        assert (broken.value.start, broken.value.object) == (len(prefix.encode()), wrong)
        assert broken.value.reason


def test_encoding_leaves_no_copy_on_the_str(merges: Tokenizer) -> None:
    text = "中文é" * 50_000
    before = sys.getsizeof(text)
    merges.encode(text)
    merges.encode_batch_to_numpy([text, text])
    assert sys.getsizeof(text) == before


def test_utf8_that_is_on_the_str_already_is_used_alike(merges: Tokenizer) -> None:
    text = "中文é 🙂 cat" * 20_000
    fresh = merges.encode(text)
    as_utf8 = ctypes.pythonapi.PyUnicode_AsUTF8
    as_utf8.argtypes, as_utf8.restype = [ctypes.py_object], ctypes.c_void_p
    assert as_utf8(text)
    assert merges.encode(text) == fresh
