"""Tokenizers compared on texts, against their figures computed one text and one token at a time."""
import json
import math
import re
import sys
from collections import Counter
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bpetite import Tokenizer, patterns
from bpetite.analysis import Comparison, compare, measure

CORPUS = "The cat sat on the mat; the dog's mat. Кошка сидит. 猫が座る。 naïve 1999 " * 3
ONE, TWO = Tokenizer.train(CORPUS, 330), Tokenizer.train(CORPUS[:60], 270, normalization="NFC")

module = sys.modules["bpetite.analysis.usage"]


text = st.text("the cat's Кошка猫が9.\n🙂", max_size=30)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["de", "ja", "x"]), text), max_size=8))
def test_the_figures_are_those_of_the_definitions(texts: list[tuple[str, str]]) -> None:
    found = compare([ONE, TWO], texts)
    assert found.documents == Counter(group for group, _ in texts)
    for figures, tok in zip(found.figures, (ONE, TWO), strict=True):
        for group in found.documents:
            inside = [one for of, one in texts if of == group]
            ids = [tok.encode_ordinary(one) for one in inside]
            size = sum(len(tok.decode_bytes(one)) for one in ids)
            tokens = sum(map(len, ids))
            use = figures.groups[group]
            assert (use.tokens, use.bytes) == (tokens, size)
            assert vars(use) == vars(measure(tok, inside).total)
        assert vars(figures.usage.total) == vars(measure(tok, [one for _, one in texts]).total)
        used = {token_id for _, one in texts for token_id in tok.encode_ordinary(one)}
        assert math.isclose(figures.usage.vocabulary_used, len(used) / (len(tok) - 1), abs_tol=1e-12)


def test_texts_in_every_form() -> None:
    by_group = {"a": ["the cat"], "b": ["the dog", "mat"]}
    pairs = [("b", "the dog"), ("a", "the cat"), ("b", "mat")]
    assert [vars(one) for one in compare([ONE], by_group).figures[0].groups.values()] == [
        vars(compare([ONE], pairs).figures[0].groups[group]) for group in "ab"
    ]
    plain = compare({"one": ONE}, ["the cat", "the dog", "mat"])
    assert plain.groups == []
    assert vars(plain.figures[0].usage.total) == vars(compare([ONE], by_group).figures[0].usage.total)


def test_groups_have_any_name() -> None:
    assert compare([ONE], {"all": ["ab"]}).groups == ["all"]
    found = compare([ONE], [("", "a"), (None, "ab"), "abc"])
    assert (found.groups, found.documents) == ([""], {"": 1, None: 2})
    assert found.figures[0].usage.documents == 3


def test_long_texts_of_many_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts are measured a block at a time; the largest group first where many are open."""
    texts = [(f"g{number % 40}", f"Line {number} of the text.\n" * (1 + number % 5)) for number in range(400)]
    whole = compare([ONE], texts).to_dict()
    monkeypatch.setattr(module, "BATCH", 200)
    monkeypatch.setattr(module, "HELD", 600)
    parts = compare([ONE], texts).to_dict()
    assert parts == whole


def found() -> Comparison:
    texts = {"<b>de</b>": ["die Katze sitzt\x1b[31m"], "ja": ["猫が座る。"], "empty": [""]}
    return compare({"<i>one": ONE, "two": TWO}, texts, by="lang", files=["a.jsonl"])


def test_rows_and_json() -> None:
    report = found()
    assert report.groups == ["<b>de</b>", "ja", "empty"]
    rows = report.rows()
    assert [(row["tokenizer"], row["group"]) for row in rows] == [
        (name, group) for name in ("<i>one", "two") for group in (None, *report.groups)
    ]
    assert rows[0]["longest_bytes"] == len(report.figures[0].longest)
    assert "longest_bytes" not in rows[1]
    assert rows[1]["bytes_per_token"] == round(report.figures[0].groups["<b>de</b>"].bytes_per_token, 4)
    content = json.loads(json.dumps(report.to_dict()))
    assert [one["tokenizer"] for one in content["rows"] if one["group"] is None] == ["<i>one", "two"]
    assert next(one for one in content["rows"] if one["group"] == "empty")["tokens"] == 0
    assert content["files"] == ["a.jsonl"]


def test_text_and_page(tmp_path: Path) -> None:
    report = found()
    said = str(report)
    assert "\x1b" not in said
    assert all(name in said for name in ("tokens per word", "vocabulary used"))
    assert "Bytes per token by lang" in said
    report.save(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert not [bad for bad in ("<b>de", "<i>one", "<script") if bad in page]
    assert page.count("--share: 100.0%") == 6 + 2  # the longest bar of all texts and of each group; one is 0
    assert compare([ONE], []).page().startswith("<!doctype html>")
    assert repr(report).startswith("<Comparison of tokenizers: 2 tokenizers, different, ")
    assert repr(report.figures[1]).startswith("<Figures of two: ")


def test_names_keep_the_end_that_tells_them_apart() -> None:
    folder = "/data/experiments/of-november"
    report = compare({f"{folder}/{one}/tokenizer.json": ONE for one in "ab"}, {"x": ["the"], "y": [""]})
    page = report.page()
    for one in "ab":
        assert f" bytes per token, {one}\n" in str(report)
        assert f'title="{folder}/{one}/tokenizer.json">{one}</th>' in page
    # of parts that differ only at their start, the whole
    long = [f"{letter}-{'long' * 9}" for letter in "ab"]
    assert all(f", {one}\n" in str(compare(dict.fromkeys(long, ONE), ["the"])) for one in long)


# What differs

CATS = "the cat sat on the mat, the cats' mats; naïve café 猫🙂 " * 4
SMALL, LARGE = Tokenizer.train(CATS, 280), Tokenizer.train(CATS, 286)


def test_the_same() -> None:
    report = compare([SMALL, Tokenizer.train(CATS, 280)], [CATS, ""])
    assert report.same
    (only,) = report.differences
    assert (only.documents_differing, only.shared) == (0, len(SMALL))
    assert "So are the ids of all texts." in str(report)


def test_vocabulary_merges_and_settings() -> None:
    (found,) = compare([SMALL, LARGE]).differences
    assert not found.same
    assert (found.only_a, len(found.only_b)) == ({}, 6)
    assert found.moved == {b"<|endoftext|>": (280, 286)}
    assert found.specials == {"<|endoftext|>": (280, 286)}
    assert (found.first_merge, found.merges_at_first) == (24, (None, LARGE.merges[24]))
    assert (found.merges_only_a, found.merges_only_b) == (0, 6)
    other = Tokenizer(SMALL.vocab, SMALL.merges, {"<u>": 500}, pattern=patterns.CL100K, normalization="NFC")
    two = compare([SMALL, LARGE, other]).differences
    assert [one.names for one in two] == [("A", "B"), ("A", "C")]
    assert two[1].settings == {"pattern": (patterns.GPT2, patterns.CL100K), "normalization": (None, "NFC")}


def test_places_and_their_page(tmp_path: Path) -> None:
    evil = "\x1b[31m\u202e<script>alert(1)</script> the mats"
    texts = [CATS, "", evil, "no"]
    named = {"<b>small": SMALL, "large": LARGE}
    report = compare(named, texts, files=["<i>.txt"], places=1000)
    (differences,) = report.differences
    assert differences.cut_places == len(differences.places) > 0
    assert differences.documents_differing == 2
    for place in differences.places:
        text = texts[place.document]
        assert text[: place.offset].endswith(place.before)
        assert text[place.offset :].startswith(place.text)
        assert b"".join(token for _, token in place.a) == b"".join(token for _, token in place.b)
        assert place.a != place.b
    assert json.loads(json.dumps(report.to_dict()))["same"] is False
    report.save(tmp_path / "page.html")
    for shown in ((tmp_path / "page.html").read_text(encoding="utf-8"), report.to_html(), str(report)):
        body = shown.split("</style>", 1)[-1]
        assert not [bad for bad in ("\u202e", "\x1b") if bad in body]
        assert not [bad for bad in ("<script", "<b>small", "<i>") if bad in body] or shown == str(report)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text("the cat's猫é\u0301🙂 \n", max_size=12), max_size=5))
def test_the_differing_places_are_those_of_the_definition(texts: list[str]) -> None:
    """The edges that both have cut a text into ranges; neighbours of other tokens are one place."""
    for other in (LARGE, Tokenizer(LARGE.vocab, LARGE.merges, LARGE.special_tokens, normalization="NFC")):
        (found,) = compare([SMALL, other], texts, places=1000).differences
        differing = places = 0
        for text in texts:
            sides = [[tok.token_bytes(one) for one in tok.encode_ordinary(text)] for tok in (SMALL, other)]
            differing += sides[0] != sides[1]
            if b"".join(sides[0]) != b"".join(sides[1]):
                places += 1
                continue
            edges = [list(accumulate(map(len, side), initial=0)) for side in sides]
            common = sorted(set(edges[0]) & set(edges[1]))
            cut = [any(start < edge < end for side in edges for edge in side) for start, end in pairwise(common)]
            places += sum(one and not before for before, one in pairwise([False, *cut]))
        assert (found.documents_differing, found.cut_places) == (differing, places)
        assert len(found.places) == places


@pytest.mark.parametrize(
    ("tokenizers", "texts", "error", "message"),
    [
        ([], ["a"], ValueError, "no tokenizer to compare"),
        (ONE, ["a"], TypeError, r"use \[tokenizer\]"),
        (["gpt2"], ["a"], TypeError, "A: 'gpt2' is no Tokenizer"),
        ([ONE], "text", TypeError, r"not one str: use \[text\]"),
        ([ONE], {"de": "text"}, TypeError, r"texts\['de'\] is an iterable of texts"),
        ([ONE], 5, TypeError, "texts is an iterable of texts, not 5"),
        ([ONE], {"de": 5}, TypeError, r"texts\['de'\] is an iterable of texts, not 5"),
        ([ONE], [b"text"], TypeError, "a text is a str, or a pair of a group and a text, not b'text'"),
    ],
)
def test_refusals(tokenizers: Any, texts: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        compare(tokenizers, texts)


def test_a_page_has_a_colour_for_each_tokenizer() -> None:
    named = {"one": Tokenizer.train("ab ab ab", 257), "two": Tokenizer.train("ab ab ab", 258)}
    page = compare(named, {"x": ["ab ab"], "y": ["zz ab"]}).page()
    rows = re.findall(r'<th scope="row" class="side (c.)">(\w+)', page)
    assert rows == [("c0", "one"), ("c1", "two")]
    heads = re.findall(r'class="number side (c.)" title="(\w+)"', page)
    assert heads == 3 * rows
    bars = re.findall(r'class="number (c.)" style="--share', page)
    assert bars == 7 * ["c0"] + 7 * ["c1"] + 6 * ["c0", "c1"]
    assert {*re.findall(r"\.bpe \.(c[01]) \{", page)} == {"c0", "c1"}
