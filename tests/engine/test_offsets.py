"""Offsets of tokens: they tile a text that is not rewritten, and are those of ``tokenizers``."""
from bisect import bisect_left, bisect_right
from functools import cache
from itertools import accumulate

import pytest
import tokenizers
from huggingface_zoo import CONFIGURATIONS, HARD, build
from hypothesis import given, settings
from hypothesis import strategies as st

from bpetite import Tokenizer, patterns, reference
from bpetite.bytelevel import ALPHABET
from bpetite.steps.normalizers import normal_form

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


def test_special_tokens(tok: Tokenizer) -> None:
    _, spans = tok.encode_with_offsets("ïé<s>x<|endoftext|>")
    assert spans[-3:] == [(1, 5), (5, 6), (6, 19)]
    assert len(tok.encode_with_offsets("é<s>", allowed_special=())[0]) > 1
    with pytest.raises(ValueError, match="'é<s>' at offset 1"):
        tok.encode_with_offsets("ïé<s>x", disallowed_special=["é<s>"])


FORMS = ["NFC", "NFD", "NFKC", "NFKD"]


#: Characters that decompose, change places and combine, some of them with more than one before them.
COMBINING = "ae\u0301\u0327\u0323\u0307ﬁÅṩ가\u1100\u1161\u11a8\u0344\u0f73\u0f71\u0f72\u0958\u093c 中½\ufdfaǭ\u0328"


@settings(max_examples=500, deadline=None)
@given(st.text(COMBINING, max_size=14), st.sampled_from(FORMS))
def test_align(text: str, form: str) -> None:
    normal, places = normal_form(form).align(text)
    sources = [*places]
    assert normal == normal_form(form)(text)
    assert sources == sorted(sources)
    bare = tokenizers.Tokenizer(tokenizers.models.BPE(vocab={char: n for n, char in enumerate(ALPHABET)}, merges=[]))
    bare.normalizer = getattr(tokenizers.normalizers, form)()
    bare.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    assert [(at, at + 1) for char, at in zip(normal, sources, strict=True) for _ in char.encode()] == bare.encode(
        text
    ).offsets


def test_aligning_a_long_run_of_marks_takes_time_that_grows_with_it() -> None:
    text = "a" + "\u0301\u0323" * 100_000  # to be sorted
    normal, sources = normal_form("NFC").align(text)
    assert (len(normal), len(sources)) == (len(text) - 1, len(text) - 1)


@cache
def ours(name: str) -> Tokenizer:
    return Tokenizer.from_huggingface(build(name))


def check(name: str, text: str) -> None:
    expected = build(name).encode(text, add_special_tokens=False)
    assert ours(name).encode_with_offsets(text) == (expected.ids, expected.offsets)


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_the_same_as_tokenizers(name: str) -> None:
    for text in HARD:
        check(name, text)


pieces = [
    "hello", " world", "Foo", "foo", "barfoo", "the", " the", "'ll", "12345", " ", "  ", "   ", "\n", "\n\n", "\r\n",
    "\t", "🙂", "👍🏽", "é", "e\u0301", "s\u0323\u0307", "\u0301", "ﬁ", "가", "\u1100\u1161\u11a8", "中文", "\u00a0",
    "\u3000", "\x1c", "\x00", "<s>", "</s>", "<mask>", "<mask", "<|endoftext|>", "!?", "_", "▁", "Ġ", "ſ", "<s>foo",
]  # fmt: skip


@settings(max_examples=600, deadline=None)
@given(st.sampled_from(list(CONFIGURATIONS)), st.lists(st.sampled_from(pieces), max_size=10).map("".join))
def test_the_same_as_tokenizers_on_any_text(name: str, text: str) -> None:
    check(name, text)


def check_bytes(tok: Tokenizer, text: str) -> None:
    ids, spans = tok.encode_with_offsets(text)
    assert tok.encode_with_offsets(text.encode(), unit="bytes")[0] == ids
    data, edges = text.encode(), [*accumulate((len(char.encode()) for char in text), initial=0)]
    in_bytes = tok.encode_with_offsets(text, unit="bytes")[1]
    assert len(in_bytes) == len(ids)
    for token_id, (start, end), (first, last) in zip(ids, spans, in_bytes, strict=True):
        assert first <= last
        if start == end:  # trimmed to nothing
            assert first == last
            continue
        # whole characters around the bytes are the characters
        assert bisect_right(edges, first) - 1 == start
        assert bisect_left(edges, last) == end
        if tok.template is not None and tok.template.trim_offsets:
            if tok.normalization is None and token_id not in tok.special_tokens.values():
                assert data[first:last] in tok.token_bytes(token_id)
        elif tok.normalization is None and tok.scanner != "pipeline" and token_id not in tok.special_tokens.values():
            assert data[first:last] == tok.token_bytes(token_id)
        if first != edges[start] or last != edges[end]:  # no whole characters: the bytes of the token itself
            token = tok.token_bytes(token_id)
            assert token.startswith(data[first : min(edges[start + 1], last)]) or first == edges[start]
            assert token.endswith(data[max(edges[end - 1], first) : last]) or last == edges[end]


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_spans_in_bytes(name: str) -> None:
    for text in HARD:
        check_bytes(ours(name), text)


@settings(max_examples=600, deadline=None)
@given(st.sampled_from(list(CONFIGURATIONS)), st.lists(st.sampled_from(pieces), max_size=10).map("".join))
def test_spans_in_bytes_of_any_text(name: str, text: str) -> None:
    check_bytes(ours(name), text)


def test_white_space_is_trimmed_in_bytes_too() -> None:
    tok = ours("llama 3, trimmed")
    assert tok.encode_with_offsets(" a \u3000é")[1] == [(0, 0), (1, 2), (3, 3), (3, 4), (3, 4), (4, 5)]
    assert tok.encode_with_offsets(" a \u3000é", unit="bytes")[1] == [(0, 0), (1, 2), (3, 3), (3, 5), (5, 6), (6, 8)]


def test_tokens_inside_a_character_have_their_own_bytes() -> None:
    bare = Tokenizer({byte: bytes([byte]) for byte in range(256)}, [], ["é<s>"], normalization="NFC")
    assert bare.encode_with_offsets("🙂é<s>", unit="bytes")[1] == [(0, 1), (1, 2), (2, 3), (3, 4), (4, 9)]
    # a rewritten character is covered whole; the tokens of its first part cover that part
    assert bare.encode_with_offsets("e\u0301é", unit="bytes")[1] == [(0, 1), (0, 1), (3, 4), (4, 5)]
    assert bare.encode_with_offsets("", unit="bytes") == ([], [])
    with pytest.raises(ValueError, match='unit is "characters" or "bytes", not \'byte\''):
        bare.encode_with_offsets("a", unit="byte")  # type: ignore[call-overload]


def test_literals_of_one_id_have_their_own_lengths() -> None:
    bare = Tokenizer({byte: bytes([byte]) for byte in range(256)}, [])
    assert bare.encode_with_offsets("a🙂b")[1] == [(0, 1), (1, 2), (1, 2), (1, 2), (1, 2), (2, 3)]
    tok = Tokenizer({byte: bytes([byte]) for byte in range(256)}, [], {"<a>": 260, "<bbb>": 260})
    assert tok.encode_with_offsets("x<bbb>y") == ([120, 260, 121], [(0, 1), (1, 6), (6, 7)])
