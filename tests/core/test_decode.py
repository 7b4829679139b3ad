"""Ids to bytes and text: every container, every error mode, pieces of characters."""

import ctypes
import pickle
import sys
import threading
from array import array
from collections import UserList, deque
from collections.abc import Callable
from itertools import chain, repeat
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bpetite import Tokenizer
from bpetite.errors import UnknownTokenError

BYTES = {byte: bytes([byte]) for byte in range(256)}
LONG = "x" * 40_000
#: Each id is a special token that spells it.
WIDE = Tokenizer(
    {2**31 + byte: bytes([byte]) for byte in range(256)},
    [],
    {f"<{token_id}>": token_id for token_id in [*range(1000), 2**20 - 1, 2**20, 2**30, 2**32 - 1]},
)
PIECES = ["fifteen bytes...", "sixteen bytes....", "seventeen bytes..", LONG, "中", "é🙂", "ab", ""]
EMPTY = 307
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


#: Characters at the borders of what UTF-8 writes in one, two, three and four bytes, and of what a str holds in as many.
BORDERS = "a\x00\x7f\x80ÿĀ\u07ff\u0800中\ud7ff\ue000\uffff\U00010000\U0010ffff"
#: Bytes that are faults where they stand: cut, stray, overlong, a surrogate, above U+10FFFF.
FAULTS = list(
    map(
        bytes.fromhex,
        ["80", "bfbf", "c0", "c1bf", "c2", "e0", "e080", "e09fbf", "e0a0", "ed", "ed9f", "eda080", "edbfbf", "ef", "f0"]
        + ["f0808080", "f08fbfbf", "f09080", "f4", "f48fbf", "f4908080", "f5808080", "f880808080", "fe", "ff"],
    )
)
RUNS = st.tuples(st.sampled_from(BORDERS), st.integers(1, 90)).map(lambda run: run[0] * run[1])
TEXTS = st.lists(RUNS | st.text(BORDERS, max_size=40), max_size=6).map("".join)


@settings(max_examples=400, deadline=None)
@given(TEXTS, st.lists(st.tuples(st.integers(0, 500), st.sampled_from(FAULTS)), max_size=2))
def test_utf8_is_read_as_by_python(tok: Tokenizer, text: str, faults: list[tuple[int, bytes]]) -> None:
    """Above and below the sizes from which on vectors are used, valid and not."""
    data = text.encode()
    for at, fault in faults:
        data = data[:at] + fault + data[at:]
    ids = np.frombuffer(data, np.uint8).astype(np.uint32)
    assert tok.decode_bytes(ids) == data
    assert tok.decode(ids, errors="replace") == data.decode(errors="replace")
    assert fault_of(lambda: tok.encode(data)) == fault_of(data.decode)
    if fault_of(data.decode) is None:
        decoded, expected = tok.decode(ids, errors="strict"), data.decode()
        assert decoded == expected
        # As narrow as Python's own; of new strings, since one that others use may keep its UTF-8, too.
        assert sys.getsizeof(decoded + "x") == sys.getsizeof(expected + "x")
        assert tok.decode_bytes(tok.encode(data)) == data


def fault_of(read: Callable[[], object]) -> int | None:
    """Where the first fault is that it raises."""
    try:
        read()
    except UnicodeDecodeError as error:
        return error.start
    return None


@pytest.mark.parametrize("size", [63, 64, 65, 95, 96, 97, 127, 128, 129, 4_095, 4_096, 4_097])
def test_faults_anywhere_near_an_end(tok: Tokenizer, size: int) -> None:
    for fault in FAULTS:
        for at in {*range(8), *range(size - len(fault) - 8, size - len(fault) + 1)}:
            for around in ("a", "中"):
                data = (around * size).encode()[: size // 3 * 3].ljust(size, b"a")
                data = data[:at] + fault + data[at + len(fault) :]
                assert fault_of(lambda: tok.encode(data)) == fault_of(data.decode)  # noqa: B023


@pytest.mark.parametrize("character", ["ÿ", "中", "🙂"])
def test_long_tokens_and_a_str_of_many_pages(tok: Tokenizer, character: str) -> None:
    text = ("x" * 1_000 + character) * 3_000
    assert tok.decode(np.frombuffer(text.encode(), np.uint8)) == text
    ids = [303, 97, 303, *character.encode()]
    assert tok.decode(ids * 60) == (LONG + "a" + LONG + character) * 60
    assert tok.decode_bytes(ids * 600) == (LONG + "a" + LONG + character).encode() * 600


@pytest.mark.parametrize("n", [0, 1, 15, 16, 17, 600, 300_000])
def test_tokens_without_bytes(tok: Tokenizer, n: int) -> None:
    nothing = [EMPTY] * n
    for ids in (nothing, np.array(nothing, np.uint32), np.array(nothing, np.int64)):
        assert tok.decode(ids) == ""
        assert tok.decode_bytes(ids) == b""
    assert tok.decode([*nothing, 97, *nothing, 304, *nothing]) == "a中"
    assert tok.decode_bytes([97, *nothing, 303, *nothing]) == b"a" + LONG.encode()
    assert tok.decode_batch([nothing, [97, *nothing], []]) == ["", "a", ""]
    assert "".join(tok.decode_iterable([0xE4, *nothing, 0xB8, *nothing, 0xAD])) == "中"
    spans = tok._char_spans([97, *nothing, 304, *nothing], "a中".encode())
    assert spans == [(0, 1), *[(1, 1)] * n, (1, 2), *[(2, 2)] * n]


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
    assert tok.decode_batch([container(ids), container([104]), container([])]) == [tok.decode(ids), "h", ""]
    many = ids * 2000
    assert tok.decode_bytes(container(many)) == tok.decode_bytes(many)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 999) | st.sampled_from([2**20 - 1, 2**20, 2**30, 2**32 - 1]), st.booleans())))
def test_ints_of_bpetite_and_of_others(pairs: list[tuple[int, bool]]) -> None:
    """Decoding knows an int that bpetite has made by its place, and reads any other."""
    ids = [made for made, _ in pairs]
    made = WIDE.encode("".join(f"<{token_id}>" for token_id in ids))
    mixed = [ours if own else int(str(ours)) for ours, (_, own) in zip(made, pairs, strict=True)]
    assert WIDE.decode(made) == WIDE.decode(mixed) == WIDE.decode(np.array(ids, np.uint32))
    assert WIDE.decode(mixed) == "".join(f"<{token_id}>" for token_id in ids)


@pytest.mark.parametrize("unknown", [256, 299, 401, 99_999, 2**31, 2**32 - 2, 2**32, 2**63, 2**70, -1, -(2**40)])
def test_an_unknown_id_is_named_with_its_place_and_what_there_is(tok: Tokenizer, unknown: int) -> None:
    types = np.int64, np.uint64, np.uint32
    fits = [dtype for dtype in types if np.iinfo(dtype).min <= unknown <= np.iinfo(dtype).max]
    for ids in ([97, unknown], (97, unknown), deque([97, unknown]), *(np.array([97, unknown], one) for one in fits)):
        with pytest.raises(UnknownTokenError) as caught:
            tok.decode(ids)
        assert caught.value.args == (unknown,)
        assert str(caught.value) == (
            f"no token has the id {unknown} (ids[1]): the vocabulary has {len(tok)} tokens, with ids from 0 to "
            f"{tok.vocab_size - 1}"
        )
    with pytest.raises(KeyError):
        tok.decode([unknown] * 5000)
    with pytest.raises(UnknownTokenError):
        tok._char_spans([97, unknown], b"ab")


# What is no array of ids, or only just


@pytest.mark.parametrize(
    "dtype",
    ["f2", "f4", "f8", "g", "c8", "c16", "?", "U1", "S1", "U0", "S0", "V0", "V4", "V1", "O", "M8[s]", "m8[ns]",
     [("a", "u4")], [], [("a", "u4", (2,))]],
)  # fmt: skip
@pytest.mark.parametrize("shape", [(3,), (), (2, 2), (1,)])
def test_arrays_of_what_is_no_id(tok: Tokenizer, dtype: Any, shape: tuple[int, ...]) -> None:
    for decode in (tok.decode, tok.decode_bytes):
        with pytest.raises(TypeError, match="integer"):
            decode(np.zeros(shape, np.dtype(dtype)))
        if shape == (3,):
            with pytest.raises(TypeError, match="integer"):
                decode(np.zeros(shape, np.dtype(dtype))[::-1])


@pytest.mark.parametrize("kind", ["u1", "i1", *(order + kind for order in "<>" for kind in
                                                ("u2", "i2", "u4", "i4", "u8", "i8"))])  # fmt: skip
def test_arrays_in_odd_memory(tok: Tokenizer, kind: str) -> None:
    """Strides of any sign, addresses that are no multiple of the size, and either byte order, as the array says."""
    ids = np.array([104, 105, 106], kind)
    assert tok.decode(ids) == tok.decode(memoryview(ids)) == "hij"
    assert tok.decode(ids[::-1]) == "jih"
    assert tok.decode(np.repeat(ids, 2)[::-2]) == "jih"
    assert tok.decode(np.broadcast_to(ids[:1], (3,))) == "hhh"
    assert tok.decode(np.frombuffer(b"." + ids.tobytes(), np.uint8)[1:].view(kind)) == "hij"
    assert tok.decode(ids.reshape(3, 1)[:, 0]) == "hij"
    for wrong, dimensions in ((ids[None], 2), (ids[0, ...], 0)):
        with pytest.raises(TypeError, match=f"{dimensions} dimensions"):
            tok.decode(wrong)


def test_other_buffers(tok: Tokenizer) -> None:
    assert tok.decode((ctypes.c_uint32 * 2)(104, 105)) == "hi"
    assert tok.decode((ctypes.c_int64 * 0)()) == ""
    for wrong in (array("d", [1.0]), (ctypes.c_float * 2)(), memoryview(b"ab").cast("c"), (ctypes.c_uint32 * 2 * 2)()):
        with pytest.raises(TypeError, match="integer"):
            tok.decode(wrong)  # type: ignore[arg-type]


class Index:
    def __init__(self, call: Callable[["Index"], Any]) -> None:
        self.call = call

    def __index__(self) -> Any:
        return self.call(self)


def test_an_index_that_is_no_int(tok: Tokenizer) -> None:
    def fail(_: Index) -> int:
        raise RuntimeError("mine")

    assert tok.decode([Index(lambda _: 104), 105]) == "hi"
    for call in (lambda self: self, lambda self: "a", lambda self: Index(lambda _: 104)):
        with pytest.raises(TypeError):
            tok.decode([Index(call)])
        with pytest.raises(TypeError):
            list(tok.decode_iterable([Index(call)]))
    with pytest.raises(RuntimeError, match="mine"):
        tok.decode([97, Index(fail)])


def test_containers_that_lie(tok: Tokenizer) -> None:
    """What they say of their length is not believed, and what they hold may change while it is read."""

    class List(list):
        def __len__(self) -> int:
            return 100_000

        def __getitem__(self, place: Any) -> int:
            return 98

    class Tuple(tuple):
        def __len__(self) -> int:
            return 100_000

    class Shorter(List):
        def __len__(self) -> int:
            return 0

    for kind in (List, Tuple, Shorter):
        assert tok.decode(kind([104, 105])) == "hi"
        assert tok.decode_bytes(kind([104, np.int64(105)])) == b"hi"
        with pytest.raises(UnknownTokenError) as caught:
            tok.decode(kind([97, 299]))
        assert caught.value.args == (299,)
    ids: list[Any] = [97] * 5000
    ids[0] = Index(lambda _: ids.clear() or 104)
    assert tok.decode(ids) == "h"
    spans: list[Any] = [97] * 5000
    spans[0] = Index(lambda _: spans.clear() or 104)
    assert tok._char_spans(spans, b"h" * 5000) == [(0, 1)]


def test_ids_that_another_thread_changes_meanwhile(tok: Tokenizer) -> None:
    """Each place of the result is what the array held there at some time."""
    ids = np.full(20_000, 97, np.uint32)
    pieces = {97: "a", 302: TOKENS[302].decode(), 304: "中", 306: "ab"}
    done = threading.Event()

    def write() -> None:
        turn = 0
        while not done.is_set():
            ids[turn % 7 :: 7] = list(pieces)[turn % 4]
            turn += 1
            if turn % 64 == 0:
                ids[turn % 20_000] = 299
                ids[turn % 20_000] = 97

    writer = threading.Thread(target=write)
    writer.start()
    decoded = 0
    try:
        for _ in range(100):
            for decode in (tok.decode, lambda ids: tok.decode_bytes(ids).decode()):
                try:
                    rest = decode(ids)
                except UnknownTokenError:
                    continue
                assert rest.isprintable()  # as a str that holds what its kind says does
                decoded += 1
                for piece in sorted(pieces.values(), key=len, reverse=True):
                    rest = rest.replace(piece, "")
                assert rest == ""
    finally:
        done.set()
        writer.join()
    assert decoded > 30


def test_iterables_give_whole_characters_at_once(tok: Tokenizer) -> None:
    ids = [*"a中🙂".encode(), 305, 97]
    endless = tok.decode_iterable(chain(ids, repeat(97)))
    assert [next(endless) for _ in range(8)] == ["a", "中", "🙂", "é🙂", "a", "a", "a", "a"]
    pieces = tok.decode_iterable([97, 0xE4, 0xB8])
    assert next(pieces) == "a"
    with pytest.raises(UnicodeDecodeError):
        next(pieces)
    lenient = Tokenizer(BYTES, [], errors="replace")
    assert "".join(lenient.decode_iterable([97, 0xE4, 0xB8])) == lenient.decode([97, 0xE4, 0xB8]) == "a\ufffd"


def test_a_tokenizer_that_is_not_set_up() -> None:
    """What __new__ alone gives raises; it does not crash."""
    bare = Tokenizer.__new__(Tokenizer)
    calls = [lambda: bare.decode([97]), lambda: bare.decode_bytes([97]), lambda: bare.encode("a")]
    calls += [lambda: bare.encode_batch(["a"]), lambda: bare.count("a"), lambda: bare.encode_to_numpy("a")]
    for call in [*calls, lambda: repr(bare), lambda: pickle.dumps(bare)]:
        with pytest.raises(TypeError, match="has not been set up"):
            call()
    with pytest.raises(TypeError, match="immutable"):
        Tokenizer(BYTES, []).__init__(BYTES, [])  # type: ignore[misc]
