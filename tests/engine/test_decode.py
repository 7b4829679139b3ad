"""Ids to bytes and text: every container, every error mode, pieces of characters."""
from array import array
from collections import UserList, deque

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bpetite import Tokenizer

BYTES = {byte: bytes([byte]) for byte in range(256)}
LONG = "x" * 40_000
PIECES = ["fifteen bytes...", "sixteen bytes....", "seventeen bytes..", LONG, "中", "é🙂", "ab"]
TOKENS = {**BYTES, **{300 + number: piece.encode() for number, piece in enumerate(dict.fromkeys(PIECES))}}


@pytest.fixture(scope="module", params=["dense", "sparse"])
def tok(request: pytest.FixtureRequest) -> Tokenizer:
    tokens = dict(TOKENS)
    if request.param == "sparse":
        tokens[2**32 - 1] = "last ✓".encode()
    return Tokenizer(tokens, [], {"<|endoftext|>": 400})


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from([*range(256), *(id for id in TOKENS if id >= 300 and id != 303), 400]), max_size=60))
def test_against_a_join(tok: Tokenizer, ids: list[int]) -> None:
    data = b"".join({**TOKENS, 400: b"<|endoftext|>"}[token_id] for token_id in ids)
    assert tok.decode_bytes(ids) == data
    assert tok.decode(ids, errors="replace") == data.decode(errors="replace")
    assert tok.decode(ids, errors="ignore") == data.decode(errors="ignore")
    assert tok.decode(ids, errors="backslashreplace") == data.decode(errors="backslashreplace")
    try:
        expected = data.decode()
    except UnicodeDecodeError as error:
        with pytest.raises(UnicodeDecodeError, match=str(error.start)):
            tok.decode(ids)
    else:
        assert tok.decode(ids) == expected


def test_long_tokens(tok: Tokenizer) -> None:
    ids = [303, 97, 303, 304]
    assert tok.decode(ids) == LONG + "a" + LONG + "中"
    assert tok.decode_bytes(ids * 600) == (LONG + "a" + LONG + "中").encode() * 600


CONTAINERS = [
    list, tuple, deque, UserList, iter, lambda ids: (token_id for token_id in ids), lambda ids: array("q", ids),
    lambda ids: array("I", ids), lambda ids: array("H", ids), lambda ids: list(np.array(ids)),
    *(lambda ids, dtype=dtype: np.array(ids, dtype) for dtype in
      (np.uint16, np.int16, np.uint32, np.int32, np.uint64, np.int64)),
    lambda ids: np.repeat(np.array(ids, np.uint32), 2)[::2], lambda ids: np.array(ids)[::-1][::-1],
    lambda ids: memoryview(array("I", ids)),
]  # fmt: skip


@pytest.mark.parametrize("container", CONTAINERS)
def test_containers(tok: Tokenizer, container) -> None:
    ids = [104, 300, 33, 400, 306, 305]
    assert tok.decode(container(ids)) == "hfifteen bytes...!<|endoftext|>abé🙂"
    many = ids * 2000
    assert tok.decode_bytes(container(many)) == tok.decode_bytes(many)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
def test_small_integers(tok: Tokenizer, dtype: type) -> None:
    assert tok.decode(np.array([104, 105], dtype)) == "hi"
    assert tok.decode(range(104, 107)) == "hij"


@pytest.mark.parametrize("empty", [[], (), np.array([]), np.array([], np.uint32), range(0), iter(())])
def test_nothing(tok: Tokenizer, empty) -> None:
    assert tok.decode(empty) == ""
    assert tok.decode_bytes(empty) == b""


@pytest.mark.parametrize("unknown", [256, 299, 401, 99_999, 2**31, 2**32 - 2, 2**32, 2**63, 2**70, -1, -(2**40)])
def test_unknown_ids(tok: Tokenizer, unknown: int) -> None:
    wrong: list = [[97, unknown], (97, unknown), iter([97, unknown]), [unknown] * 5000]
    if -(2**63) <= unknown < 2**63:
        wrong.append(np.array([97, unknown], np.int64))
    if 0 <= unknown < 2**64:
        wrong.append(np.array([97, unknown], np.uint64))
    if 0 <= unknown < 2**32:
        wrong.append(np.array([97, unknown], np.uint32))
    for ids in wrong:
        with pytest.raises(KeyError) as caught:
            tok.decode(ids)
        assert caught.value.args == (unknown,) or not isinstance(ids, list | tuple | np.ndarray)


@pytest.mark.parametrize(
    "wrong",
    ["ab", ["a"], [1.0], [None], np.array([1.5]), np.array([[97]]), np.zeros(3, np.dtype([])), 5, None, [[97]]],
)
def test_what_is_no_ids(tok: Tokenizer, wrong) -> None:
    with pytest.raises(TypeError):
        tok.decode(wrong)


def test_batches(tok: Tokenizer) -> None:
    assert tok.decode_batch([[104], np.array([105]), []]) == ["h", "i", ""]
    assert tok.decode_batch([[0x80]], errors="replace") == ["\ufffd"]
    assert tok.decode_batch([]) == []


def test_iterable_gives_whole_characters_at_once(tok: Tokenizer) -> None:
    ids = [*"a中🙂".encode(), 305, 97]
    assert list(tok.decode_iterable(ids)) == ["a", "中", "🙂", "é🙂", "a"]
    assert list(tok.decode_iterable(iter([]))) == []
    endless = tok.decode_iterable(97 for _ in iter(int, 1))
    assert [next(endless) for _ in range(3)] == ["a", "a", "a"]


def test_iterable_errors(tok: Tokenizer) -> None:
    pieces = tok.decode_iterable([97, 0xE4, 0xB8])
    assert next(pieces) == "a"
    with pytest.raises(UnicodeDecodeError):
        next(pieces)
    assert "".join(tok.decode_iterable([97, 0xE4, 0xB8], errors="replace")) == "a\ufffd"
    with pytest.raises(KeyError):
        list(tok.decode_iterable([97, 299]))


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=30))
def test_iterable_is_decode_in_pieces(tok: Tokenizer, text: str) -> None:
    pieces = list(tok.decode_iterable(tok.encode(text)))
    assert "".join(pieces) == text
    assert "" not in pieces


def test_the_tokenizer_may_choose_the_errors() -> None:
    lenient = Tokenizer(BYTES, [], errors="replace")
    assert lenient.decode([0x80]) == "\ufffd"
    assert "".join(lenient.decode_iterable([0x80])) == "\ufffd"
    with pytest.raises(UnicodeDecodeError):
        lenient.decode([0x80], errors="strict")


def test_a_tokenizer_that_is_not_set_up() -> None:
    """What __new__ alone gives raises; it does not crash."""
    bare = Tokenizer.__new__(Tokenizer)
    calls = [lambda: bare.decode([97]), lambda: bare.decode_bytes([97]), lambda: bare.encode("a")]
    calls += [lambda: bare.encode_batch(["a"]), lambda: bare.count("a"), lambda: bare.encode_to_numpy("a")]
    for call in calls:
        with pytest.raises((TypeError, AttributeError)):
            call()
    with pytest.raises(TypeError, match="immutable"):
        Tokenizer(BYTES, []).__init__(BYTES, [])  # type: ignore[misc]
