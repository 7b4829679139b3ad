"""Text in a normal form is encoded where it is; other text is rewritten around the characters that fail."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpetite import Tokenizer, reference
from bpetite.steps.normalizers import FORMS

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
def test_every_form_is_that_of_the_reference(text: str, before: int) -> None:
    """Behind ASCII of any length, which is passed over in steps, and as units of all widths."""
    for form, tok in TOKENIZERS.items():
        for given_text in (text, "x" * before + text, text + "x" * before + text, text + "\U00010000"):
            expected = reference.normalize(given_text, form).encode()
            assert bytes(tok.encode_ordinary(given_text)) == expected
            assert bytes(tok.encode_ordinary(given_text.encode())) == expected
            assert bytes(tok.encode_batch([given_text, ""])[0]) == expected or "<" in given_text
            assert tok.count(given_text, allowed_special=()) == len(expected)


def test_every_code_point_alone_and_after_a_letter() -> None:
    known = [chr(code) for code in range(0x30000) if not 0xD800 <= code < 0xE000]
    others = [chr(code) for code in range(0x30000, 0x110000, 97)]
    for form, tok in TOKENIZERS.items():
        for text in ("\n".join(known), "\ne".join(known[::7]), "".join(others)):
            assert bytes(tok.encode_ordinary(text)) == reference.normalize(text, form).encode()


def test_special_tokens_are_found_before_the_form() -> None:
    tok = TOKENIZERS["NFC"]
    special = tok.special_tokens
    assert tok.encode("<s>\u0338") == [special["<s>"], *"\u0338".encode()]
    assert tok.encode("<é><e\u0301>")[0] == special["<é>"]
    assert bytes(tok.encode("<é><e\u0301>")[1:]) == "<é>".encode()
    assert tok.encode("x<é>") == [*b"x", special["<é>"]]


#: Characters before a character that fails: around the ends of the blocks that are read together.
PLACES = [*range(130), *range((1 << 15) - 3, (1 << 15) + 3), *range((1 << 16) - 3, (1 << 16) + 3)]


@pytest.mark.parametrize("letter", ["x", "é", "中", "\U00010400"])
def test_what_fails_anywhere_and_across_the_ends_of_blocks(letter: str) -> None:
    tok = Tokenizer.train("x e\u0301 é 中文" * 9, 280, pattern=r"\p{L}+|\s+", normalization="NFC")
    plain = Tokenizer.train("x e\u0301 é 中文" * 9, 280, pattern=r"\p{L}+|\s+", normalization="NFC").with_cache(0)
    for place in PLACES:
        text = letter * place + "e\u0301\u0323 xe\u0301" + letter * 70 + " x"
        normal = reference.normalize(text, "NFC")
        assert tok.encode(text) == tok.encode(text.encode()) == plain.encode(normal), place
        assert tok.decode(tok.encode(text)) == normal


@pytest.mark.parametrize(
    "text", ["x" * 200_000 + "e\u0301" + "y" * 200_000, "\u0301\u0323" * 100_000, "e\u0301" * 200_000]
)
def test_an_open_pretoken_and_a_run_of_marks_take_linear_time(text: str) -> None:
    tok = TOKENIZERS["NFC"]
    normal = reference.normalize(text, "NFC") if text[0] != "\u0301" else "\u0323" * 100_000 + "\u0301" * 100_000
    assert bytes(tok.encode_ordinary(text)) == normal.encode()
    assert bytes(tok.encode_iterable([text[:150_001], text[150_001:]])) == normal.encode()


def test_a_byte_without_a_token_is_named_with_its_offset() -> None:
    tok = Tokenizer({byte: bytes([byte]) for byte in range(128)}, [], ["<s>"], normalization="NFC")
    for call in (tok.encode, lambda text: tok.encode_batch([text])):
        with pytest.raises(ValueError, match="byte 0xc3, at offset 6 of the rewritten text in UTF-8, has no"):
            call("ab<s>ae\u0301")
    with pytest.raises(ValueError, match=r"makes of bytes . to 9 of the text has no token"):
        list(tok.encode_iterable(["ab<s>ae\u0301"]))


@pytest.mark.parametrize("tail", ["", "e\u0301"])
def test_a_long_text_on_threads(tail: str) -> None:
    tok = Tokenizer.train("the cat naïve 中文字", 270, normalization="NFC")
    text = "the cat naïve 中文字, " * 60_000 + tail
    assert np.array_equal(tok.encode_to_numpy(text, num_threads=3), tok.encode_to_numpy(text))
    assert np.array_equal(tok.encode_to_numpy(text.encode(), num_threads=3), tok.encode_to_numpy(text))
    with pytest.raises(UnicodeEncodeError, match=f"position {len(text)}: surrogates"):
        tok.encode(text + "\ud800", num_threads=3)
