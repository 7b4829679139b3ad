"""count with a limit, count_batch and truncate: what they promise."""
import ctypes
from dataclasses import replace

import numpy as np
import oracles
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from limit_cases import END, TOKENIZERS, names, some_texts

from bpetite import Tokenizer
from bpetite.engine.call_options import SpecialSelection
from bpetite.steps.template import Template, TemplatePart


@given(names, some_texts, st.integers(0, 30))
@settings(max_examples=400)
def test_count_to_a_limit(name: str, text: str, limit: int) -> None:
    tok = TOKENIZERS[name]
    for times in (1, 40):
        long = text * times
        for allowed in ("all", (), (END,)):
            expected = min(len(tok.encode(long, allowed_special=allowed)), limit + 1)
            assert tok.count(long, limit=limit, allowed_special=allowed) == expected
            assert tok.count(long.encode(), limit=limit, allowed_special=allowed) == expected


@given(names, some_texts, st.integers(0, 30), st.sampled_from(["all", (), (END,)]))
@settings(max_examples=400)
def test_truncate(name: str, text: str, limit: int, allowed: SpecialSelection) -> None:
    tok = TOKENIZERS[name]
    ids, spans = tok.encode_with_offsets(text, allowed_special=allowed)
    edges = oracles.edges(spans, len(text))
    right = tok.truncate(text, limit, allowed_special=allowed)
    left = tok.truncate(text, limit, allowed_special=allowed, truncation_side="left")
    assert text.startswith(right)
    assert text.endswith(left)
    assert len(right) in edges
    assert len(text) - len(left) in edges
    for part in (right, left):
        assert tok.count(part, allowed_special=allowed) <= limit
        assert (part is text) == (len(ids) <= limit)


stretches = st.sampled_from(
    ["the cat's 12 ", "a", " ", "\n  ", "的", "é!", "<|endo", "<", END, "naïve don't\n\n", "\n \n", "1"]
)


@given(names, some_texts, st.lists(st.tuples(stretches, st.integers(1, 80)), max_size=8), some_texts, st.data())
@settings(max_examples=60)
def test_truncate_long_texts(
    name: str, start: str, parts: list[tuple[str, int]], end: str, data: st.DataObject
) -> None:
    """Long enough that only their ends are read; with stretches in which no place is certain."""
    tok = TOKENIZERS[name]
    text = start + "".join(part * times for part, times in parts) + end
    ids, spans = tok.encode_with_offsets(text)
    limit = data.draw(st.integers(0, len(ids)))
    right, left = tok.truncate(text, limit), tok.truncate(text, limit, truncation_side="left")
    assert text.startswith(right)
    assert text.endswith(left)
    assert len(right) in oracles.edges(spans, len(text))
    assert max(tok.count(right), tok.count(left)) <= limit


@pytest.mark.parametrize("name", ["gpt2", "cl100k", "o200k", "NFC", "none", "regex", "pipeline"])
def test_little_is_lost(name: str) -> None:
    tok, text = TOKENIZERS[name], "the cat's naïve: don't été 12345 的的的 x = 1\n\n" * 40
    for limit in (10, 100, 400):
        for side in ("left", "right"):
            assert tok.count(tok.truncate(text, limit, truncation_side=side)) > limit - 6  # type: ignore[arg-type]


def test_no_cut_is_inside_a_token_that_reaches_over_others() -> None:
    """A token holds "a" and the first byte of what "e" and the first of two marks, U+0344, compose to."""
    tok, text = TOKENIZERS["NFC"], "ae\u0344 cat"
    spans = tok.encode_with_offsets(text)[1]
    assert spans[:2] == [(0, 2), (1, 2)]
    for limit in range(len(spans)):
        assert len(tok.truncate(text, limit)) in oracles.edges(spans, len(text))


def test_a_run_whose_end_does_not_tell_where_its_tokens_begin() -> None:
    """Digits in threes from the first on: the end of the run is kept, with other tokens than in the whole."""
    tok = TOKENIZERS["cl100k"]
    for size in (6000, 6001):
        for limit in (10, 16, 24, 4000):
            kept = tok.truncate("1" * size, limit, truncation_side="left")
            assert limit - 3 < tok.count(kept) <= limit


def test_truncate_on_the_left_reads_the_whole_text() -> None:
    tok = TOKENIZERS["cl100k"]
    with pytest.raises(UnicodeEncodeError, match="position 0: surrogates"):
        tok.truncate("\ud800" + " ab cd" * 4000, 50, truncation_side="left")
    with pytest.raises(UnicodeEncodeError, match="position 24000: surrogates"):
        tok.truncate("ab cd " * 4000 + "\ud800", 50, truncation_side="left")
    bytes_of = {token_id: token for token_id, token in tok.vocab.items() if token != b"z"}
    no_z = Tokenizer({**bytes_of}, [pair for pair in tok.merges if b"z" not in pair[0] + pair[1]])
    with pytest.raises(ValueError, match=r"byte 0x7a, at offset 19999 of the text"):
        no_z.truncate("é ab " * 3333 + "az" + " ab" * 20, 50, truncation_side="left")


@given(st.lists(some_texts, max_size=6), names)
@settings(max_examples=100)
def test_count_batch(many: list[str], name: str) -> None:
    tok = TOKENIZERS[name]
    counts = tok.count_batch(many)
    assert counts.dtype == np.int64
    assert counts.tolist() == [tok.count(text) for text in many]
    assert tok.count_batch([text.encode() for text in many], allowed_special=(), num_threads=1).tolist() == [
        tok.count(text, allowed_special=()) for text in many
    ]


def test_count_batch_on_threads() -> None:
    tok = TOKENIZERS["gpt2"]
    many = [f"the cat's {number} naïve " * (number % 50) for number in range(2000)]
    assert tok.count_batch(iter(many), num_threads=2).tolist() == [len(ids) for ids in tok.encode_batch(many)]
    with pytest.raises(ValueError, match=r"text 1 of the batch: .*disallowed"):
        tok.count_batch(["a", END], disallowed_special=[END])
    with pytest.raises(UnicodeEncodeError, match="text 1 of the batch"):
        tok.count_batch(["a", "\ud800"])


def test_a_limit_reads_the_beginning_only() -> None:
    """What stands behind it is not looked at: here it would be an error."""
    tok = TOKENIZERS["gpt2"]
    for text in ("ab cd " * 4000 + "\ud800", ("ab cd " * 4000).encode() + b"\xff"):
        assert tok.count(text, limit=50) == 51
        with pytest.raises(UnicodeError, match=r"position 24000.*(surrogates|invalid start byte)"):
            tok.count(text, limit=50_000)
    spoilt = "ab cd " * 4000 + END
    assert tok.count(spoilt, limit=50, disallowed_special=[END]) == 51
    with pytest.raises(ValueError, match="disallowed"):
        tok.count(spoilt, limit=50_000, disallowed_special=[END])
    assert len(tok.truncate("ab cd " * 4000 + "\ud800", 50)) < 300


def test_a_text_longer_than_so_many_tokens_can_be() -> None:
    """Nothing of it is read: the longest token here is the special one, of 13 bytes."""
    tok = Tokenizer.train("ab ab ab", 258)
    for repeats in range(6):
        for text in (END * repeats, END * repeats + "a", "é的" * repeats):
            for limit in range(8):
                assert tok.count(text, limit=limit) == tok.count(text.encode(), limit=limit)
                assert tok.count(text, limit=limit) == min(tok.count(text), limit + 1)
    assert tok.count(b"\xff" * 8 * len(END), limit=7) == 8
    with pytest.raises(UnicodeDecodeError):
        tok.count(b"\xff" * 8 * len(END), limit=8)


def test_a_limit_and_a_template() -> None:
    tok = TOKENIZERS["gpt2"]
    end = TemplatePart((tok.special_tokens[END],))
    tok = Tokenizer.from_vocab(replace(tok.to_vocab(), template=Template((end, TemplatePart(text="A"), end), ())))
    for limit in range(6):
        expected = min(tok.count("the cats", add_special_tokens=True), limit + 1)
        assert tok.count("the cats", limit=limit, add_special_tokens=True) == expected


@pytest.mark.parametrize("text", ["", "a", "the cat", END, "的", "😀" * 3])
def test_the_smallest_limits(text: str) -> None:
    for tok in TOKENIZERS.values():
        count = tok.count(text)
        assert tok.truncate(text, 0) == ("" if count else text)
        assert tok.truncate(text, count) is text
        assert tok.truncate(text, 10**30) is text
        assert tok.count(text, limit=10**30) == count


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda tok: tok.count("a", limit=-1), ValueError, "limit must be at least 0, not -1"),
        (lambda tok: tok.count("a", limit="5"), TypeError, "limit is an int, not '5'"),
        (lambda tok: tok.count(5, limit=5), TypeError, "5"),
        (lambda tok: tok.truncate("a", -1), ValueError, "must be at least 0, not -1"),
        (lambda tok: tok.truncate("a", 1.5), TypeError, "not 1.5"),
        (lambda tok: tok.truncate(b"a", 1), TypeError, "text is a str, not b'a'; decode it first"),
        (lambda tok: tok.truncate("a", 1, truncation_side="up"), ValueError, "not 'up'"),
        (lambda tok: tok.truncate(f"a{END}", 9, disallowed_special="all", allowed_special=()), ValueError, "offset 1"),
        (lambda tok: tok.count_batch("ab"), TypeError, "iterable of texts"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", ["cl100k", "regex", "pipeline", "NFC"])
def test_errors(name: str, call: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call(TOKENIZERS[name])  # type: ignore[operator]


def test_what_is_refused_depends_on_no_state_of_the_str() -> None:
    """CPython may keep the UTF-8 of a str beside it; then the text is read there, and counted in bytes."""
    tok = TOKENIZERS["gpt2"]
    for tail in (END, ""):
        text = "é" * 5000 + tail
        kept = "é" * 5000 + tail
        ctypes.pythonapi.PyUnicode_AsUTF8AndSize(ctypes.py_object(kept), None)
        for each in (text, kept):
            assert tok.count(each, limit=3000, allowed_special=(), disallowed_special="all") == 3001
            assert tok.truncate(each, 100, allowed_special=(), disallowed_special="all") == "é" * 100
