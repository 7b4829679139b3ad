"""Text in a normal form is encoded where it is; other text as `unicodedata` rewrites it."""
import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpetite import Tokenizer
from bpetite.steps.normalizers import FORMS, begins_anew

BYTES = {byte: bytes([byte]) for byte in range(256)}
TOKENIZERS = {form: Tokenizer(BYTES, [], ["<é>", "<s>"], normalization=form) for form in FORMS}

characters = st.one_of(
    st.sampled_from("aeo <\n\u0301\u0323\u0345\u0338é\u00ff\u0100ﬁ\u212b\u0f73"),
    st.sampled_from("\u09c7\u09be\u0b47\u0b57각가\u1100\u1161\u11a8"),  # they compose, and are no marks
    st.characters(categories=["Mn", "Mc", "Lo"]),
    st.characters(max_codepoint=0x2FF),
    st.characters(),
)
texts = st.lists(characters, max_size=40).map("".join).map(lambda text: text.encode("utf-8", "ignore").decode())


@given(texts, st.integers(0, 200))
def test_every_form_is_that_of_unicodedata(text: str, before: int) -> None:
    """Behind ASCII of any length, which is passed over in steps, and as units of all widths."""
    for form, tok in TOKENIZERS.items():
        for given_text in (text, "x" * before + text, text + "x" * before + text, text + "\U00010000"):
            expected = unicodedata.normalize(form, given_text).encode()
            assert bytes(tok.encode_ordinary(given_text)) == expected
            assert bytes(tok.encode_ordinary(given_text.encode())) == expected
            assert bytes(tok.encode_batch([given_text, ""])[0]) == expected or "<" in given_text
            assert tok.count(given_text, allowed_special=()) == len(expected)


def test_every_code_point_alone_and_after_a_letter() -> None:
    known = [chr(code) for code in range(0x30000) if not 0xD800 <= code < 0xE000]
    others = [chr(code) for code in range(0x30000, 0x110000)]
    for form, tok in TOKENIZERS.items():
        for text in ("\n".join(known), "\ne".join(known[::7]), "".join(others[::97])):
            assert bytes(tok.encode_ordinary(text)) == unicodedata.normalize(form, text).encode()
    assert all(begins_anew(char, "NFKD") and unicodedata.is_normalized("NFKD", char) for char in others)


def test_special_tokens_are_found_before_the_form() -> None:
    tok = TOKENIZERS["NFC"]
    special = tok.special_tokens
    assert tok.encode("<s>\u0338") == [special["<s>"], *"\u0338".encode()]
    assert tok.encode("<é><e\u0301>")[0] == special["<é>"]
    assert bytes(tok.encode("<é><e\u0301>")[1:]) == "<é>".encode()
    assert tok.encode("x<é>") == [*b"x", special["<é>"]]


@pytest.mark.parametrize("tail", ["", "e\u0301"])
def test_a_long_text_on_threads(tail: str) -> None:
    tok = Tokenizer.train("the cat naïve 中文字", 270, normalization="NFC")
    text = "the cat naïve 中文字, " * 60_000 + tail
    assert np.array_equal(tok.encode_to_numpy(text, num_threads=3), tok.encode_to_numpy(text))
    assert np.array_equal(tok.encode_to_numpy(text.encode(), num_threads=3), tok.encode_to_numpy(text))
    with pytest.raises(UnicodeEncodeError, match=f"position {len(text)}: surrogates"):
        tok.encode(text + "\ud800", num_threads=3)
