"""Special tokens: leftmost, then longest; which are recognised, which refused; many of them."""
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bpetite import Tokenizer, reference
from bpetite.engine._special import Specials, choose

BYTES = {byte: bytes([byte]) for byte in range(256)}


def tokenizer(*literals: str) -> Tokenizer:
    return Tokenizer(BYTES, [], list(literals))


def cut(literals: list[str], text: str) -> list[tuple[str, bool]]:
    """reference.cut_specials by way of the compiled search."""
    data, pieces, at = text.encode(), [], 0
    for start, end, number in Specials({literal: i for i, literal in enumerate(literals)}).cut(data):
        pieces += [(data[at:start].decode(), False), (data[start:end].decode(), True)]
        assert pieces[-1][0] == literals[number]
        at = end
    return [piece for piece in [*pieces, (data[at:].decode(), False)] if piece[0]]


small = st.text("ab<é", min_size=1, max_size=4)


@settings(max_examples=400, deadline=None)
@given(st.lists(small, unique=True, max_size=12), st.text("ab<é", max_size=80))
def test_search_against_the_definition(literals: list[str], text: str) -> None:
    assert cut(literals, text) == reference.cut_specials(text, literals)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.text(min_size=1, max_size=3), unique=True, min_size=1, max_size=40), st.data())
def test_search_with_many_first_bytes(literals: list[str], data: st.DataObject) -> None:
    parts = data.draw(st.lists(st.one_of(st.sampled_from(literals), st.text(max_size=20)), max_size=12))
    text = "".join(parts)
    assert cut(literals, text) == reference.cut_specials(text, literals)


@pytest.mark.parametrize("length", [*range(1, 70)])
@pytest.mark.parametrize("literals", [["<s>"], ["<s>", "[x]", "{y}", "(z)", "#w"], ["<"], ["<", "<s>", "s>"]])
def test_at_every_place(literals: list[str], length: int) -> None:
    for literal in literals:
        for at in (0, length // 2, length):
            text = "." * at + literal + "." * (length - at)
            assert cut(literals, text) == reference.cut_specials(text, literals)


def test_overlaps() -> None:
    eot = "<|endoftext|>"
    tok = tokenizer(eot, eot * 2, "|>|")
    assert tok.encode(eot * 3) == [257, 256]
    assert tok.encode("<|endoftext|>|") == [256, ord("|")]
    assert tok.encode("x|>|>") == [ord("x"), 258, ord(">")]


@pytest.mark.parametrize("text", ["<|endoftext", "endoftext|>", "<|endo", "<", "<|endoftext|", "<<|endoftext"])
def test_parts_are_ordinary_text(text: str) -> None:
    tok = tokenizer("<|endoftext|>")
    assert tok.encode(text) == tok.encode_ordinary(text) == list(text.encode())


def test_which_are_recognised() -> None:
    tok = tokenizer("<s>", "</s>")
    text = "é<s>x</s>"
    assert tok.encode(text) == [*"é".encode(), 256, ord("x"), 257]
    assert tok.encode(text, allowed_special={"<s>"}) == [*"é".encode(), 256, *b"x</s>"]
    assert tok.encode(text, allowed_special=["</s>"]) == [*"é<s>x".encode(), 257]
    assert tok.encode(text, allowed_special=()) == tok.encode_ordinary(text) == list(text.encode())
    assert tok.count(text, allowed_special=()) == len(text.encode())
    assert tok.encode_to_numpy(text, allowed_special={"<s>"}).tolist() == tok.encode(text, allowed_special={"<s>"})
    assert tok.encode_batch([text], allowed_special={"<s>"}) == [tok.encode(text, allowed_special={"<s>"})]


def test_a_shorter_one_that_is_allowed_is_found_inside_one_that_is_not() -> None:
    tok = tokenizer("<s>", "<s><s>")
    assert tok.encode("<s><s>", allowed_special={"<s>"}) == [256, 256]


def test_which_are_refused() -> None:
    tok = tokenizer("<s>", "</s>")
    for text, place in (("é<s>x", 1), ("é<s>x".encode(), 2)):
        with pytest.raises(ValueError, match=rf"disallowed special token '<s>' at offset {place}; allow it"):
            tok.encode(text, allowed_special={"</s>"}, disallowed_special="all")
        with pytest.raises(ValueError, match="'<s>'"):
            tok.encode_batch([b"fine", text], disallowed_special=["<s>"])
        with pytest.raises(ValueError, match="'<s>'"):
            tok.encode_to_numpy(text, disallowed_special=["<s>"])
    assert tok.encode("é</s>", allowed_special={"</s>"}, disallowed_special="all") == [*"é".encode(), 257]
    assert tok.encode("<s>", disallowed_special="all") == [256]  # all but the allowed ones


@pytest.mark.parametrize("keyword", ["allowed_special", "disallowed_special"])
def test_wrong_arguments(keyword: str) -> None:
    tok = tokenizer("<s>")
    with pytest.raises(ValueError, match=rf"{keyword}: '<t>' is not a special token"):
        tok.encode("x", **{keyword: ["<t>"]})
    with pytest.raises(TypeError, match=rf"{keyword} is \"all\" or a collection"):
        tok.encode("x", **{keyword: "<s>"})
    with pytest.raises(ValueError, match=keyword):
        tok.encode_batch([], **{keyword: ["<t>"]})


def test_choose() -> None:
    assert choose({"a": 1, "b": 2}, "all", ()) == (frozenset("ab"), frozenset())
    assert choose({"a": 1, "b": 2}, (), "all") == (frozenset(), frozenset("ab"))


def test_a_hundred_thousand() -> None:
    literals = [f"<|extra_{number}|>" for number in range(100_000)]
    tok = Tokenizer(BYTES, [], literals)
    text = "".join(f"{literal} and " for literal in literals[::997])
    ids = tok.encode(text)
    assert [token for token in ids if token > 255] == list(range(256, 100_256, 997))
    assert tok.decode(ids) == text
