"""A text that is edited has at each moment the ids of encode, and a change says how they became those."""
import copy
import pickle
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from splits import texts

from bpetite import Tokenizer, patterns
from bpetite.serving import edges, growing_text
from bpetite.serving.growing_text import Change, GrowingText
from bpetite.steps.normalizers import Prepend

END = "<|endoftext|>"
SPECIALS = [END, END + END, "<|endo", "<", "the cat"]
CORPUS = "I'll say the cat's naïve: don't été  12345 的的的 <end>\n\n  x = 1\n" * 3


def tokenizer(pattern: patterns.Pattern = patterns.GPT2, normalization: str | None = None) -> Tokenizer:
    return Tokenizer.train(CORPUS, 280, special_tokens=SPECIALS, pattern=pattern, normalization=normalization)


TOKENIZERS = {
    **{name: tokenizer(pattern) for name, pattern in patterns.NAMED.items()},
    "ranks": tokenizer(patterns.CL100K).to_ranks(),
    "gaps": tokenizer("[a-z]+"),
    "regex": tokenizer(r"\b\w+|\s+"),
    "none": tokenizer(None),
    "NFC": tokenizer(normalization="NFC"),
    "NFKD": tokenizer(patterns.CL100K, normalization="NFKD"),
    "no specials": Tokenizer.train(CORPUS, 290, special_tokens=()),
    "pipeline": Tokenizer(tokenizer().vocab, tokenizer().merges, SPECIALS, normalization=(Prepend("a"),)),
}

parts = [END, "<|endo", "<|", ">", "the ", "cat", " ", "   ", "\n", "\r\n", "12", "3", "'", "ll", "的", "é", "e",
         "\u0301", "\u0323", "가", "\u1161", "😀", "ﬁ", "xxxxx", ".", "Ab", "\u3000"]  # fmt: skip
inserts = st.one_of(st.lists(st.sampled_from(parts), max_size=12).map("".join), texts(6))


class Model:
    """A str and a list of ids beside a growing text."""

    def __init__(self, tok: Tokenizer, text: str = "") -> None:
        self.tok, self.text = tok, text
        self.growing = tok.growing(text)
        self.ids = tok.encode(text)

    def replace(self, start: int, end: int, text: str) -> None:
        before = self.ids[:]
        change = self.growing.replace(start, end, text) if end < len(self.text) else self.at_the_end(start, end, text)
        self.text = self.text[:start] + text + self.text[end:]
        assert change.ids.dtype == np.uint32
        self.ids[change.start : change.start + change.removed] = change.ids.tolist()
        self.check()
        removed = before[change.start : change.start + change.removed]
        if removed and len(change.ids):  # no id is replaced by itself at either end
            assert removed[0] != change.ids[0]
            assert removed[-1] != change.ids[-1]

    def at_the_end(self, start: int, end: int, text: str) -> Change:
        if start == end:
            return self.growing.append(text)
        return self.growing.replace(start, end, text) if text else self.growing.cut(start)

    def check(self) -> None:
        assert self.ids == self.tok.encode(self.text)
        assert self.growing.text == self.text
        assert self.growing.ids.dtype == np.uint32
        assert self.growing.ids.tolist() == self.ids
        assert len(self.growing) == len(self.ids)


@pytest.mark.parametrize("block", [1, 5, 40, edges.BLOCK])
@pytest.mark.parametrize("name", TOKENIZERS)
@settings(max_examples=12)
@given(st.data())
def test_any_edits(name: str, block: int, data: st.DataObject) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(edges, "BLOCK", block)
        patch.setattr(growing_text, "BLOCK", block)
        model = Model(TOKENIZERS[name], data.draw(inserts))
        model.check()
        for _ in range(data.draw(st.integers(1, 8))):
            start = data.draw(st.integers(0, len(model.text)))
            if data.draw(st.booleans()):
                start = len(model.text)
            model.replace(start, data.draw(st.integers(start, min(start + 9, len(model.text)))), data.draw(inserts))


@pytest.mark.parametrize("name", TOKENIZERS)
@given(text=inserts, more=inserts)
@settings(max_examples=40)
def test_healing_gives_ids_that_stand(name: str, text: str, more: str) -> None:
    tok = TOKENIZERS[name]
    ids, rest = tok.heal(text)
    assert tok.heal(text.encode()) == (ids, rest)
    assert tok.encode(text + more) == ids + tok.encode(rest + more.encode())


@pytest.mark.parametrize("name", ["gpt2", "cl100k", "o200k", "NFC"])
def test_a_long_text_that_is_edited_all_over(name: str) -> None:
    model = Model(TOKENIZERS[name], CORPUS * 100)
    for number in range(60):
        at = number * 7919 % len(model.text)
        model.replace(at, at + number % 4, ["", "x", " the", END, "é\n", "\u0301"][number % 6])
    for piece in (CORPUS * 30, "", "a" * 9000, "<|endo", "ftext|>", "\n"):
        model.replace(len(model.text), len(model.text), piece)
    while model.text:
        model.replace(len(model.text) // 2, len(model.text), "")


@pytest.mark.parametrize("name", TOKENIZERS)
def test_one_character_at_a_time(name: str) -> None:
    model = Model(TOKENIZERS[name])
    for char in CORPUS[:70] + END * 2 + "e\u0301\u0323 \uac00\u11a8 <|end":
        model.replace(len(model.text), len(model.text), char)


def work(tok: Tokenizer, text: str, edit: Any) -> int:
    """Bytes that are encoded while a growing text of this text is edited."""
    grown = tok.growing(text)
    read: list[int] = []
    plain = edges.Edges.read

    def counted(self: edges.Edges, data: bytes, stops: Any = ()) -> Any:
        read.append(len(data))
        return plain(self, data, stops)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(edges.Edges, "read", counted)
        edit(grown)
    return sum(read)


@pytest.mark.parametrize("name", ["gpt2", "cl100k", "o200k", "deepseek-v3", "NFC"])
def test_an_edit_costs_what_it_touches(name: str) -> None:
    tok, text = TOKENIZERS[name], "the cat says: é 123 and so on.\n" * 4000
    half = len(text) // 2
    edits = [lambda grown: grown.replace(half, half + 3, "word"), lambda grown: grown.cut(half),
             lambda grown: grown.append("word"), lambda grown: grown.replace(0, 1, "")]  # fmt: skip
    for edit in edits:
        assert work(tok, text, edit) < 8 * edges.BLOCK


def test_copies_go_on_alone() -> None:
    tok = TOKENIZERS["cl100k"]
    grown = tok.growing(CORPUS * 40)
    others = [grown.copy(), copy.copy(grown), pickle.loads(pickle.dumps(grown))]
    grown.replace(3, 400, "new")
    grown.append("more")
    for number, other in enumerate(others):
        assert other.text == CORPUS * 40
        other.replace(10, 20, str(number))
        assert other.ids.tolist() == tok.encode(other.text)
    assert grown.ids.tolist() == tok.encode(grown.text)
    assert others[0].ids is not others[0].ids


def test_what_is_handed_out_is_the_callers() -> None:
    grown = TOKENIZERS["gpt2"].growing()
    change = grown.append("the dog and then")
    change.ids[:] = 0
    grown.ids[:] = 0
    assert grown.ids.tolist() == TOKENIZERS["gpt2"].encode("the dog and then")


def test_an_edit_that_raises_changes_nothing() -> None:
    known = Tokenizer({97: b"a", 98: b"b", 32: b" ", 200: b"<s>"}, [], ["<s>"])
    grown = known.growing("ab ab", disallowed_special=["<s>"], allowed_special=())
    for start, end, text, error in [
        (0, 9, "a", ValueError), (3, 2, "a", ValueError), (-1, 2, "a", ValueError), (1, 1, "c", ValueError),
        (1, 1, "\ud800", UnicodeEncodeError), (1, 1, b"\xff", UnicodeDecodeError), (1, 1, 5, TypeError),
        ("a", 1, "", TypeError), (2, 3, "<s>", ValueError),
    ]:  # fmt: skip
        with pytest.raises(error):
            grown.replace(start, end, text)  # type: ignore[arg-type]
        assert (grown.text, grown.ids.tolist(), len(grown)) == ("ab ab", [97, 98, 32, 97, 98], 5)
    with pytest.raises(ValueError, match="the text has 5 characters, and 0 to 9 is no part of it"):
        grown.replace(0, 9, "")


@pytest.mark.parametrize("wide", ["", "é", "的", "😀"])
def test_a_long_append_that_raises_changes_nothing(wide: str) -> None:
    """It is read in stretches; the error comes in the last, or behind a pre-token that is open in all of them."""
    vocab = {97: b"a", 32: b" ", **{256 + byte: bytes([byte]) for byte in set(wide.encode())}}
    for text in ("a " * 9000 + "a", "a" * 20_000):
        grown = Tokenizer(vocab, []).growing(wide)
        with pytest.raises(ValueError, match=f"byte 0x63, at offset {len((wide + text).encode())} of the text"):
            grown.append(text + "c")
        with pytest.raises(UnicodeEncodeError, match=f"position {len(text)}:"):
            grown.append(text + "\ud800")
        assert (grown.text, len(grown)) == (wide, len(wide.encode()))
        change = grown.append(text)
        assert (change.start, change.removed, len(change.ids)) == (len(wide.encode()), 0, len(text))
        assert grown.text == wide + text


def test_an_edit_during_an_edit(monkeypatch: pytest.MonkeyPatch) -> None:
    """What another thread does while text is read without the lock."""
    tok = TOKENIZERS["gpt2"]
    grown = tok.growing("the cat says")
    plain = edges.Edges.read

    def meanwhile(self: edges.Edges, data: bytes, stops: Any = ()) -> Any:
        monkeypatch.setattr(edges.Edges, "read", plain)
        grown.append(" no")
        return plain(self, data, stops)

    monkeypatch.setattr(edges.Edges, "read", meanwhile)
    with pytest.raises(RuntimeError, match="another thread has edited this text"):
        grown.replace(4, 7, "dog")
    assert (grown.text, grown.ids.tolist()) == ("the cat says no", tok.encode("the cat says no"))


def test_a_disallowed_special_token_that_edits_put_together() -> None:
    tok = TOKENIZERS["gpt2"]
    grown = tok.growing("so <|endof", disallowed_special=[END])
    for edit in (lambda: grown.append("text|>"), lambda: grown.replace(10, 10, "text|> the")):
        with pytest.raises(ValueError, match=r"disallowed special token '<\|endoftext\|>' at offset 3;"):
            edit()
    grown.append("x<|endo")
    with pytest.raises(ValueError, match="offset 3;"):
        grown.replace(10, 17, "text|>")
    assert grown.text == "so <|endofx<|endo"
    with pytest.raises(ValueError, match="disallowed"):
        tok.growing(END, disallowed_special="all", allowed_special=())


def test_special_tokens_that_are_not_allowed_are_text() -> None:
    tok = TOKENIZERS["gpt2"]
    grown = tok.growing(allowed_special=[END])
    for start, end in pairwise([0, 3, 9, 14, len(CORPUS)]):
        grown.append(CORPUS[start:end])
        grown.append(END[: end % 5])
    assert grown.ids.tolist() == tok.encode(grown.text, allowed_special=[END])
    assert tok.heal("the <|endo") == (tok.encode("the"), b" <|endo")
    assert tok.heal("dog <|endox", allowed_special=())[1] == b"endox"


@pytest.mark.parametrize("name", ["cl100k", "regex"])
def test_texts_of_other_types(name: str) -> None:
    tok = TOKENIZERS[name]
    grown = tok.growing(np.str_("the "))
    grown.append("é".encode())
    grown.append(np.str_("cat"))
    grown.replace(0, 3, np.str_("The"))
    assert type(grown.text) is str
    assert (grown.text, grown.ids.tolist()) == ("The écat", tok.encode("The écat"))
    assert tok.heal(np.str_("the cat")) == tok.heal("the cat")
    with pytest.raises(UnicodeEncodeError, match="position 1:"):
        grown.append("a\ud800")
    for wrong in (5, None, bytearray(b"a"), ["a"]):
        with pytest.raises(TypeError, match="text is str or UTF-8 bytes"):
            grown.append(wrong)  # type: ignore[arg-type]
    assert grown.text == "The écat"


def test_representation() -> None:
    grown = TOKENIZERS["gpt2"].growing(b"the dog")
    assert isinstance(grown, GrowingText)
    assert repr(grown) == f"<GrowingText: 7 characters, {len(grown)} tokens>"
    change = TOKENIZERS["gpt2"].growing().append("")
    assert (change.start, change.removed, change.ids.tolist(), change.ids.dtype) == (0, 0, [], np.uint32)
