"""Encoding against the definition, for both kinds of vocabulary."""
from array import array
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bpetite import patterns, reference
from bpetite._encode import Encoder

BYTES = {byte: bytes([byte]) for byte in range(256)}


class ByRegex:
    """A pre-tokenizer that is the definition itself."""

    scanner = None

    def __init__(self, pattern: str | tuple[str, ...] | None) -> None:
        self.pattern = pattern

    def ends(self, data: bytes) -> "array[int]":
        ends, end = array("q"), 0
        for piece in reference.split(data.decode(), self.pattern):
            end += len(piece.encode())
            ends.append(end)
        return ends


def encoder(
    tokens: dict[int, bytes],
    merges: Sequence[tuple[bytes, bytes]] | None,
    special_tokens: dict[str, int] | None = None,
    pattern: str | None = patterns.GPT2,
    **options,
) -> Encoder:
    ids = {token: token_id for token_id, token in tokens.items()}
    pairs = None if merges is None else [(ids[left], ids[right]) for left, right in merges]
    specials = special_tokens or {}
    every = {**tokens, **{token_id: literal.encode() for literal, token_id in specials.items()}}
    return Encoder(every, pairs, specials, ByRegex(pattern), **options)


LEARNED = reference.train(
    ["the cat sat on the mat, the rat ate the cat's hat; don't we'll I've\n\n  it's 2024, naïve café 中文字 中文 🙂🙂"] * 2,
    330,
    pattern=patterns.GPT2,
)
text = st.one_of(st.text(max_size=60), st.text("thecats '\n日本中文é🙂1", max_size=120))


@settings(max_examples=200, deadline=None)
@given(text)
def test_merges_kind(text: str) -> None:
    tokens, merges = LEARNED
    expected = reference.encode(text, tokens, merges, pattern=patterns.GPT2)
    one = encoder(tokens, merges)
    assert one.encode(text) == expected
    assert one.encode(text.encode()) == expected
    assert one.encode_to_numpy(text).tolist() == expected
    assert one.count(text) == len(expected)
    assert one.decode(expected) == text
    assert one.decode_bytes(expected) == text.encode()


@settings(max_examples=100, deadline=None)
@given(text)
def test_ranks_kind(text: str) -> None:
    tokens, _ = LEARNED
    expected = reference.encode(text, tokens, None, pattern=patterns.GPT2)
    assert encoder(tokens, None).encode(text) == expected


def test_a_token_that_no_merge_reaches() -> None:
    tokens = {**BYTES, 300: b"abc"}
    assert encoder(tokens, []).encode_ordinary("abc") == [97, 98, 99]
    assert encoder(tokens, [], ignore_merges=True).encode_ordinary("abc") == [300]
    assert encoder(tokens, None).encode_ordinary("abc") == [300]
    assert encoder(tokens, None).encode_ordinary("abcd") == [97, 98, 99, 100]


def test_specials() -> None:
    one = encoder({**BYTES, 256: b"ab"}, [(b"a", b"b")], {"<|endoftext|>": 258, "<|endoftext|><|endoftext|>": 259})
    assert one.encode("ab<|endoftext|>ab") == [256, 258, 256]
    assert one.encode("<|endoftext|>" * 3) == [259, 258]
    assert one.encode_ordinary("<|endo") == one.encode("<|endo") == list(b"<|endo")
    with pytest.raises(ValueError, match=r"'<\|endoftext\|>' at offset 2"):
        one.encode("ab<|endoftext|>", allowed_special=(), disallowed_special="all")


def test_a_byte_without_token() -> None:
    one = encoder({97: b"a"}, [])
    assert one.encode_ordinary("aa") == [97, 97]
    with pytest.raises(ValueError, match="0x62, at offset 2"):
        one.encode_ordinary("aab")
