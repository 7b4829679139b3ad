"""Ids that were sampled: whether they are those of their text, and what follows them, held to the plain meaning."""
from array import array
from itertools import accumulate, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from limit_cases import CORPUS, END, flagged, llama, names, pieces, some_texts
from limit_cases import TOKENIZERS as CASES

from bpetite import Tokenizer, UnknownTokenError, patterns, serving
from bpetite.splitting.pretokenizer import pretokenize

SPARSE = {(token_id if token_id < 300 else token_id + 2**31): token for token_id, token in CASES["gpt2"].vocab.items()}
NAMES = ("gpt2", "gpt2, ranks", "cl100k, ranks", "NFC", "none", "regex", "pipeline")
TOKENIZERS = {name: CASES[name] for name in NAMES}
TOKENIZERS["sparse"] = Tokenizer({i: t for i, t in SPARSE.items() if t != END.encode()}, CASES["gpt2"].merges, [END])


def first_divergence(tok: Tokenizer, ids: list[int]) -> int | None:
    """The plain meaning."""
    data = tok.decode_bytes(ids)
    try:
        expected = tok.encode(data)
    except UnicodeDecodeError as error:
        ends = accumulate(len(tok.token_bytes(token_id)) for token_id in ids)
        return next(number for number, end in enumerate(ends) if end > error.start)
    if expected == ids:
        return None
    same = (one == other for one, other in zip(ids, expected))
    return next((index for index, equal in enumerate(same) if not equal), min(len(ids), len(expected)))


@pytest.mark.parametrize("name", TOKENIZERS)
@given(st.data())
def test_against_encoding_again(name: str, data: st.DataObject) -> None:
    tok = TOKENIZERS[name]
    ids = tok.encode(data.draw(st.sampled_from([CORPUS[:90], "aaaa\t\t622", "", "<|endoftext|> e\u0301"])))
    known = st.sampled_from(sorted(tok.vocab))
    for _ in range(data.draw(st.integers(0, 3))):
        at = data.draw(st.integers(0, len(ids)))
        ids[at : at + data.draw(st.integers(0, 2))] = data.draw(st.lists(known, max_size=2))
    expected = first_divergence(tok, ids)
    dtype = data.draw(st.sampled_from([list, tuple, iter, np.array, lambda ids: array("I", ids)]))
    assert serving.first_divergence(tok, dtype(ids) if ids else []) == expected
    assert serving.is_canonical(tok, ids) == (expected is None)


def test_edges_of_pretokens_decide(shared) -> None:
    tok = Tokenizer.from_tiktoken(shared("openai/cl100k_base.tiktoken"), pattern=patterns.CL100K)
    assert tok.encode("\t\t") == [298]
    assert serving.is_canonical(tok, [197, 197, 19808])
    assert serving.first_divergence(tok, [298, 19808]) == 0
    assert serving.first_divergence(tok, [197, 197]) == 0


def test_special_tokens_and_threads() -> None:
    tok = TOKENIZERS["gpt2"]
    ids = tok.encode("the<|endoftext|>cat " * 50_000)
    assert serving.is_canonical(tok, ids)
    assert serving.is_canonical(tok, np.array(ids), num_threads=2)
    assert serving.first_divergence(tok, ids, allowed_special=()) == ids.index(tok.special_tokens["<|endoftext|>"])
    assert serving.is_canonical(tok, tok.encode_ordinary("<|endoftext|>"), allowed_special=())


def test_errors() -> None:
    tok = TOKENIZERS["gpt2"]
    with pytest.raises(UnknownTokenError, match=r"99999 \(ids\[1\]\)"):
        serving.is_canonical(tok, [65, 99_999])
    with pytest.raises(TypeError, match="ids is a sequence of ints"):
        serving.is_canonical(tok, "ab")  # type: ignore[arg-type]
    assert serving.first_divergence(tok, [65, 0xE4, 0xB8]) == 1
    assert not serving.is_canonical(tok, [0xFF])


@pytest.mark.parametrize("name", ["gpt2", "cl100k, ranks", "sparse"])
def test_texts_of_several_stretches(name: str) -> None:
    """Words, special tokens and one long pre-token over the places where a stretch ends."""
    tok = TOKENIZERS[name]
    for text in ("ab é " * 20_000, "<|endoftext|> x" * 7000, "a" * 100_000 + " b", " " * 70_000, "的" * 40_000):
        for shift in range(4):
            ids = tok.encode("b" * shift + text)
            assert serving.is_canonical(tok, ids)
            assert serving.first_divergence(tok, ids[:-1]) == first_divergence(tok, ids[:-1])
        at = len(ids) * 2 // 3
        changed = ids[:at] + list(tok.decode_bytes([ids[at]])) + ids[at + 1 :]
        assert serving.first_divergence(tok, changed) == first_divergence(tok, changed)


@pytest.mark.slow
def test_characters_over_the_edges_of_blocks() -> None:
    """Each byte is an id: characters, and what is none, lie over the places where reading stops."""
    tok = Tokenizer({byte: bytes([byte]) for byte in range(256)}, [])
    for shift in range(4):
        ids = tok.encode("b" * shift + "的é😀 " * 900)
        assert serving.is_canonical(tok, ids)
        assert serving.is_canonical(tok, tuple(ids))
        assert serving.is_canonical(tok, np.array(ids, np.uint16))
        assert serving.is_canonical(tok, [*map(np.int64, ids)])
        for at in (8191, 8193):
            changed = [*ids[:at], 0xFF, *ids[at:]]
            assert serving.first_divergence(tok, changed) == first_divergence(tok, changed)
        for end in (8191, 8192, 8193):
            assert serving.first_divergence(tok, ids[:end]) == first_divergence(tok, ids[:end])


@pytest.mark.parametrize("name", ["gpt2", "sparse"])
def test_what_stands_behind_a_difference(name: str) -> None:
    tok = TOKENIZERS[name]
    ids = tok.encode("the cat's naïve " * 1000)
    at = next(index for index, token_id in enumerate(ids) if len(tok.token_bytes(token_id)) > 1)
    changed = ids[:at] + list(tok.token_bytes(ids[at])) + ids[at + 1 :]
    assert serving.first_divergence(tok, changed) == at
    with pytest.raises(UnknownTokenError, match=rf"4000000000 \(ids\[{len(changed)}\]\)"):
        serving.first_divergence(tok, [*changed, 4_000_000_000])
    with pytest.raises(UnknownTokenError, match=rf"-1 \(ids\[{len(changed)}\]\)"):
        serving.first_divergence(tok, [*changed, -1])
    for rest in ([0xC3], [0xC3, 65], [0xE4, 0xB8], ids[:at]):
        assert serving.first_divergence(tok, changed + rest) == first_divergence(tok, changed + rest)
        assert serving.first_divergence(tok, np.array(changed + rest)) == first_divergence(tok, changed + rest)


def test_a_byte_without_a_token() -> None:
    """Only a special token has it, which is not recognised."""
    tok = Tokenizer({byte: bytes([byte]) for byte in range(256) if byte != 122}, [], {"z": 300})
    assert serving.is_canonical(tok, [97, 300])
    with pytest.raises(ValueError, match="byte 0x7a, at offset 9001"):
        serving.is_canonical(tok, [97, *[98] * 9000, 300], allowed_special=())
    assert serving.first_divergence(tok, [0xFF, *[98] * 9000, 300], allowed_special=()) == 0


# What follows them

PLAIN = [name for name in CASES if "NF" not in name and name not in ("pipeline", "shared id", "flags", "llama")]


def behind(tok: Tokenizer, before: str, text: str) -> list[int]:
    """The ids of ordinary text behind other text: each pre-token alone, and of the first one the new part alone."""
    ids: list[int] = []
    at = 0
    for pretoken in pretokenize(before + text, tok.pattern):
        new = pretoken[max(len(before) - at, 0) :]
        at += len(pretoken)
        ids += tok._encode_pretoken(new.encode()) if new else []
    return ids


@given(st.sampled_from(PLAIN), some_texts, st.lists(st.integers(0, 20), max_size=6), some_texts)
@settings(max_examples=400)
def test_ids_of_any_cut_and_a_text(name: str, sampled: str, cuts: list[int], text: str) -> None:
    tok = CASES[name]
    edges = sorted({0, *(min(cut, len(sampled)) for cut in cuts), len(sampled)})
    parts = [sampled[start:end] for start, end in pairwise(edges)]
    ids = [one for part in parts for one in tok.encode(part)]
    found = serving.continue_ids(tok, ids, text)
    assert found[: len(ids)] == ids
    assert tok.decode_bytes(found) == tok.decode_bytes(ids) + text.encode()
    specials = {*tok.special_tokens.values()}
    last = next((at for at in range(len(ids), 0, -1) if ids[at - 1] in specials), 0)
    before = tok.decode_bytes(ids[last:]).decode()
    first = next((start for start, _, _ in tok._specials("all")[0].spans(text)), len(text))
    expected = behind(tok, before, text[:first]) if before else tok.encode(text[:first])
    assert found == ids + expected + tok.encode(text[first:])


@given(names, st.lists(pieces, max_size=5).map("".join), some_texts)
@settings(max_examples=300)
def test_after_a_special_token_it_is_the_encoding_of_the_whole(name: str, before: str, text: str) -> None:
    tok = CASES[name]
    ids = [*tok.encode_ordinary(before), tok.special_tokens["the cat"]]
    whole = tok.encode("the cat" + text)
    assert serving.continue_ids(tok, ids, text) == ids + (whole[1:] if whole[0] == ids[-1] else tok.encode(text))
    assert serving.continue_ids(tok, [], text) == tok.encode(text)
    ids = tok.encode(before)
    assert serving.continue_ids(tok, np.array(ids, np.uint32), text)[: len(ids)] == serving.continue_ids(tok, ids, "")
    assert serving.continue_ids(tok, ids, "") == ids


@given(names, some_texts, some_texts)
@settings(max_examples=300)
def test_special_tokens_are_those_of_the_whole_text(name: str, before: str, text: str) -> None:
    tok = CASES[name]
    ids, specials = tok.encode_ordinary(before), {*tok.special_tokens.values()} - {tok.special_tokens["<"]}
    found = serving.continue_ids(tok, ids, text)[len(ids) :]
    whole = serving.encode_segments(tok, [(before, False), (text, True)])
    assert [one for one in found if one in specials] == [one for one in whole if one in specials]


def test_flags_and_spaces_put_before_texts() -> None:
    strip, word = (flagged(Tokenizer(BYTES, [], [literal]), {literal: (flag,)}) for literal, flag in
                   (("<s>", "lstrip"), ("foo", "single_word")))  # fmt: skip
    assert serving.continue_ids(strip, [97], " <s>b") == strip.encode("a <s>b") == [97, 256, 98]
    assert serving.continue_ids(word, [97], "xfoo") == word.encode("axfoo")
    assert serving.continue_ids(word, [97], " foo") == word.encode("a foo") == [97, 32, 256]
    # its tokenizers put a space before a text, which is none inside one
    for tok in (llama(), flagged(llama(), {"<s>": ("rstrip",)})):
        assert serving.continue_ids(tok, tok.encode("the"), " cat") == tok.encode("the cat")
        ca = tok.encode("ca")
        assert serving.continue_ids(tok, ca, "t the") == [*ca, tok.token_id("t"), tok.token_id(" the")]
        assert serving.continue_ids(tok, tok.encode("the<s>"), " the") == tok.encode("the<s> the")


BYTES = {byte: bytes([byte]) for byte in range(256)}
AB = Tokenizer.train("ab ab ab", 258, special_tokens=[END])


def test_inside_a_character_and_a_word() -> None:
    assert serving.continue_ids(AB, [257, 0xC3], "ab ab") == [257, 0xC3, 256, 257]
    assert serving.continue_ids(AB, [257, 97], "b ab") == [257, 97, 98, 257]
    assert serving.continue_ids(AB, [257], "\u0308 ab") == [257, 0xCC, 0x88, 257]
    # what looks like a special token in sampled ids is ordinary text, also where the text completes it
    found = serving.continue_ids(AB, AB.encode_ordinary(END[:-2]), "|>")
    assert found == AB.encode_ordinary(END)
    assert serving.continue_ids(AB, AB.encode_ordinary(END), " ab") == [*AB.encode_ordinary(END), 257]
    assert serving.continue_ids(AB, [97], END) == [97, 258]
    assert serving.continue_ids(AB, [97], END, allowed_special=()) == [97, *AB.encode_ordinary(END)]


def test_ids_that_can_be_read_once() -> None:
    assert serving.continue_ids(AB, iter([97]), "b") == [97, *AB.encode("b")]
    assert {type(one) for one in serving.continue_ids(AB, [np.uint32(97)], "b")} == {int}


def test_a_tokenizer_that_puts_a_space_before_texts() -> None:
    tok = CASES["pipeline"]
    ids = tok.encode("cat")
    assert tok.decode(serving.continue_ids(tok, ids, " x5y")) == "_cat xy"
    assert tok.decode(serving.continue_ids(tok, ids, "5")) == "_cat"


def test_errors_of_ids_that_go_on() -> None:
    tok = AB
    with pytest.raises(UnknownTokenError, match="9999"):
        serving.continue_ids(tok, [97, 9999], "a")
    with pytest.raises(TypeError, match="ids"):
        serving.continue_ids(tok, "ab", "a")  # type: ignore[arg-type]
    with pytest.raises(UnicodeEncodeError):
        serving.continue_ids(tok, [97], "\ud800")
    with pytest.raises(ValueError, match="<x>"):
        serving.continue_ids(tok, [97], "a", allowed_special=["<x>"])
