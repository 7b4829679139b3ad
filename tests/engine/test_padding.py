"""Padded rectangles against a plain version, and batches within a token budget."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bpetite import Tokenizer, serving
from bpetite.steps.template import Template, TemplatePart

BYTES = {byte: bytes([byte]) for byte in range(256)}


@pytest.fixture(scope="module")
def tok() -> Tokenizer:
    return Tokenizer(BYTES, [], ["<|endoftext|>", "<|pad|>"])


def plain_rows(row: list[int], max_length: int | None, truncation_side: str, stride: int | None) -> list[list[int]]:
    """The rows that one text gives: itself, or windows of it."""
    if max_length is None or len(row) <= max_length:
        return [row]
    if stride is None:
        return [row[:max_length] if truncation_side == "right" else row[-max_length:]]
    rows = []
    while True:
        rows.append(row[:max_length] if truncation_side == "right" else row[-max_length:])
        if len(row) <= max_length:
            return rows if truncation_side == "right" else rows[::-1]
        row = row[max_length - stride :] if truncation_side == "right" else row[: len(row) - max_length + stride]


sides = st.sampled_from(["left", "right"])


@settings(max_examples=300, deadline=None)
@given(st.lists(st.text("abc", max_size=12), max_size=6), st.none() | st.integers(1, 8), sides, sides, st.data())
def test_against_a_plain_version(tok: Tokenizer, texts, max_length, side, truncation_side, data) -> None:
    stride = data.draw(st.none() | st.integers(0, max_length - 1)) if max_length else None
    multiple = data.draw(st.integers(1, 4))
    padding = data.draw(st.sampled_from(["longest", "max_length"])) if max_length else "longest"
    batch = tok.encode_padded(
        texts, max_length=max_length, padding=padding, padding_side=side, truncation_side=truncation_side,
        stride=stride, pad_to_multiple_of=multiple, pad_token="<|pad|>",
    )  # fmt: skip
    expected, numbers = [], []
    for number, text in enumerate(texts):
        for row in plain_rows(list(text.encode()), max_length, truncation_side, stride):
            expected.append(row)
            numbers.append(number)
    width = max_length if padding == "max_length" else max(map(len, expected), default=0)
    width = -(-width // multiple) * multiple
    ids, mask = batch
    assert ids.dtype == np.int32
    assert mask.dtype == np.int8
    assert batch.rows.tolist() == numbers
    assert ids.shape == mask.shape == (len(expected), width)
    for row, own, inside in zip(expected, ids.tolist(), mask.tolist(), strict=True):
        filler = [257] * (width - len(row))
        assert own == (row + filler if side == "right" else filler + row)
        assert sum(inside) == len(row)
        assert [token for token, one in zip(own, inside, strict=True) if one] == row


@settings(max_examples=200, deadline=None)
@given(st.lists(st.text("ab", max_size=9), max_size=30), st.integers(12, 40), st.integers(1, 4))
def test_batches_within_a_budget(tok: Tokenizer, texts: list[str], max_tokens: int, multiple: int) -> None:
    seen: list[int] = []
    for batch in serving.padded_batches(tok, texts, max_tokens=max_tokens, pad_to_multiple_of=multiple):
        assert batch.input_ids.size <= max_tokens
        assert batch.input_ids.shape[1] % multiple == 0
        for number, ids, mask in zip(batch.rows.tolist(), batch.input_ids, batch.attention_mask, strict=True):
            assert tok.decode(ids[mask == 1]) == texts[number]
        seen += batch.rows.tolist()
    assert sorted(seen) == list(range(len(texts)))
    lengths = [len(texts[number]) for number in seen]
    widths = [-(-length // multiple) for length in lengths]
    assert widths == sorted(widths)


def test_the_pad_token(tok: Tokenizer) -> None:
    assert tok.encode_padded(["a", "bc"]).input_ids.tolist() == [[97, 256], [98, 99]]
    assert tok.encode_padded(["a", "bc"], pad_token=0).input_ids.tolist() == [[97, 0], [98, 99]]
    bare = Tokenizer(BYTES, [])
    assert bare.encode_padded(["ab", "cd"]).input_ids.tolist() == [[97, 98], [99, 100]]
    with pytest.raises(ValueError, match="pad_token="):
        bare.encode_padded(["a", "bc"])
    with pytest.raises(ValueError, match="'<x>' is not a special token"):
        tok.encode_padded(["a"], pad_token="<x>")
    with pytest.raises(ValueError, match="no token has the id 999"):
        tok.encode_padded(["a"], pad_token=999)
    assert tok.encode_padded(["a", "bc"], pad_token=np.int64(3)).input_ids.tolist() == [[97, 3], [98, 99]]  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="pad_token is a special token or an id, not True"):
        tok.encode_padded(["a"], pad_token=True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_length": 0}, "max_length must be at least 1, not 0"),
        ({"padding": "max_length"}, "needs max_length"),
        ({"padding": "no"}, "'no'"),
        ({"padding_side": "up"}, "'up'"),
        ({"stride": 1}, "stride"),
        ({"stride": 3, "max_length": 3}, "less than max_length=3, not 3"),
        ({"pad_to_multiple_of": 0}, "pad_to_multiple_of"),
    ],
)
def test_contradictions(tok: Tokenizer, options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tok.encode_padded(["a"], **options)


@pytest.mark.parametrize("option", ["before", "pad_id", "max_lenght"])
def test_an_option_that_does_not_exist(tok: Tokenizer, option: str) -> None:
    texts = iter(["ab"])
    with pytest.raises(TypeError, match=f"no option is called '{option}': .* max_length"):
        tok.encode_padded(texts, **{option: [65]})
    with pytest.raises(TypeError, match=f"no option is called '{option}': .* max_length"):
        list(serving.padded_batches(tok, texts, max_tokens=9, **{option: [65]}))
    assert next(texts) == "ab"


def test_a_text_over_the_budget(tok: Tokenizer) -> None:
    with pytest.raises(ValueError, match="text 1 has 6 tokens, more than max_tokens=5"):
        list(serving.padded_batches(tok, ["a", "abcdef"], max_tokens=5))
    batches = list(serving.padded_batches(tok, ["a", "abcdef"], max_tokens=np.int64(5), max_length=5))
    assert [batch.rows.tolist() for batch in batches] == [[0], [1]]
    with pytest.raises(ValueError, match="max_tokens must be at least 1"):
        list(serving.padded_batches(tok, ["a"], max_tokens=0))


def test_ids_that_int32_cannot_hold() -> None:
    tok = Tokenizer({97: b"a", 2**31: b"b"}, [])
    assert tok.encode_padded(["aa"]).input_ids.tolist() == [[97, 97]]
    with pytest.raises(OverflowError, match="id 2147483648 does not fit int32"):
        tok.encode_padded(["ab"])


def test_nothing(tok: Tokenizer) -> None:
    assert tok.encode_padded([]).input_ids.shape == (0, 0)
    assert tok.encode_padded(["", ""]).input_ids.shape == (2, 0)
    assert list(serving.padded_batches(tok, [], max_tokens=1)) == []
    bare = Tokenizer(BYTES, [])
    assert bare.encode_padded([], max_length=4, padding="max_length").input_ids.shape == (0, 4)


def test_special_tokens_leave_room_for_a_stride() -> None:
    parts = (TemplatePart((257,)), TemplatePart(text="A"), TemplatePart((256,)))
    vocab = Tokenizer(BYTES, [], ["<|endoftext|>", "<|pad|>"]).to_vocab()
    tok = Tokenizer.from_vocab(replace(vocab, template=Template(parts, ())))
    batch = tok.encode_padded(["abcd"], max_length=4, stride=1, add_special_tokens=True)
    assert batch.input_ids.tolist() == [[257, 97, 98, 256], [257, 98, 99, 256], [257, 99, 100, 256]]
    with pytest.raises(ValueError, match="less than max_length=4 less 2 special tokens, not 2"):
        tok.encode_padded(["abcd"], max_length=4, stride=2, add_special_tokens=True)
