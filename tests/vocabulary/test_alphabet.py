"""Vocabularies whose merges begin from characters: the ids of every method are those of ``tokenizers``."""
from __future__ import annotations

import json
import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import tokenizers
from hypothesis import given
from hypothesis import strategies as st
from limit_cases import llama

from bpetite import Tokenizer, Vocab, formats
from bpetite.steps.normalizers import Prepend, Replace
from bpetite.steps.splits import Metaspace
from bpetite.vocabulary.alphabet import Alphabet

LETTERS = "ab,▁é中1"
TEXT = st.text("ab ,▁é中1漢\n\U0001f600", max_size=40)
WRITTEN = Replace(" ", "▁")


@st.composite
def vocabularies(draw: st.DrawFn) -> Vocab:
    """Of some characters and merges; other characters are unknown, or become bytes."""
    tokens = ["<unk>", *draw(st.permutations(LETTERS))[: draw(st.integers(3, 7))]]
    tokens += [] if "▁" in tokens else ["▁"]
    falls_back = draw(st.booleans())
    tokens += [f"<0x{byte:02X}>" for byte in range(256)] if falls_back else []
    parts = [token for token in tokens if len(token) == 1]
    merges: list[tuple[str, str]] = []
    for _ in range(draw(st.integers(0, 20))):
        pair = draw(st.sampled_from(parts)), draw(st.sampled_from(parts))
        if pair not in merges and len("".join(pair)) < 9:
            merges.append(pair)
            parts.append("".join(pair))
    tokens = list(dict.fromkeys(tokens + parts))
    ids = {token: number for number, token in enumerate(tokens)}
    alphabet = Alphabet(
        tuple(ids[f"<0x{byte:02X}>"] for byte in range(256)) if falls_back else (),
        ids["<unk>"], draw(st.booleans()), "▁", draw(st.sampled_from(["none", "one", "token"])),
    )  # fmt: skip
    hidden = {ids[f"<0x{ord(char):02X}>"] for char in "ab,1" if char in ids and falls_back}
    hidden |= {ids["<0x20>"]} if falls_back else set()
    normalization, pattern = draw(st.sampled_from([
        ((WRITTEN,), None), ((Prepend("▁"), WRITTEN), None), (("NFC", WRITTEN), None),
        *[(None, Metaspace("▁", prefix, split)) for prefix in ("never", "always", "first") for split in (True, False)],
    ]))  # fmt: skip
    pairs = [(ids[left], ids[right]) for left, right in merges]
    decoded = {number: alphabet.read_spelled(token) for token, number in ids.items()}
    return Vocab(
        decoded, pairs, {"<unk>": 0}, pattern=pattern, normalization=normalization, alphabet=alphabet,
        unreachable=frozenset(hidden),
    )  # fmt: skip


@given(vocabularies(), st.lists(st.one_of(TEXT, st.just("<unk>"), st.just(" ")), max_size=5), st.data())
def test_equals_tokenizers(vocab: Vocab, parts: list[str], data: st.DataObject) -> None:
    text = "".join(parts)
    tok = Tokenizer.from_vocab(vocab)
    theirs = tokenizers.Tokenizer.from_str(formats.dump(vocab, "huggingface").decode())
    found = theirs.encode(text, add_special_tokens=False)
    expected = found.ids
    assert tok.encode_with_offsets(text) == (expected, found.offsets)
    assert tok.encode(text) == tok.encode(text.encode()) == tok.encode_to_numpy(text).tolist() == expected
    assert tok.encode_batch([text, "a", text]) == [expected, tok.encode("a"), expected]
    assert tok.count(text) == len(expected)
    assert tok.count(text, limit=2) == min(len(expected), 3)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=5)))
    chunks = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    assert list(tok.encode_iterable(chunks)) == expected
    stream = tok.decode_stream()
    assert "".join(map(stream.feed, expected)) + stream.flush() == tok.decode(expected)
    assert "".join(tok.decode_iterable(expected)) == tok.decode(expected)
    assert pickle.loads(pickle.dumps(tok)) == tok


def test_a_small_llama() -> None:
    tok = llama()
    assert tok.scanner == "words"
    assert tok.token_bytes(tok.encode("the")[0]) == b" the"
    assert tok.encode("the the") == tok.encode("the") * 2
    assert tok.encode("the<s>the") == [*tok.encode("the"), 1, *tok.encode("the")]
    assert tok.encode("\n") == [tok.token_id(" "), 2 + 0x0A]
    assert tok.encode("é") == [tok.token_id(" "), 2 + 0xC3, 2 + 0xA9]
    assert tok.decode(tok.encode("the é\n cat")) == "the é\n cat"
    assert tok.decode_bytes(tok.encode("the")) == b"the"
    assert tok.encode_with_offsets("the é") == (tok.encode("the é"), [(0, 3), (3, 4), (4, 5), (4, 5)])


def test_runs_of_bytes_that_are_no_text_are_replaced_byte_by_byte() -> None:
    tok = llama()
    ids = [tok.token_id(" a"[1:]), 2 + 0xC3, 2 + 0x41, tok.token_id("c")]
    assert tok.decode(ids, errors="replace") == "a\ufffd\ufffdc"
    with pytest.raises(UnicodeDecodeError):
        tok.decode(ids)
    stream = tok.decode_stream(errors="replace")
    for _ in range(2):  # after flush it is as new
        assert [stream.feed(tok.encode("the")), stream.feed(tok.encode("the")), stream.flush()] == ["the", " the", ""]
    stream = tok.decode_stream(errors="strict")
    with pytest.raises(UnicodeDecodeError):
        stream.feed(2 + 0x80)
    assert stream.feed(tok.encode("the")[0]) == "the"  # still at its beginning


def test_saved_files_give_it_back(tmp_path: Path) -> None:
    tok = llama()
    for name in ("native.json", "tokenizer.json"):
        tok.save(tmp_path / name)
        assert Tokenizer.load(tmp_path / name) == tok
    content = json.loads((tmp_path / "tokenizer.json").read_text("utf-8"))
    assert {"▁the", "<0x41>", "▁▁"} <= content["model"]["vocab"].keys()
    for format in ("gpt2", "tiktoken"):
        with pytest.raises(ValueError, match=r"merge list|cannot hold"):
            tok.save(tmp_path / "other", format=format)  # type: ignore[arg-type]


@pytest.mark.parametrize("unit", ["a", " ", "中", "\U0001f600", "▁", "the ", "\n", "the <s>a中<s><s>. "])
def test_long_runs_end(unit: str) -> None:
    tok = llama()
    text = unit * (400_000 // len(unit))
    ids = tok.encode(text)
    assert "<s>" in unit or tok.decode(ids) == text.replace("▁", " ")  # a space comes after a special token
    assert tok.encode(text, num_threads=4) == ids


@pytest.mark.parametrize("shift", range(4))
def test_sections_of_threads_begin_behind_special_tokens(shift: int) -> None:
    """There a text begins anew, and gets a space before it."""
    tok, text = llama(), "b" * shift + "<s>a" * 200_000
    assert np.array_equal(tok.encode_to_numpy(text, num_threads=4), tok.encode_to_numpy(text))


@pytest.mark.parametrize(("split", "ids"), [(True, [1, 2, 1, 4, 2, 4]), (False, [3, 1, 5, 4])])
def test_no_merge_joins_across_a_split_before_spaces(split: bool, ids: list[int]) -> None:
    tokens = {0: b"<unk>", 1: "é".encode(), 2: b" ", 3: "é ".encode(), 4: b"a", 5: b"a "}
    alphabet, pattern = Alphabet((), 0, False, "▁", "none"), Metaspace("▁", "never", split)
    vocab = Vocab(tokens, [(1, 2), (4, 2)], {"<unk>": 0}, pattern=pattern, alphabet=alphabet)
    assert Tokenizer.from_vocab(vocab).encode("é éa a") == ids


@pytest.mark.parametrize(("change", "message"), [
    ({"byte_ids": (1,)}, "tuple of 256 ids"),
    ({"unknown": -1}, "no id below"),
    ({"space": " "}, "a character other than a space"),
    ({"strip": "two"}, "strip is"),
    ({"unknown": 10**6}, "is no token"),
    ({"missing": "keep"}, "missing is one of"),
    ({"decoding": ""}, "decoding is one of"),
    ({"suffix": "</w>"}, "suffix is a str"),
    ({"units": "bytes"}, "an alphabet of bytes has no space"),
    ({"byte_ids": (0,) * 256}, "of byte 0x00 holds"),
])  # fmt: skip
def test_faults(change: dict[str, object], message: str) -> None:
    vocab = llama().to_vocab()
    assert vocab.alphabet is not None
    with pytest.raises(ValueError, match=message):
        replace(vocab, alphabet=replace(vocab.alphabet, **change))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="the character 'z' has the id 4294967295"):
        Vocab({1: b"a", 2**32 - 1: b"z"}, (), {}, None, alphabet=Alphabet())


def test_what_needs_bytes_is_refused() -> None:
    tok = llama()
    with pytest.raises(ValueError, match="begins from characters"):
        tok.extend("the the", 1)
    with pytest.raises(ValueError, match="an alphabet belongs to a merge list"):
        tok.to_ranks()
    small = tok.prune("the cat", vocab_size=300).tokenizer if len(tok) > 300 else tok
    assert small.decode(small.encode("the é cat")) == "the é cat"


def test_a_character_without_any_token_is_an_error_with_its_offset() -> None:
    vocab = replace(llama().to_vocab(), alphabet=Alphabet(space="▁"), unreachable=frozenset(range(2, 258)))
    with pytest.raises(ValueError, match="byte 0xc3, at offset 4 "):
        Tokenizer.from_vocab(vocab).encode("the é")
