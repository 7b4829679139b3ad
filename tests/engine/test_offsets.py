"""Character offsets of tokens: they tile the text; under normalization they point into the given text."""
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bpetite import Tokenizer, patterns, reference
from bpetite.engine import offsets

CORPUS = "the cat sat on the mat; don't 2024, naïve 中文字 🙂 \n\n  x" * 3
TOKENS, MERGES = reference.train([CORPUS], 320, pattern=patterns.GPT2)


@pytest.fixture(scope="module")
def tok() -> Tokenizer:
    return Tokenizer(TOKENS, MERGES, ["<|endoftext|>", "é<s>"])


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(["the", " cat", "é", "中", "🙂", "<|endoftext|>", "é<s>", "\n", "x"]), max_size=30))
def test_they_tile_the_text(tok: Tokenizer, parts: list[str]) -> None:
    text = "".join(parts)
    ids, spans = tok.encode_with_offsets(text)
    assert ids == tok.encode(text)
    assert tok.encode_with_offsets(text.encode()) == (ids, spans)
    assert len(spans) == len(ids)
    at = 0
    for token_id, (start, end) in zip(ids, spans, strict=True):
        assert start <= at <= end  # a token inside a character starts where that character does
        assert start < end
        piece = tok.token_bytes(token_id)
        assert piece in text[start:end].encode()
        if (start, end) != (at, at):
            at = end
    assert at == len(text)


def test_a_token_inside_a_character(tok: Tokenizer) -> None:
    bare = Tokenizer({byte: bytes([byte]) for byte in range(256)}, [])
    assert bare.encode_with_offsets("a🙂b")[1] == [(0, 1), (1, 2), (1, 2), (1, 2), (1, 2), (2, 3)]


def test_special_tokens(tok: Tokenizer) -> None:
    _, spans = tok.encode_with_offsets("ïé<s>x<|endoftext|>")
    assert spans[-3:] == [(1, 5), (5, 6), (6, 19)]
    assert len(tok.encode_with_offsets("é<s>", allowed_special=())[0]) > 1
    with pytest.raises(ValueError, match="'é<s>' at offset 1"):
        tok.encode_with_offsets("ïé<s>x", disallowed_special=["é<s>"])


@pytest.mark.parametrize("form", ["NFC", "NFD", "NFKC", "NFKD"])
def test_normalization(form: str) -> None:
    tok = Tokenizer(TOKENS, MERGES, ["<e\u0301>"], normalization=form)
    text = "cafe\u0301 ﬁ \u1100\u1161\u11a8 <e\u0301> Å\u0327 x"
    ids, spans = tok.encode_with_offsets(text)
    assert ids == tok.encode(text)
    assert spans[0][0] == 0
    assert spans[-1][1] == len(text)
    covered = set()
    for start, end in spans:
        assert start < end
        covered |= set(range(start, end))
    assert covered == set(range(len(text)))
    special = text.index("<")
    assert (special, special + 4) in spans


@settings(max_examples=300, deadline=None)
@given(
    st.text("ae\u0301\u0327\u0323ﬁÅ가\u1100\u1161\u11a8\u0344\u0f73 中\u2126", max_size=14),
    st.sampled_from(["NFC", "NFD", "NFKC", "NFKD"]),
)
def test_trace(text: str, form: str) -> None:
    origin = offsets.trace(text, [], form)
    assert origin.text == unicodedata.normalize(form, text)  # type: ignore[arg-type]
    assert len(origin.starts) == len(origin.ends) == len(origin.text)
    assert origin.starts == sorted(origin.starts)
    assert origin.ends == sorted(origin.ends)
    for start, end in zip(origin.starts, origin.ends, strict=True):
        assert 0 <= start < end <= len(text)
