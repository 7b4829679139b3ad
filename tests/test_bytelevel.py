"""GPT-2's printable form of bytes."""
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpetite import bytelevel


def test_the_table_is_a_bijection_of_printable_characters() -> None:
    assert len(bytelevel.ALPHABET) == len(set(bytelevel.ALPHABET)) == 256
    assert all(character.isprintable() and not character.isspace() for character in bytelevel.ALPHABET)
    assert list(map(bytelevel.decode_token_bytes, bytelevel.ALPHABET)) == [bytes([byte]) for byte in range(256)]


@given(st.binary())
def test_bytes_come_back(token: bytes) -> None:
    assert bytelevel.decode_token_bytes(bytelevel.encode_token(token)) == token


@given(st.text())
def test_text_is_its_utf8(token: str) -> None:
    assert bytelevel.encode_token(token) == bytelevel.encode_token(token.encode())
    assert bytelevel.decode_token(bytelevel.encode_token(token)) == token


def test_half_a_character_is_bytes_and_no_text() -> None:
    assert bytelevel.encode_token(" нужно") == "ĠÐ½ÑĥÐ¶Ð½Ð¾"  # the published example
    assert bytelevel.decode_token_bytes("ĠÐ") == b" \xd0"
    with pytest.raises(UnicodeDecodeError):
        bytelevel.decode_token("ĠÐ")
    for wrong, error in ((1, TypeError), ("\ud800", UnicodeEncodeError)):
        with pytest.raises(error):
            bytelevel.encode_token(wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="bytes"):
        bytelevel.decode_token_bytes(b"a")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("printable", "place"),
    [(" ", "' ' (U+0020) at 0"), ("a\n", r"'\n' (U+000A) at 1"), ("Ġ\xad", r"(U+00AD) at 1"),
     ("aĠ界", "(U+754C) at 2")],
)
def test_a_character_that_stands_for_nothing_is_named(printable: str, place: str) -> None:
    for decode in (bytelevel.decode_token, bytelevel.decode_token_bytes):
        with pytest.raises(ValueError) as caught:
            decode(printable)
        assert place in str(caught.value)
