"""heal: the ids that stand whatever follows."""
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from limit_cases import END, TOKENIZERS
from splits import texts

from bpetite import serving

marks = st.sampled_from(["e\u0301", "\u0301", "\u0323", "\uac00", "\u11a8", "q\u0323\u0301", "\ufb01"])
pieces = st.one_of(st.sampled_from([END, END[:5], END[5:], "the ", "cat", " ", "  ", "'", "的"]), marks, texts(5))
some_texts = st.lists(pieces, max_size=6).map("".join)


@pytest.mark.parametrize("name", TOKENIZERS)
@given(text=some_texts, more=some_texts)
@settings(max_examples=20)
def test_the_ids_stand(name: str, text: str, more: str) -> None:
    tok = TOKENIZERS[name]
    ids, rest = serving.heal(tok, text)
    assert serving.heal(tok, text.encode()) == (ids, rest)
    assert tok.encode(text + more) == ids + tok.encode(rest + more.encode())


@pytest.mark.parametrize("name", ["gpt2", "cl100k", "o200k", "NFC"])
def test_only_the_end_is_open(name: str) -> None:
    tok, text = TOKENIZERS[name], "the cat's naïve don't " * 50 + "a dog"
    assert serving.heal(tok, text) == (tok.encode(text.removesuffix(" dog")), b" dog")
    if name == "NFC":
        assert serving.heal(tok, "cafe\u0301 a dog") == (tok.encode("café a"), b" dog")
    with pytest.raises(TypeError, match="text is str or UTF-8 bytes"):
        serving.heal(tok, 5)  # type: ignore[arg-type]
    with pytest.raises(UnicodeDecodeError):
        serving.heal(tok, "é".encode()[:1])


def test_special_tokens() -> None:
    tok = TOKENIZERS["gpt2"]
    assert serving.heal(tok, "the <|endo") == (tok.encode("the"), b" <|endo")
    assert serving.heal(tok, "dog <|endox", allowed_special=())[1] == b"endox"
    assert serving.heal(TOKENIZERS["regex"], f"the {END}cat") == (TOKENIZERS["regex"].encode(f"the {END}"), b"cat")
