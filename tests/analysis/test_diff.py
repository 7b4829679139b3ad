"""Differences in settings, vocabulary, merges and texts, against a plain comparison."""
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bpetite import Tokenizer, Vocab, patterns
from bpetite.analysis import DiffReport, diff
from bpetite.analysis.scripts import token_repr

CORPUS = "the cat sat on the mat, the cats' mats; naïve café 猫🙂 " * 4
SMALL = Tokenizer.train(CORPUS, 280)
LARGE = Tokenizer.train(CORPUS, 286)


def spans(tokenizer: Tokenizer, text: str) -> list[tuple[int, int, int]]:
    found, at = [], 0
    for one in tokenizer.encode(text):
        size = len(tokenizer.token_bytes(one))
        found.append((at, at + size, one))
        at += size
    return found


def test_the_same() -> None:
    report = diff(SMALL, Tokenizer.train(CORPUS, 280), [CORPUS, ""])
    assert report.same
    assert (report.documents, report.documents_differing) == (2, 0)
    assert report.shared == len(SMALL)


def test_vocabulary_and_merges() -> None:
    report = diff(SMALL, LARGE)
    assert not report.same
    assert report.only_a == {}
    assert len(report.only_b) == 6
    assert report.moved == {b"<|endoftext|>": (280, 286)}
    assert report.specials == {"<|endoftext|>": (280, 286)}
    assert report.first_merge == 24
    assert report.merges_at_first == (None, LARGE.merges[24])
    assert (report.merges_only_a, report.merges_only_b, report.merges_reordered) == (0, 6, 0)
    assert report.settings == {}


def test_settings_and_specials() -> None:
    a = Tokenizer(SMALL.vocab, SMALL.merges, {"<s>": 500, "<t>": 501})
    b = Tokenizer(SMALL.vocab, SMALL.merges, {"<s>": 501, "<u>": 500}, pattern=patterns.CL100K, normalization="NFC")
    report = diff(a, b)
    assert report.settings == {"pattern": (patterns.GPT2, patterns.CL100K), "normalization": (None, "NFC")}
    assert report.specials == {"<s>": (500, 501), "<t>": (501, None), "<u>": (None, 500)}
    assert report.first_merge is None
    ranks = Tokenizer(SMALL.vocab, None)
    assert diff(SMALL, ranks).settings["kind"] == ("merges", "ranks")


def test_merges_in_another_order() -> None:
    swapped = SMALL.merges
    swapped[1], swapped[10] = swapped[10], swapped[1]
    report = diff(SMALL, Tokenizer(SMALL.vocab, swapped, SMALL.special_tokens))
    assert report.first_merge == 1
    assert report.merges_reordered == 2
    assert (report.merges_only_a, report.merges_only_b) == (0, 0)


def test_special_tokens_in_texts() -> None:
    without = Tokenizer({one: token for one, token in SMALL.vocab.items() if one != 280}, SMALL.merges)
    report = diff(SMALL, without, ["a<|endoftext|>b"])
    (place,) = report.places
    assert (place.before, place.text, place.after) == ("a", "<|endoftext|>", "b")
    assert place.a == ((280, b"<|endoftext|>"),)
    assert diff(SMALL, without, ["a<|endoftext|>b"], ordinary=True).documents_differing == 0


def test_other_ids_for_the_same_tokens() -> None:
    renumbered = Tokenizer(
        {one + 5: token for one, token in SMALL.vocab.items()}, SMALL.merges, {"<|endoftext|>": 285}
    )
    report = diff(SMALL, renumbered, ["the cat"], places=1)
    assert report.cut_places == 0
    assert report.other_ids == len(SMALL.encode("the cat"))
    assert len(report.moved) == len(SMALL)
    assert [(place.cut, place.text) for place in report.places] == [(False, SMALL.decode(SMALL.encode("the cat")[:1]))]


def test_different_normalization() -> None:
    composed = Tokenizer(SMALL.vocab, SMALL.merges, SMALL.special_tokens, normalization="NFC")
    report = diff(SMALL, composed, ["plain", "cafe\u0301 now"])
    assert report.documents_differing == 1
    (place,) = report.places
    assert place.document == 1
    assert place.text.startswith("e")


@settings(max_examples=80, deadline=None)
@given(texts=st.lists(st.text("the cats' mat,é猫🙂 \n", max_size=40) | st.text(max_size=20), max_size=4))
def test_places_are_those_of_a_plain_comparison(texts: list[str]) -> None:
    report = diff(SMALL, LARGE, texts, places=1000)
    cut = other = 0
    for text in texts:
        ours, theirs = spans(SMALL, text), spans(LARGE, text)
        shared = {end for _, end, _ in ours} & {end for _, end, _ in theirs}
        last, run = 0, False
        for end in sorted(shared):
            a = [one for one in ours if last <= one[0] < end]
            b = [one for one in theirs if last <= one[0] < end]
            differs = len(a) != 1 or len(b) != 1
            cut += differs and not run
            other += not differs and a[0][2] != b[0][2]
            run, last = differs, end
    assert (report.cut_places, report.other_ids) == (cut, other)
    assert len([place for place in report.places if place.cut]) == cut
    for place in report.places:
        text = texts[place.document]
        assert text[place.offset :].startswith(place.text)
        assert text[: place.offset].endswith(place.before)
        assert b"".join(token for _, token in place.a) == b"".join(token for _, token in place.b)
    assert report.tokens_a == sum(len(SMALL.encode(text)) for text in texts)


def test_json_and_text() -> None:
    report = diff(SMALL, LARGE, [CORPUS, "\x1b[31m\u202ethe the"], names=("small", "large"), files=["corpus.txt"])
    content = json.loads(json.dumps(report.to_dict()))
    assert content["same"] is False
    assert content["only_b"] == {token_repr(token): token_id for token, token_id in report.only_b.items()}
    assert (content["documents"], content["documents_differing"]) == (2, 1)
    assert content["places"][0]["a"] == [[token_id, token_repr(token)] for token_id, token in report.places[0].a]
    assert content["names"] == ["small", "large"]
    said = str(report)
    assert said.startswith("A: small, B: large: different\n")
    assert "\n  Texts: corpus.txt\n  Made " in said
    assert "the same at the start  24" in said
    assert "\x1b" not in said
    assert "\u202e" not in said
    assert DiffReport().same


def test_page(tmp_path: Path) -> None:
    evil = "\x1b[31m\u202e<script>alert(1)</script>the the"
    report = diff(SMALL, LARGE, [CORPUS, evil], names=("<b>small", "large"), files=["<i>.txt"], places=1000)
    report.save(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert report._repr_html_() == report.to_html()
    for shown in (page, report.to_html()):
        body = shown.split("</style>", 1)[1]
        for bad in ("<script", "<b>small", "<i>", "\u202e", "\x1b"):
            assert bad not in body
        assert "&lt;b&gt;small" in body
        assert 'class="fault">different<' in body
        assert body.count('class="place"') == report.cut_places == len(report.places)
        assert "Tokens only in B" in body
        assert "Tokens only in A" not in body
        assert f"<dt>documents get other ids</dt><dd>{report.documents_differing} of 2</dd>" in body
        # of each place the tokens of both sides, by their ids
        ids = [token_id for place in report.places for side in (place.a, place.b) for token_id, _ in side]
        assert [int(one) for one in re.findall(r'data-i="(\d+)"', body)] == ids


def test_page_of_two_that_are_the_same() -> None:
    page = diff(SMALL, SMALL, [CORPUS]).page()
    assert 'class="fine">the same<' in page
    assert "the ids of all texts" in page


def test_the_same_tokens_under_other_ids() -> None:
    tokens = SMALL.vocab
    tokens[97], tokens[98] = tokens[98], tokens[97]
    page = diff(SMALL, Tokenizer(tokens, SMALL.merges, SMALL.special_tokens), ["xa"]).page()
    assert "<td class=\"num\">97</td><td class=\"num\">98</td><td><code>&#x27;a&#x27;</code></td>" in page


def test_a_place_as_long_as_its_document() -> None:
    """One stretch without a common edge: text, page and repr show its beginning."""
    pairs = Tokenizer({byte: bytes([byte]) for byte in range(256)} | {256: b"aa"}, [(b"a", b"a")])
    shifted = Tokenizer(
        {byte: bytes([byte]) for byte in range(256)} | {256: b"ba", 257: b"aa"}, [(b"b", b"a"), (b"a", b"a")]
    )
    report = diff(pairs, shifted, ["b" + "a" * 99_999])
    assert max(len(place.text) for place in report.places) > 90_000
    assert len(str(report)) < 5_000
    assert len(report.page()) < 50_000


def test_published_vocabularies(shared: Callable[[str], Path]) -> None:
    gpt2 = Tokenizer.load(shared("gpt2"))
    cl100k = Tokenizer.from_tiktoken(shared("openai/cl100k_base.tiktoken"), pattern=patterns.CL100K)
    with shared("text/english.txt").open(encoding="utf-8") as file:
        text = file.read(300_000)
    report = diff(gpt2, cl100k, [text], places=3)
    assert report.settings.keys() == {"kind", "pattern"}
    assert report.tokens_a == len(gpt2.encode(text))
    assert len(report.places) == 6
    assert report.cut_places > 100


def test_a_byte_without_a_token() -> None:
    with pytest.raises(ValueError, match=r"0x7a|122|'z'"):
        diff(SMALL, Tokenizer({0: b"a"}, []), ["az"])


def test_tokens_that_only_decode_and_aliases() -> None:
    tokens = {byte: bytes([byte]) for byte in range(256)} | {256: b"<a>", 257: b" "}
    it = Vocab(tokens, (), {"<a>": 256, "<b>": 256}, unreachable=frozenset({257}))
    without = Vocab({256: b"<b>"} | {key: token for key, token in tokens.items() if key < 256}, (), it.special_tokens)
    report = diff(Tokenizer.from_vocab(it), Tokenizer.from_vocab(without), ["a<a> <b>"])
    assert report.settings == {"aliases": ({"<b>": 256}, {"<a>": 256}), "unreachable": ([257], [])}
    assert (report.only_a, report.only_b, report.moved, report.documents_differing) == ({}, {}, {}, 0)
    assert not report.same
    assert diff(Tokenizer.from_vocab(it), Tokenizer.from_vocab(it)).same
    assert "unreachable" in str(report)
