"""chunks: what they promise."""
import re
import sys
from itertools import pairwise

import oracles
import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st
from limit_cases import END, TOKENIZERS, names, some_texts

from bpetite import Tokenizer
from bpetite.engine.call_options import SpecialSelection
from bpetite.engine.limits import BOUNDARIES, Chunk
from bpetite.steps.normalizers import Normalization
from bpetite.vocabulary.vocab import Vocab

wanted = st.sampled_from([None, "paragraph", "line", re.compile(r"[.:] |(?=<)"), regex.compile(r"\p{N}")])


@given(names, some_texts, st.integers(1, 25), st.data(), wanted, st.sampled_from(["all", (), (END,)]))
@settings(max_examples=400)
def test_chunks(
    name: str, text: str, limit: int, data: st.DataObject, boundaries: object, allowed: SpecialSelection
) -> None:
    tok = TOKENIZERS[name]
    overlap = data.draw(st.one_of(st.just(0), st.integers(0, limit - 1)))
    spans = tok.encode_with_offsets(text, allowed_special=allowed)[1]
    pattern = BOUNDARIES.get(boundaries, boundaries)  # type: ignore[call-overload]
    matches = (pattern or re.compile("$^")).finditer(text)
    ends = {*oracles.edges(spans, len(text)), *(match.end() for match in matches)}
    try:
        made = list(tok.chunks(text, limit, overlap=overlap, boundaries=boundaries, allowed_special=allowed))  # type: ignore[arg-type]
    except ValueError as error:
        char = re.search(r"character (.*) at offset (\d+) alone", str(error))
        assert char is not None
        assert tok.count(text[int(char[2])], allowed_special=allowed) > limit
        return
    at = 0
    for chunk in made:
        assert chunk.text == text[chunk.start : chunk.end]
        assert chunk.tokens == tok.count(chunk.text, allowed_special=allowed) <= limit
        assert chunk.start <= at < chunk.end
        assert overlap or chunk.start == at
        at = chunk.end
    assert at == len(text)
    for one, two in pairwise(made):
        assert one.start < two.start
    long = max(tok.count(char, allowed_special=allowed) for char in text) if text else 0
    if name in ("gpt2", "cl100k", "o200k") and limit > 4 * long and not overlap:
        assert {chunk.end for chunk in made} <= ends


@pytest.mark.parametrize("wide", ["", "é", "的", "😀"])
@pytest.mark.parametrize("limit", [1, 7, 40, 900])
def test_parts_of_every_width(wide: str, limit: int) -> None:
    """A str with wide characters in it has parts that are narrower."""
    tok = TOKENIZERS["o200k"].with_cache(0)
    text = "the cat's " * 120 + "naïve café " * 60 + "ж 的 語 " * 60 + "a😀b " * 40 + "x" * 90 + "é" * 70
    text *= limit // 7 + 1
    text = "".join(char for char in text if char <= max(wide, "z")) + wide
    at = 0
    for chunk in tok.chunks(text, max(limit, 4)):
        assert chunk == (text[at : chunk.end], at, chunk.end, chunk.tokens)
        assert sys.getsizeof(chunk.text) <= sys.getsizeof(text[at : chunk.end])
        assert chunk.tokens == tok.count(chunk.text)
        at = chunk.end
    assert at == len(text)


def test_a_character_of_many_tokens() -> None:
    tok = TOKENIZERS["gpt2"]
    assert tok.count("😀") == 4
    assert list(tok.chunks("", 5)) == []
    lines = [chunk.text for chunk in tok.chunks("a\n" * 1000, 50, boundaries="line")]
    assert ("".join(lines), {line[-1] for line in lines}) == ("a\n" * 1000, {"\n"})
    assert list(tok.chunks("the cat", 100)) == [Chunk("the cat", 0, 7, 1)]
    assert [chunk.text for chunk in tok.chunks("😀a😀", 4)] == ["😀", "a", "😀"]
    chunks = tok.chunks("ab😀", 3)
    assert next(chunks).text == "ab"
    with pytest.raises(ValueError, match="the character '😀' at offset 2 alone has 4 tokens, more than max_tokens=3"):
        next(chunks)


def test_tokens_that_end_inside_characters() -> None:
    """No edge of a token lies between two characters for long: chunks end between characters all the same."""
    vocab = {byte: bytes([byte]) for byte in range(256)} | {256: b"\x80\xf0", 257: b"\x98\x80\xf0"}
    tok = Tokenizer(vocab, [(b"\x80", b"\xf0"), (b"\x98", b"\x80\xf0")], pattern=None)
    split = Tokenizer(vocab, tok.merges, pattern=r"\p{L}+|\P{L}+")
    assert split.scanner == "vector"
    text = "😀" * 50
    for one in (tok, split):
        made = list(one.chunks(text, 9))
        assert "".join(chunk.text for chunk in made) == text
        assert all(one.count(chunk.text) == chunk.tokens <= 9 for chunk in made)
        assert len({chunk.text for chunk in made[:-1]}) == 1


@pytest.mark.parametrize("pattern", [None, r"\p{L}\p{M}*|.", r"(?<=x)y|\X|."])
@pytest.mark.parametrize("form", [None, "NFC", "NFD", "NFKC", "NFKD"])
@pytest.mark.parametrize("text", ["e\u0301\u0323é中" * 9, "ﬁ\u1100\u1161\u11a8각Å" * 7, "x\u0301\u0301\u0327" * 12])
def test_tokens_across_characters_of_normalized_text(text: str, form: Normalization, pattern: str | None) -> None:
    """Tokens that hold the end of a character and the start of the next one, in the text or in its normal form."""
    merges = [(bytes([first]), bytes([second])) for first in (0x81, 0xA9, 0xAC, 0x80) for second in (0xCC, 0xCD, 0xE4)]
    vocab = {**{byte: bytes([byte]) for byte in range(256)}, **dict(enumerate(map(b"".join, merges), 256))}
    tok = Tokenizer(vocab, merges, pattern=pattern, normalization=form)
    for limit, overlap in ((14, 0), (20, 7)):
        made = list(tok.chunks(text, limit, overlap=overlap))
        end = 0
        for chunk in made:
            assert chunk.text == text[chunk.start : chunk.end]
            assert chunk.start <= end < chunk.end
            assert tok.count(chunk.text) == chunk.tokens <= limit
            end = chunk.end
        assert end == len(text)
        assert overlap or "".join(chunk.text for chunk in made) == text
        assert text.startswith(tok.truncate(text, limit))
        assert tok.count(tok.truncate(text, limit, truncation_side="left")) <= limit


@pytest.mark.parametrize("size", [2, 254, 255, 256, 3000])
def test_long_tokens(size: int) -> None:
    """The sizes of most tokens fit into a byte."""
    literal = "<" + "s" * (size - 2) + ">"
    trained = TOKENIZERS["gpt2"]
    ids = {literal: 1 << 20 if size == 256 else trained.vocab_size}
    tok = Tokenizer(trained.vocab, trained.merges, {**trained.special_tokens, **ids})
    text = f"the cat{literal * 3} naïve的 {literal}\n\n don't" * 8
    for limit in (9, 30):
        made = list(tok.chunks(text, limit))
        assert "".join(chunk.text for chunk in made) == text
        assert all(tok.count(chunk.text) == chunk.tokens <= limit for chunk in made)
    for side in ("left", "right"):
        part = tok.truncate(text, 50, truncation_side=side)  # type: ignore[arg-type]
        assert text.startswith(part) if side == "right" else text.endswith(part)
        assert tok.count(part) == 50


HOSTILE = ["a", " ", "\n", "的", "ab", "\n    ", "<", "é", "9"]


@pytest.mark.parametrize("unit", HOSTILE)
def test_long_pre_tokens(unit: str) -> None:
    """Each would take minutes if time grew with the square of the length."""
    tok = TOKENIZERS["cl100k"]
    text = unit * (300_000 // len(unit))
    for overlap in (0, 40):
        made = list(tok.chunks(text, 400, overlap=overlap))
        assert made[0].start == 0
        assert made[-1].end == len(text)
        assert all(two.start <= one.end for one, two in pairwise(made))
        assert all(tok.count(chunk.text) == chunk.tokens for chunk in made[:: len(made) // 20 or 1])
    for side in ("left", "right"):
        assert tok.count(tok.truncate(text, 1000, truncation_side=side)) <= 1000  # type: ignore[arg-type]


def test_a_boundary_inside_a_special_token() -> None:
    """The text has one special token there, the chunk another one."""
    tok = TOKENIZERS["gpt2"]
    text = f"the cat's naive: don't {END}{END} x"
    inside = re.compile(r"(?<=text\|>)(?=<)")
    first = next(tok.chunks(text, tok.count(text) - 1, boundaries=inside))
    assert first.end == text.index(END) + len(END)
    assert first.tokens == tok.count(first.text)


def test_an_error_of_the_text_is_raised_at_the_call() -> None:
    tokens = {byte: bytes([byte]) for byte in range(256) if byte != ord("z")} | {256: b"ab"}
    tok = Tokenizer.from_vocab(Vocab(tokens, merges=[(97, 98)], special_tokens={}, pattern=r"\w+|\W"))
    with pytest.raises(ValueError, match="0x7a, at offset 300 of the text"):
        tok.chunks("ab " * 100 + "z", 150)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda tok: tok.chunks("ab", 0), ValueError, "max_tokens must be at least 1, not 0"),
        (lambda tok: tok.chunks("ab", 5, overlap=5), ValueError, "less than max_tokens=5, not 5"),
        (lambda tok: tok.chunks("ab", 5, overlap=-1), ValueError, "overlap must be at least 0, not -1"),
        (lambda tok: tok.chunks(b"ab", 5), TypeError, "text is a str, not b'ab'; decode it first"),
        (lambda tok: tok.chunks("ab", 5, boundaries="word"), ValueError, "boundaries is .* not 'word'"),
        (lambda tok: tok.chunks(f"ab{END}", 5, disallowed_special=[END]), ValueError, "at offset 2"),
        (lambda tok: tok.chunks("ab", 5, allowed_special=["<x>"]), ValueError, "'<x>'"),
        (lambda tok: tok.chunks("ab", "5"), TypeError, "max_tokens is an int, not '5'"),
        (lambda tok: tok.chunks("é\ud800", 5), UnicodeEncodeError, "position 1"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", ["cl100k", "regex"])
def test_errors(name: str, call: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call(TOKENIZERS[name])  # type: ignore[operator]
