"""Differences in settings, vocabulary, merges and texts."""
import json
from pathlib import Path

from bpetite import Tokenizer, patterns
from bpetite.analysis import diff

CORPUS = "the cat sat on the mat, the cats' mats; naïve café 猫🙂 " * 4
SMALL = Tokenizer.train(CORPUS, 280)
LARGE = Tokenizer.train(CORPUS, 286)


def test_the_same() -> None:
    report = diff(SMALL, Tokenizer.train(CORPUS, 280), [CORPUS, ""])
    assert report.same
    assert (report.documents, report.documents_differing, report.shared) == (2, 0, len(SMALL))


def test_vocabulary_merges_and_settings() -> None:
    report = diff(SMALL, LARGE)
    assert not report.same
    assert (report.only_a, len(report.only_b)) == ({}, 6)
    assert report.moved == {b"<|endoftext|>": (280, 286)}
    assert report.specials == {"<|endoftext|>": (280, 286)}
    assert (report.first_merge, report.merges_at_first) == (24, (None, LARGE.merges[24]))
    other = Tokenizer(SMALL.vocab, SMALL.merges, {"<u>": 500}, pattern=patterns.CL100K, normalization="NFC")
    settings = diff(SMALL, other).settings
    assert settings == {"pattern": (patterns.GPT2, patterns.CL100K), "normalization": (None, "NFC")}


def test_places_and_their_page(tmp_path: Path) -> None:
    evil = "\x1b[31m\u202e<script>alert(1)</script>the the"
    report = diff(SMALL, LARGE, [CORPUS, evil], names=("<b>small", "large"), files=["<i>.txt"], places=1000)
    assert report.cut_places == len(report.places) > 0
    assert report.tokens_a == sum(len(SMALL.encode(text)) for text in (CORPUS, evil))
    for place in report.places:
        text = (CORPUS, evil)[place.document]
        assert text[: place.offset].endswith(place.before)
        assert text[place.offset :].startswith(place.text)
        assert b"".join(token for _, token in place.a) == b"".join(token for _, token in place.b)
    assert json.loads(json.dumps(report.to_dict()))["same"] is False
    assert str(report).startswith("A: <b>small, B: large: different\n")
    report.save(tmp_path / "page.html")
    for shown in ((tmp_path / "page.html").read_text(encoding="utf-8"), report.to_html(), str(report)):
        body = shown.split("</style>", 1)[-1]
        assert not [bad for bad in ("\u202e", "\x1b") if bad in body]
        assert not [bad for bad in ("<script", "<b>small", "<i>") if bad in body] or shown == str(report)
