"""align: the groups of tokens of two tokenizers, compared with their definition."""
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from huggingface_zoo import CONFIGURATIONS, HARD, build
from hypothesis import given, settings
from hypothesis import strategies as st

from bpetite import Tokenizer
from bpetite.analysis import align

CORPUS = "the cat sat on the mat; don't 2024, naïve 中文字 🙂 \n\n  x hello world foobar café " * 3
BYTES = Tokenizer({byte: bytes([byte]) for byte in range(256)}, [])
TRAINED = Tokenizer.train(CORPUS, 380)


def defined(a: Tokenizer, b: Tokenizer, text: str) -> list[tuple[int, int]]:
    """The ends by trying every position of every text: linear only by accident."""
    size, ends = len(text.encode()), [(0, 0)]
    spans = [tok.encode_with_offsets(text, allowed_special=(), unit="bytes")[1] for tok in (a, b)]

    def is_cut(row: list[tuple[int, int]], done: int, at: int) -> bool:
        return all(end <= at for _, end in row[:done]) and all(start >= at for start, _ in row[done:])

    for at in range(1, size + 1):
        done = [sum(end <= at for _, end in row) for row in spans]
        if all(map(is_cut, spans, done, [at] * 2)) and (done[0], done[1]) != ends[-1]:
            ends.append((done[0], done[1]))
    return ends[1:]


def check(a: Tokenizer, b: Tokenizer, text: str) -> None:
    found = align(a, b, text)
    assert [ends.dtype for ends in found] == [np.int64] * 2
    assert [*zip(*(ends.tolist() for ends in found), strict=True)] == defined(a, b, text)
    if found[0].size:
        assert [ends[-1] for ends in found] == [len(tok.encode_ordinary(text)) for tok in (a, b)]


@cache
def zoo(name: str) -> Tokenizer:
    vocab = Tokenizer.from_huggingface(build(name)).to_vocab()
    return Tokenizer.from_vocab(replace(vocab, template=None))  # a group holds the white space that offsets leave out


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_the_groups_are_those_of_the_definition(name: str) -> None:
    for text in HARD:
        check(zoo(name), TRAINED, text)
        check(BYTES, zoo(name), text)


names = st.sampled_from(list(CONFIGURATIONS))
texts = st.text(st.sampled_from("the caton 中文🙂é\u0301ﬁ\n<|>s가"), max_size=24)


@settings(max_examples=300, deadline=None)
@given(names, names, texts)
def test_the_groups_of_any_text_are_those_of_the_definition(a: str, b: str, text: str) -> None:
    check(zoo(a), zoo(b), text)


def test_the_bytes_of_both_sides_of_a_group_are_the_same() -> None:
    other = Tokenizer.train(CORPUS[::-1], 300, pattern=None)
    for text in (CORPUS, CORPUS[::-1]):
        ids = [tok.encode_ordinary(text) for tok in (TRAINED, other)]
        ends = align(TRAINED, other, text)
        starts = [np.append(0, side[:-1]) for side in ends]
        for (first, last), (begin, stop) in zip(zip(starts[0], ends[0]), zip(starts[1], ends[1])):
            assert TRAINED.decode_bytes(ids[0][first:last]) == other.decode_bytes(ids[1][begin:stop]) != b""


def test_special_tokens_are_text() -> None:
    text = "ab<|endoftext|>"
    ends, other = align(TRAINED, BYTES, text)
    assert other[-1] == len(text)
    assert ends[-1] == len(TRAINED.encode_ordinary(text)) > 2


def test_without_text_there_is_no_group() -> None:
    assert [ends.size for ends in align(TRAINED, BYTES, "")] == [0, 0]
    assert [ends.tolist() for ends in align(TRAINED, TRAINED, b"x")] == [[1], [1]]


@pytest.mark.parametrize("text", [5, None, ["a"]])
def test_what_is_no_text_is_refused(text: Any) -> None:
    a, b = (Tokenizer.train("ab ab", size) for size in (256, 257))
    with pytest.raises(TypeError, match="a text is str or UTF-8 bytes, not "):
        align(a, b, text)
