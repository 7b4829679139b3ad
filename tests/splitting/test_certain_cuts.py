"""Certain cuts: places where a pattern ends a pre-token, whatever stands before and after."""
from __future__ import annotations

import itertools

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from limit_cases import TOKENIZERS

from bpetite import patterns
from bpetite.splitting.certain_cuts import CertainCuts, certain_cuts
from bpetite.splitting.pretokenizer import pretokenizer

PATTERNS = {
    "gpt2": patterns.GPT2, "cl100k": patterns.CL100K, "o200k": patterns.O200K, "words": r"\w+|[^\w\s]+|\s+",
    "digits": r"\p{N}{1,3}|\p{L}+|[^\p{N}\p{L}]+",
}  # fmt: skip
TEXT = st.text(st.sampled_from("aB'sS \n\t\r.,-12é漢🙂\u0301\u00a0"), max_size=60) | st.text(max_size=30)
EOT = "<|endoftext|>"


def cuts_of(name: str, *literals: str, normalized: bool = False) -> CertainCuts:
    found = certain_cuts(pretokenizer(PATTERNS[name]), literals, normalized)
    assert found is not None
    return found


def ends(pattern: str, text: str) -> set[int]:
    """The ends of pre-tokens, in bytes."""
    return {0, *itertools.accumulate(len(one.encode()) for one in pretokenizer(pattern).split(text))}


@pytest.mark.parametrize("name", PATTERNS)
@settings(max_examples=300)
@given(before=st.lists(TEXT, min_size=2, max_size=4), text=TEXT, after=TEXT, at=st.integers(0, 40))
def test_a_cut_is_the_end_of_a_pretoken(name: str, before: list[str], text: str, after: str, at: int) -> None:
    """Of any text with these bytes in it, and found again whatever stands before them."""
    cuts = cuts_of(name)
    data = (text + after).encode()
    cut = cuts.first(data, at)
    if cut < 0:
        return
    assert at <= cut < len(data)
    for some in before:
        start = len(some.encode())
        assert start + cut in ends(PATTERNS[name], some + text + after)
        # what is before the margin of the place where it was looked for changes nothing
        if at >= cuts.margin:
            whole = some.encode() + data
            assert cuts.first(whole, start + at) == start + cut


@pytest.mark.parametrize("name", [*PATTERNS, *(name for name, one in patterns.NAMED.items() if one is not None)])
@settings(max_examples=300)
@given(text=st.text(st.sampled_from("aB8 \t\r\n!'/s漢"), min_size=20, max_size=60), at=st.integers(1, 15))
@example(text="ssa'sa\t\t !a' 8b\n 8'8a", at=9)
@example(text="!8/的s/b's' \r  的的'!'!\t!'8", at=8)
def test_parts_are_cut_as_the_whole(name: str, text: str, at: int) -> None:
    pattern = PATTERNS.get(name, patterns.NAMED.get(name))
    cuts, data = certain_cuts(pretokenizer(pattern), [], normalized=False), text.encode()
    assert cuts is not None
    cut = cuts.first(data, at)
    if cut >= 0:
        parts = data[:cut].decode(), data[cut:].decode()
        split = pretokenizer(pattern).split
        assert [*split(parts[0]), *split(parts[1])] == split(text)


@pytest.mark.parametrize("name", PATTERNS)
def test_usual_text_has_cuts_everywhere(name: str) -> None:
    data = ("It's 2,024 words, and more of it.\n\n" * 20).encode()
    cuts, found, at = cuts_of(name), [], 0
    while (cut := cuts.first(data, at)) >= 0:
        found.append(cut)
        at = cut + 1
    assert len(found) > 100
    assert {*found} <= ends(PATTERNS[name], data.decode())


@settings(max_examples=300)
@given(
    parts=st.lists(TEXT | st.sampled_from([EOT, EOT[:5], EOT[4:], "<", "|>"]), max_size=6), at=st.integers(0, 30),
)  # fmt: skip
def test_literals_are_not_near(parts: list[str], at: int) -> None:
    """The parts of a text are cut as the whole, with the literal taken out first."""
    cuts, text = cuts_of("gpt2", EOT), "".join(parts)
    cut = cuts.first(text.encode(), at)
    if cut < 0:
        return
    left, right = text.encode()[:cut].decode(), text.encode()[cut:].decode()
    assert left.count(EOT) + right.count(EOT) == text.count(EOT)
    whole, *halves = ([one for part in some.split(EOT) for one in pretokenizer().split(part)]
                      for some in (text, left, right))  # fmt: skip
    assert [*itertools.chain(*halves)] == whole


@pytest.mark.parametrize("form", ["NFC", "NFD", "NFKC", "NFKD"])
@settings(max_examples=200)
@given(text=TEXT, at=st.integers(0, 30))
def test_normalization_changes_nothing_at_a_cut(form: str, text: str, at: int) -> None:
    from unicodedata import normalize

    data = text.encode()
    cut = cuts_of("gpt2", normalized=True).first(data, at)
    if cut < 0:
        return
    assert data[cut] < 0x80
    left, right = (normalize(form, half.decode()) for half in (data[:cut], data[cut:]))
    assert left + right == normalize(form, text)
    assert len(left.encode()) in ends(patterns.GPT2, left + right)


@given(text=TEXT, at=st.integers(0, 60), literals=st.lists(st.text("aB \n<é", min_size=1, max_size=4), max_size=40))
def test_near_is_the_first_cut_of_bytes_and_of_text(text: str, at: int, literals: list[str]) -> None:
    """Many literals, of which one may be in another."""
    cuts = cuts_of("gpt2", *literals)
    text += " and more words here" + "." * cuts.margin
    cut = cuts.near(text, at)
    assert cuts.near(text.encode(), len(text[:at].encode())) == (cut if cut < 0 else len(text[:cut].encode()))
    if cut >= 0:
        assert cut >= at
        for literal in filter(None, literals):
            assert all(not one < cut < one + len(literal) for one in places(text, literal))


def places(text: str, literal: str) -> list[int]:
    return [at for at in range(len(text)) if text.startswith(literal, at)]


def test_without_a_pattern_cuts_are_where_no_merge_joins() -> None:
    llama = TOKENIZERS["llama"]
    assert llama.scanner == "words"
    cuts = certain_cuts(llama._pretokenizer, list(llama.special_tokens), False)
    assert cuts is not None
    text = "the cat sat on a mat, naïve 中文字. " * 9
    found = [at for at in range(1, 200) if cuts.near(text, at) == at]
    assert len(found) > 20
    for before in ("", "q", "的 "):
        cut_there = llama._pretokenizer.ends((before + text).encode())
        assert {len((before + text[:at]).encode()) for at in found} <= {*cut_there}


def test_bytes_that_are_no_text_have_no_cut_in_them() -> None:
    cuts = cuts_of("gpt2")
    assert cuts.first(b"\xff" * 50, 0) == -1
    assert cuts.first("é".encode()[1:] + b"one two three four", 0) == cuts.first(b"xone two three four", 1)


def test_patterns_without_certain_cuts() -> None:
    assert certain_cuts(pretokenizer(None), [], False) is None
    assert certain_cuts(pretokenizer(r"(?<=x)\w+|\s+"), [], False) is None  # it is left to `regex`
