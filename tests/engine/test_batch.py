"""Batches and long texts: the ids of one call after the other, for any number of threads."""
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bpetite import MissingExtraError, Tokenizer, patterns, reference

CORPUS = "the cat sat on the mat; don't 2024, naïve 中文字 🙂 \n\n  x" * 3
TOKENS, MERGES = reference.train([CORPUS], 320, pattern=patterns.GPT2)
THREADS = [1, 2, 3, 8, None]


@pytest.fixture(scope="module")
def tok() -> Tokenizer:
    return Tokenizer(TOKENS, MERGES, ["<|endoftext|>", "<|endoftext|>x"])


@pytest.fixture(scope="module")
def texts() -> list[str | bytes]:
    """About 1.5 MB in texts of very different length, so that threads have something to share."""
    some: list[str | bytes] = ["", "a", "<|endoftext|>", "中" * 100_000, b"", CORPUS * 500]
    for number in range(3000):
        text = (CORPUS * 9)[number % 50 : number % 50 + number % 300]
        some.append(text if number % 3 else text.encode())
    return [*some, "the cat " * 40_000, ""]


@pytest.mark.parametrize("num_threads", THREADS)
def test_every_form_is_one_text_after_the_other(tok: Tokenizer, texts: list, num_threads: int | None) -> None:
    expected = [tok.encode(text) for text in texts]
    assert tok.encode_batch(texts, num_threads=num_threads) == expected
    ids, offsets = tok.encode_batch_to_numpy(iter(texts), num_threads=num_threads)
    assert (ids.dtype, offsets.dtype) == (np.uint32, np.int64)
    assert offsets.tolist() == [0, *np.cumsum([len(one) for one in expected]).tolist()]
    assert ids.tolist() == [token for one in expected for token in one]


@pytest.mark.parametrize("large", [False, True])
def test_arrow(tok: Tokenizer, texts: list, large: bool) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    made = tok.encode_to_arrow(texts[:50], large=large)
    assert made.type == (pyarrow.large_list if large else pyarrow.list_)(pyarrow.uint32())
    assert made.to_pylist() == [tok.encode(text) for text in texts[:50]]
    made.validate(full=True)
    assert tok.encode_to_arrow([]).to_pylist() == []


def test_arrow_without_pyarrow(tok: Tokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"encode_to_arrow needs pyarrow: pip install 'bpetite\[arrow\]'"):
        tok.encode_to_arrow(["a"])


def test_nothing(tok: Tokenizer) -> None:
    assert tok.encode_batch([]) == []
    ids, offsets = tok.encode_batch_to_numpy([])
    assert (ids.tolist(), offsets.tolist()) == ([], [0])
    ids, offsets = tok.encode_batch_to_numpy(["", b""], num_threads=4)
    assert (ids.tolist(), offsets.tolist()) == ([], [0, 0, 0])


@pytest.mark.parametrize("num_threads", THREADS)
def test_the_first_text_with_an_error_counts(num_threads: int | None) -> None:
    tok = Tokenizer({byte: bytes([byte]) for byte in range(1, 256)}, [])
    fine = "a" * 5000
    texts = [fine] * 100 + ["x\0"] + [fine] * 50 + ["xy\0"] + [fine] * 50
    for method in (tok.encode_batch, tok.encode_batch_to_numpy):
        with pytest.raises(ValueError, match=r"^text 100 of the batch: byte 0x00, at offset 1 "):
            method(texts, num_threads=num_threads)
        with pytest.raises(TypeError, match=r"^text 1 of the batch: text is str or bytes, not NoneType"):
            method([fine, None], num_threads=num_threads)
        with pytest.raises(UnicodeEncodeError, match=r"surrogates not allowed \(text 100 of the batch\)") as raised:
            method([fine] * 100 + ["a\ud800"], num_threads=num_threads)
        assert (raised.value.object, raised.value.start, raised.value.end) == ("a\ud800", 1, 2)
        with pytest.raises(UnicodeDecodeError, match=r"in position 1: invalid start byte \(text 1 of the batch\)"):
            method([fine, b"a\xff"], num_threads=num_threads)
        with pytest.raises(ValueError, match=r"^byte 0x00, at offset 1 "):  # the only one needs no number
            method(["x\0"], num_threads=num_threads)
    assert tok.encode_batch(["ab"], num_threads=num_threads) == [[97, 98]]


def test_a_disallowed_special_token_names_its_text() -> None:
    tok = Tokenizer({byte: bytes([byte]) for byte in range(256)} | {256: b"<s>"}, [], ["<s>"])
    for method in (tok.encode_batch, tok.encode_batch_to_numpy):
        with pytest.raises(ValueError, match=r"^text 2 of the batch: the text holds the disallowed .* '<s>'"):
            method(["a", "b", "c<s>", "<s>"], allowed_special=(), disallowed_special="all")
        with pytest.raises(ValueError, match=r"^allowed_special: '<t>' is not a special token"):
            method(["a", "b"], allowed_special=["<t>"])


@pytest.mark.parametrize("wrong", ["abc", b"abc", 5, None])
def test_what_is_no_batch(tok: Tokenizer, wrong) -> None:
    for method in (tok.encode_batch, tok.encode_batch_to_numpy):
        with pytest.raises(TypeError):
            method(wrong)


@pytest.mark.parametrize(("wrong", "error"), [(0, ValueError), (-1, ValueError), ("2", TypeError), (True, TypeError)])
def test_wrong_numbers_of_threads(tok: Tokenizer, wrong, error: type[Exception]) -> None:
    if wrong is True:  # equal to 1, and harmless for one text
        calls = [lambda: tok.encode_batch(["a"], num_threads=wrong)]
    else:
        calls = [lambda: tok.encode_batch(["a"], num_threads=wrong), lambda: tok.encode("a", num_threads=wrong)]
    for call in calls:
        with pytest.raises(error, match="num_threads"):
            call()


LONG = [
    CORPUS * 20_000,
    "the cat " * 200_000,
    "a" * 1_500_000,
    " " * 1_500_000,
    "x" + "\n" * 1_200_000 + "x",
    "的" * 600_000,
    "的 x" * 300_000,
    (" " * 700_000 + "x") * 2,
    "<|endoftext|>" * 100_000,
    ("ab " * 90_000 + "<|endoftext|>x") * 6,
    ("'ll" * 100_000 + " ") * 6,
    "1234567890" * 150_000,
    "\r\n\t " * 300_000,
]


@pytest.mark.parametrize("text", LONG, ids=lambda text: repr(text[:12]))
@pytest.mark.parametrize("pattern", [patterns.GPT2, patterns.CL100K, patterns.O200K])
def test_long_texts_over_threads(text: str, pattern: str) -> None:
    tok = Tokenizer(TOKENS, None, ["<|endoftext|>", "<|endoftext|>x"], pattern=pattern)
    expected = tok.encode_to_numpy(text)
    for num_threads in (2, 3, 7):
        assert (tok.encode_to_numpy(text, num_threads=num_threads) == expected).all()
    assert tok.encode_ordinary(text, num_threads=3) == tok.encode_ordinary(text)
    data = text.encode()
    assert (tok.encode_to_numpy(data, num_threads=4) == expected).all()
    assert tok.count(data, num_threads=2) == len(expected)


@settings(max_examples=15, deadline=None)
@given(st.text("ab \n'l1é中<|endoftext|>", min_size=1, max_size=60), st.integers(2, 5))
def test_long_random_texts_over_threads(tok: Tokenizer, text: str, num_threads: int) -> None:
    text *= 700_000 // len(text)
    assert (tok.encode_to_numpy(text, num_threads=num_threads) == tok.encode_to_numpy(text)).all()


def test_a_byte_without_token_in_a_long_text() -> None:
    tok = Tokenizer({byte: bytes([byte]) for byte in range(1, 256)}, [])
    text = "ab " * 300_000
    for place in (0, 299_999, 450_001, 899_999):
        wrong = text[:place] + "\0" + text[place + 1 :]
        for num_threads in (1, 2, 4):
            with pytest.raises(ValueError, match=f"byte 0x00, at offset {place} "):
                tok.encode(wrong, num_threads=num_threads)


def test_a_byte_without_token_in_a_long_text_that_is_not_ascii() -> None:
    tok = Tokenizer({byte: bytes([byte]) for byte in range(1, 256)}, [])
    text = "é的 " * 300_000
    for place in (0, 299_999, 450_001, 899_999):
        wrong = text[:place] + "\0" + text[place + 1 :]
        offset = len(wrong[:place].encode())
        for num_threads in (1, 2, 4):
            with pytest.raises(ValueError, match=f"byte 0x00, at offset {offset} "):
                tok.encode(wrong, num_threads=num_threads)


def test_a_lone_surrogate_in_a_long_text() -> None:
    tok = Tokenizer({byte: bytes([byte]) for byte in range(256)}, [])
    text = "é的 " * 300_000
    for place in (0, 299_999, 450_001, 899_999):
        wrong = text[:place] + "\ud800" + text[place + 1 :]
        for num_threads in (1, 2, 4):
            with pytest.raises(UnicodeEncodeError, match=f"position {place}:"):
                tok.encode(wrong, num_threads=num_threads)


@pytest.mark.parametrize("unit", ["a", "é", "的"])
def test_a_pre_token_longer_than_a_part_reads_on(unit: str) -> None:
    tok = Tokenizer(TOKENS, None)
    text = "x y " * 50_000 + unit * 4_000_000 + " z" * 300_000
    assert (tok.encode_to_numpy(text, num_threads=6) == tok.encode_to_numpy(text)).all()


def test_more_ids_than_guessed() -> None:
    """Every byte or character an id or more: the parts do not fit the memory taken for all of them."""
    tok = Tokenizer({byte: bytes([byte]) for byte in range(256)}, [])
    for text in ("ab " * 400_000, "é的 " * 400_000):
        expected = list(text.encode())
        assert tok.encode(text, num_threads=3) == expected
        ids, offsets = tok.encode_batch_to_numpy([text[:500], "", text, text], num_threads=3)
        assert ids.tolist() == list(text[:500].encode()) + expected * 2
        assert offsets.tolist()[-1] == len(ids)
