"""Text of token ids that arrive one at a time: that of all of them, in whole characters, and nothing is kept."""
import codecs
import copy
import sys
import tracemalloc
from array import array
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpetite import Tokenizer, Vocab
from bpetite.core._decode import StreamDecoder
from bpetite.errors import UnknownTokenError

BYTES = {byte: bytes([byte]) for byte in range(256)}
LONG = "x" * 40_000
PIECES = [b"sixteen bytes...", b"seventeen bytes..", LONG.encode(), "中".encode(), b"\xb8\xad\xe4",
          b"\x9f\x98\x80 and on and on", *(("🙂中é" * 3).encode()[:size] for size in range(16, 23))]  # fmt: skip
TOKENS = {**BYTES, **{300 + number: piece for number, piece in enumerate(PIECES)}}
SPECIAL = {"<s>": 400, "é": 401}
ALL = {**TOKENS, 400: b"<s>", 401: "é".encode()}

Handler = Literal["strict", "replace", "ignore", "backslashreplace", "surrogateescape"]
HANDLERS: list[Handler] = ["strict", "replace", "ignore", "backslashreplace", "surrogateescape"]


@pytest.fixture(scope="module", params=["dense", "sparse"])
def tok(request: pytest.FixtureRequest) -> Tokenizer:
    return Tokenizer({**TOKENS, **({2**32 - 1: b"last"} if request.param == "sparse" else {})}, [], SPECIAL)


parts = st.sampled_from([*"né中🙂".encode(), 0xE4, 0xF0, 0x9F, 0x80, 0xC3])
some_ids = st.lists(st.one_of(parts, st.sampled_from(sorted(ALL))), max_size=24)


def plain(ids: list[int], errors: str, skip: bool) -> list[str]:
    """The text of each id and then of the end, by Python's own decoder."""
    stream = codecs.getincrementaldecoder("utf-8")(errors)
    texts = [stream.decode(b"" if skip and token_id in SPECIAL.values() else ALL[token_id]) for token_id in ids]
    return [*texts, stream.decode(b"", True)]


@given(some_ids, st.sampled_from(HANDLERS), st.booleans(), st.data())
def test_against_pythons_decoder(
    tok: Tokenizer, ids: list[int], errors: Handler, skip: bool, data: st.DataObject
) -> None:
    try:
        texts = plain(ids, errors, skip)
    except UnicodeDecodeError:
        stream = tok.decode_stream(errors=errors, skip_special_tokens=skip)
        with pytest.raises(UnicodeDecodeError):
            _ = [stream.feed(token_id) for token_id in ids], stream.flush()
        return
    stream = tok.decode_stream(errors=errors, skip_special_tokens=skip)
    assert [stream.feed(token_id) for token_id in ids] == texts[:-1]
    assert (stream.flush(), stream.flush()) == (texts[-1], "")
    if not skip:
        assert "".join(texts) == tok.decode(ids, errors=errors)
    # several at a time, in any container, and with the first ones as the context
    cuts = [0, *sorted(data.draw(st.lists(st.integers(0, len(ids)), max_size=3))), len(ids)]
    stream = tok.decode_stream(errors=errors, skip_special_tokens=skip)
    container = data.draw(st.sampled_from([list, tuple, iter, np.array, lambda ids: array("I", ids)]))
    parts = [stream.feed(container(ids[start:end] or [])) for start, end in pairwise(cuts) if end > start]
    assert "".join(parts) + stream.flush() == "".join(texts)
    stream = tok.decode_stream(errors=errors, skip_special_tokens=skip, context=ids[: cuts[1]])
    assert stream.feed(ids[cuts[1] :]) + stream.flush() == "".join(texts[cuts[1] :])


@pytest.mark.parametrize("errors", HANDLERS)
@pytest.mark.parametrize("ids", [302, [302], [65] * 21, [65] * 5000, [300, 301, 302] * 3])
def test_nothing_is_pending_after_ascii(tok: Tokenizer, ids: int | list[int], errors: Handler) -> None:
    """Up to 3.11.2, CPython does not say how much it has read where all is ASCII."""
    stream = tok.decode_stream(errors=errors)
    expected = tok.decode(ids if isinstance(ids, list) else [ids])
    assert (stream.feed(ids), stream.flush()) == (expected, "")
    assert (stream.feed(0xC3), stream.feed(0xA9), stream.feed(ids), stream.flush()) == ("", "é", expected, "")


def test_one_id_in_any_form(tok: Tokenizer) -> None:
    stream = tok.decode_stream()
    single = [65, np.int64(65), np.uint32(65), np.array(65)]
    for one in (*single, [65], (65,), np.array([65]), array("I", [65]), iter([65])):
        assert stream.feed(one) == "A"
    assert stream.feed([]) == stream.feed(()) == stream.feed(iter(())) == ""
    assert stream.feed(302) == LONG


@pytest.mark.parametrize("wrong", ["a", b"a", 1.5, None, [None], [1.5], bytearray(b"a"), np.array([1.5])])
@pytest.mark.parametrize("skip", [False, True])
def test_what_is_no_id(tok: Tokenizer, wrong: Any, skip: bool) -> None:
    stream = tok.decode_stream(skip_special_tokens=skip)
    stream.feed(0xC3)
    with pytest.raises(TypeError):
        stream.feed(wrong)
    assert stream.feed(0xA9) == "é"


@pytest.mark.parametrize("skip", [False, True])
def test_after_an_error_nothing_has_changed(tok: Tokenizer, skip: bool) -> None:
    stream = tok.decode_stream(skip_special_tokens=skip)
    stream.feed(0xE4)
    for unknown in (299, -1, 2**40, 2**70):
        with pytest.raises(UnknownTokenError, match=f"no token has the id {unknown}:"):
            stream.feed(unknown)
    with pytest.raises(UnknownTokenError, match=r"299 \(ids\[1\]\)"):
        stream.feed([0xB8, 299])
    for wrong in (65, [0xB8, 65]):
        with pytest.raises(UnicodeDecodeError):
            stream.feed(wrong)
    with pytest.raises(UnicodeDecodeError):
        stream.flush()
    assert stream.feed([0xB8, 0xAD]) == "中"


def test_arguments(tok: Tokenizer) -> None:
    with pytest.raises(LookupError, match="'wrong' is no codec error handler"):
        tok.decode_stream(errors="wrong")  # type: ignore[arg-type]
    with pytest.raises(UnknownTokenError):
        tok.decode_stream(context=[299])
    shown = [0xFF, 0xFF, 65, 0xE4, 0xB8]  # is not judged again
    assert tok.decode_stream(context=shown).feed(0xAD) == "中"
    lenient = Tokenizer(TOKENS, [], errors="replace").decode_stream()
    assert lenient.feed([0xFF, 65]) == "\ufffdA"
    with pytest.raises(TypeError):
        StreamDecoder()  # type: ignore[call-arg]


def test_copies_go_on_alone(tok: Tokenizer) -> None:
    stream = tok.decode_stream(errors="replace", skip_special_tokens=True)
    stream.feed([65, 0xC3])
    other, third = stream.copy(), copy.copy(stream)
    # a special token may stand inside a character
    assert [stream.feed(0xA9), other.feed(400) + other.feed(0xA8), third.flush()] == ["é", "è", "\ufffd"]
    plain = Tokenizer.from_vocab(Vocab(ALL, (), SPECIAL, token_flags={"é": ("plain",)}))
    assert plain.decode_stream(skip_special_tokens=True).feed([65, 400, 401]) == "Aé"
    assert plain.decode_stream().feed([65, 400, 401]) == "A<s>é"


def test_a_stream_holds_nothing_of_the_past(tok: Tokenizer) -> None:
    """Whatever it reads: the halves of characters, one after another, and what is never complete."""
    stream = tok.decode_stream(errors="ignore")
    stream.feed([0xF0] * 1000)
    size = sys.getsizeof(stream)
    grown = []
    tracemalloc.start()
    for _ in range(5):
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(20_000):
            assert stream.feed(0xF0) == ""
        grown.append(tracemalloc.get_traced_memory()[0] - before)
    tracemalloc.stop()
    assert min(grown) < 1000  # other threads of the process allocate now and then, a stream that holds tokens always
    assert sys.getsizeof(stream) == size
    assert stream.feed([0x9F, 0x99, 0x82]) == "🙂"
