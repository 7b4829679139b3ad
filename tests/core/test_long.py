"""One long text over several threads: the ids and the errors of one thread."""
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import slow_but

from bpetite import Tokenizer, patterns, reference

CORPUS = "the cat sat on the mat; don't 2024, naïve 中文字 🙂 \n\n  x" * 3
TOKENS, MERGES = reference.train([CORPUS], 320, pattern=patterns.GPT2)
BYTES = Tokenizer({byte: bytes([byte]) for byte in range(256)}, [])

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
    # Sections that begin in a number cut it elsewhere, up to 7, 67 and 267 pre-tokens: 127 is how far they look.
    *[("1" * digits + " ab ") * (1_000_000 // digits) for digits in (20, 200, 800)],
    "\r\n\t " * 300_000,
]


@pytest.mark.parametrize("text", slow_but(LONG, *LONG[::3]), ids=lambda text: repr(text[:12]))
@pytest.mark.parametrize("pattern", slow_but([patterns.GPT2, patterns.CL100K, patterns.O200K], patterns.CL100K))
def test_any_number_of_threads(text: str, pattern: str) -> None:
    tok = Tokenizer(TOKENS, None, ["<|endoftext|>", "<|endoftext|>x"], pattern=pattern)
    expected = tok.encode_to_numpy(text)
    for num_threads in (2, 3, 7):
        assert (tok.encode_to_numpy(text, num_threads=num_threads) == expected).all()
    assert tok.encode_ordinary(text, num_threads=3) == tok.encode_ordinary(text)
    data = text.encode()
    assert (tok.encode_to_numpy(data, num_threads=4) == expected).all()
    assert tok.count(data, num_threads=2) == len(expected)


@pytest.mark.parametrize("millions", slow_but([0.6, 1.04, 1.06, 2.08, 2.12, 2.8, 5.3], 1.04, 2.12))
def test_results_below_and_above_a_large_one(millions: float) -> None:
    """Memory for more than 1,048,576 ids is written past the caches, from any offset on.

    That many are expected of as many characters, or of twice as many bytes where the text is in UTF-8 already. Sections
    of several threads end in one page, and begin and end in two.
    """
    data = b"".join(b"%x " % (number * number) for number in range(600_000))[: int(millions * 1_000_000)]
    assert len(data) == int(millions * 1_000_000)
    for text in (data, data.decode(), data.decode()[1:] + "é"):
        expected = np.frombuffer(text if isinstance(text, bytes) else text.encode(), np.uint8)
        for num_threads in (2, 3, 8):
            assert np.array_equal(BYTES.encode_to_numpy(text, num_threads=num_threads), expected)
    for size in (1001, 30_011, 2_000_000):
        documents = [data[at : at + size] for at in range(0, len(data), size)]
        ids, offsets = BYTES.encode_batch_to_numpy(documents, num_threads=2)
        assert np.array_equal(ids, np.frombuffer(data, np.uint8))
        assert offsets.tolist() == [*range(0, len(data), size), len(data)]


@settings(max_examples=15, deadline=None)
@given(st.text("ab \n'l1é中<|endoftext|>", min_size=1, max_size=60), st.integers(2, 5))
def test_random_texts(text: str, num_threads: int) -> None:
    tok = Tokenizer(TOKENS, MERGES, ["<|endoftext|>", "<|endoftext|>x"])
    text *= 700_000 // len(text)
    assert (tok.encode_to_numpy(text, num_threads=num_threads) == tok.encode_to_numpy(text)).all()


@pytest.mark.parametrize("unit", ["ab ", "é的 "])
@pytest.mark.parametrize("fault", ["\0", "\ud800"])
def test_errors_are_those_of_one_thread(unit: str, fault: str) -> None:
    tok = Tokenizer({byte: bytes([byte]) for byte in range(1, 256)}, [])
    text = unit * 300_000
    for position in (0, 299_999, 450_001, 899_999):
        wrong = text[:position] + fault + text[position + 1 :]
        offset = len(wrong[:position].encode())
        said = f"byte 0x00, at offset {offset} " if fault == "\0" else f"position {position}: surrogates"
        for num_threads in (1, 2, 4):
            with pytest.raises((ValueError, UnicodeEncodeError), match=said):
                tok.encode(wrong, num_threads=num_threads)


@pytest.mark.parametrize("unit", slow_but(["a", "é", "的"], "é"))
def test_a_pre_token_of_two_million_letters(unit: str) -> None:
    tok = Tokenizer(TOKENS, None)
    text = "x y " * 50_000 + unit * 2_000_000 + " z" * 300_000
    assert (tok.encode_to_numpy(text, num_threads=6) == tok.encode_to_numpy(text)).all()
