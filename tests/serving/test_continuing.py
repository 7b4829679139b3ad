"""continue_ids and retokenized, held to their plain meaning."""
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from limit_cases import END, TOKENIZERS, flagged, llama, names, pieces, some_texts

from bpetite import Tokenizer, UnknownTokenError, serving
from bpetite.splitting.pretokenizer import pretokenize

PLAIN = [name for name in TOKENIZERS if "NF" not in name and name not in ("pipeline", "shared id", "flags", "llama")]


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
    tok = TOKENIZERS[name]
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
    tok = TOKENIZERS[name]
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
    tok = TOKENIZERS[name]
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
    assert serving.retokenized(AB, iter([257, 97, 98, 257])) == [(1, 3)]


def test_a_tokenizer_that_puts_a_space_before_texts() -> None:
    tok = TOKENIZERS["pipeline"]
    ids = tok.encode("cat")
    assert tok.decode(serving.continue_ids(tok, ids, " x5y")) == "_cat xy"
    assert tok.decode(serving.continue_ids(tok, ids, "5")) == "_cat"


@given(st.sampled_from(PLAIN), some_texts, st.lists(st.integers(0, 20), max_size=6))
@settings(max_examples=300)
def test_runs_that_encoding_again_replaces(name: str, sampled: str, cuts: list[int]) -> None:
    tok = TOKENIZERS[name]
    edges = sorted({0, *(min(cut, len(sampled)) for cut in cuts), len(sampled)})
    ids = [one for start, end in pairwise(edges) for one in tok.encode(sampled[start:end])]
    fresh = tok.encode(tok.decode_bytes(ids))
    runs = serving.retokenized(tok, ids)
    at, kept = 0, []
    for start, end in [*runs, (len(ids), len(ids))]:
        assert at <= start <= end
        kept += ids[at:start]
        at = end
    assert (runs == []) == (ids == fresh) == serving.is_canonical(tok, ids)
    rest = iter(fresh)
    assert all(one in rest for one in kept)  # a subsequence
    if runs:
        assert runs[0][0] == serving.first_divergence(tok, ids)


def test_runs_of_other_bytes_and_forms() -> None:
    assert serving.retokenized(AB, [256, 0xC3, 256]) == []
    assert serving.retokenized(AB, np.array([97, 98, 257, 32, 97, 98, 258])) == [(0, 2), (3, 6)]
    assert serving.retokenized(AB, AB.encode_ordinary(END)) == [(0, len(END))]
    assert serving.retokenized(AB, AB.encode_ordinary(END), allowed_special=()) == []
    assert serving.retokenized(AB, []) == []
    nfc = TOKENIZERS["NFC"]
    ids = [*nfc.encode("a "), 101, 0xCC, 0x81, *nfc.encode(" b")]
    ((start, end),) = serving.retokenized(nfc, ids)
    assert (start, end) == (1, 5)  # the space belongs to the word


def test_errors() -> None:
    tok = AB
    for call in (lambda ids: serving.continue_ids(tok, ids, "a"), lambda ids: serving.retokenized(tok, ids)):
        with pytest.raises(UnknownTokenError, match="9999"):
            call([97, 9999])
        with pytest.raises(TypeError, match="ids"):
            call("ab")
    with pytest.raises(UnicodeEncodeError):
        serving.continue_ids(tok, [97], "\ud800")
    with pytest.raises(ValueError, match="<x>"):
        serving.continue_ids(tok, [97], "a", allowed_special=["<x>"])
