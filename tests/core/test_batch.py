"""Batches: the ids of one call after the other, for any number of threads."""
import numpy as np
import pytest
from tiers import slow_but

from bpetite import Tokenizer, patterns, reference

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
    assert tok.encode_batch([], num_threads=num_threads) == []
    assert [one.tolist() for one in tok.encode_batch_to_numpy([], num_threads=num_threads)] == [[], [0]]


@pytest.mark.parametrize("num_threads", THREADS)
def test_the_first_text_with_an_error_counts(num_threads: int | None) -> None:
    tok = Tokenizer({byte: bytes([byte]) for byte in range(1, 256)}, [])
    fine = "a" * 5000
    texts = [fine] * 100 + ["x\0"] + [fine] * 50 + ["xy\0"] + [fine] * 50
    long = [fine] * 30 + ["x" * 7000 + "\0"] + [fine] * 50 + ["y" * 200_000 + "\0", "z" * 300_000 + "\0"]
    for method in (tok.encode_batch, tok.encode_batch_to_numpy):
        with pytest.raises(ValueError, match=r"^text 100 of the batch: byte 0x00, at offset 1 "):
            method(texts, num_threads=num_threads)
        with pytest.raises(ValueError, match=r"^text 30 of the batch: byte 0x00, at offset 7000 "):
            method(long, num_threads=num_threads)         # long texts are encoded first
        with pytest.raises(TypeError, match=r"^text 1 of the batch: text is str or UTF-8 bytes, not None"):
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


@pytest.mark.parametrize("cache_bytes", [0, 1 << 16, 64 << 20])
@pytest.mark.parametrize("words", slow_but([100, 30_000], 100))
def test_threads_that_begin_with_what_another_knows(cache_bytes: int, words: int) -> None:
    """Of few words each thread learns its own; many are copied from the worker of an earlier call."""
    first = Tokenizer(TOKENS, MERGES)
    tok = first.with_cache(cache_bytes)
    known = " ".join(f"{'wörd' * (number % 7)}{number}" for number in range(words))
    texts = [known, "new" + known.replace("1", "x")] * (1 + 3_000_000 // len(known) // 2)
    expected = [first.encode(text) for text in texts[:2]] * (len(texts) // 2)
    for num_threads in (1, 2, 8, 3):
        assert tok.encode_batch(texts, num_threads=num_threads) == expected
    tok = first.with_cache(cache_bytes)
    whole = "".join(texts)
    for num_threads in (1, 2, 8):
        assert tok.encode(whole, num_threads=num_threads) == first.encode(whole)
