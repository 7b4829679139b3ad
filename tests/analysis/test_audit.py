"""The audit: tokenizers with known faults, each of which is found; and GPT-2."""
import json
import re
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import pytest

import bpetite
from bpetite import Tokenizer, Vocab
from bpetite.analysis import audit, compare, reach, view
from bpetite.analysis.audit import FINDINGS, TOKEN_CLASSES, token_class
from bpetite.vocabulary.alphabet import Alphabet
from tests.analysis.test_reach import plain

TEXTS = ["The quick brown fox jumps over the lazy dog. " * 20, "Быстрая коричневая лиса", "敏捷的棕狐 🙂", ""]


def codes(tokenizer: Tokenizer, severity: str | None = None) -> dict[str, int]:
    found = audit(tokenizer).findings
    return {one.code: one.count for one in found if severity in (None, one.severity)}


def test_a_trained_tokenizer_has_no_fault() -> None:
    tok = Tokenizer.train(TEXTS, 400)
    assert codes(tok, "fault") == {}
    assert codes(tok) == {"unreachable-bytes": 13}


MADE_OF_AB = plain(b"ab", b"abc")
ACCENTS = [(b"e", b"\xcc"), (b"e\xcc", b"\x81"), (b"\xc3", b"\xa9")]
COMPOSED = plain(*(left + right for left, right in ACCENTS))
OF_ABC = [(b"a", b"b"), (b"b", b"c"), (b"ab", b"c"), (b"a", b"bc")]


@pytest.mark.parametrize(("tok", "faults", "notes"), [
    (Tokenizer({byte: bytes([byte]) for byte in range(0x80)}, []), {"missing-bytes": 128 - 13}, {}),
    (Tokenizer({byte: bytes([byte]) for byte in range(256) if byte not in (0xC0, 0xFF)}, []), {},
     {"unreachable-bytes": 11, "id-gaps": 1}),
    (Tokenizer(plain(), [], ["a", "<s>"]), {"forgeable-specials": 1}, {"unreachable-bytes": 13}),
    # "abc" needs "ab", which comes later, or never
    (Tokenizer(MADE_OF_AB, [(b"ab", b"c"), (b"a", b"b")]), {"merge-order": 1}, {"unreachable-bytes": 13}),
    (Tokenizer(MADE_OF_AB, [(b"ab", b"c")]), {"merge-order": 1, "unreachable-merges": 2}, {"unreachable-bytes": 13}),
    # as SentencePiece's lists are
    (Tokenizer.from_vocab(Vocab(dict(enumerate([b"a", b"b", b"c", b"abc", b"ab"])), ((4, 2), (0, 1)), {}, pattern=None,
                                alphabet=Alphabet())), {}, {"merge-order": 1}),
    # under the ranks rule, and under ignore_merges, a token is found whole
    (Tokenizer(plain(b"xyz"), []), {"unreachable-merges": 1}, {"unreachable-bytes": 13}),
    (Tokenizer(plain(b"xyz"), None), {}, {"unreachable-bytes": 13}),
    (Tokenizer.from_vocab(Vocab(plain(b"xyz"), (), {}, ignore_merges=True)), {}, {"unreachable-bytes": 13}),
    (Tokenizer(plain(b"12"), [(b"1", b"2")], pattern=r"\d"), {}, {"unreachable-bytes": 13, "unreachable-pattern": 1}),
    (Tokenizer(COMPOSED, ACCENTS, pattern=None), {},
     {"unreachable-bytes": 13, "same-after-NFC": 1, "same-after-NFKC": 1}),
    (Tokenizer(COMPOSED, ACCENTS, pattern=None, normalization="NFC"), {"unreachable-normalization": 1},
     {"unreachable-bytes": 13, "same-after-NFC": 1, "same-after-NFKC": 1}),
    (Tokenizer(plain(b"\xff\xfe"), [(b"\xff", b"\xfe")]), {}, {"unreachable-bytes": 13, "unreachable-utf-8": 1}),
    (Tokenizer(plain(b"ab", b"bc", b"abc"), OF_ABC, {"<s>": 1000, "<s>>": 1001}), {},
     {"unreachable-bytes": 13, "id-gaps": 1, "overlapping-specials": 1}),  # 259 to 999
])  # fmt: skip
def test_known_faults_are_found(tok: Tokenizer, faults: dict[str, int], notes: dict[str, int]) -> None:
    assert (codes(tok, "fault"), codes(tok, "note")) == (faults, notes)


def test_faults_have_examples() -> None:
    made = {"missing-bytes": Tokenizer({byte: bytes([byte]) for byte in range(0x80)}, []),
            "forgeable-specials": Tokenizer(plain(), [], ["a", "<s>"]),
            "merge-order": Tokenizer(MADE_OF_AB, [(b"ab", b"c"), (b"a", b"b")]),
            "unreachable-merges": Tokenizer(plain(b"xyz"), [])}  # fmt: skip
    found = {code: audit(tok).faults[0].examples[0] for code, tok in made.items()}
    assert found.pop("merge-order").items() >= {"merge": 0}.items()
    assert found == {
        "missing-bytes": {"byte": "0x80"},
        "forgeable-specials": {"id": 97, "token": "'a'", "text": "a"},
        "unreachable-merges": {"id": 256, "token": "'xyz'", "instead": ["'x'", "'y'", "'z'"]},
    }
    assert "merge 1 makes it" in str(audit(made["merge-order"]))
    assert "no merge makes it" in str(audit(Tokenizer(MADE_OF_AB, [(b"ab", b"c")])))


def test_token_classes() -> None:
    expected = {
        b"the": "word", b" the": "space + word", "é".encode(): "word", b"12": "digits", b" 7": "space + digits",
        b"  ": "whitespace", b"\n\t": "whitespace", b"...": "symbols", b" (": "space + symbols", b"a": "byte",
        b"\x80": "byte", b"\xe4\xbd": "partial", b"\xbd!": "partial", b"a1": "mixed", b"a b": "mixed",
        "नमस्ते".encode(): "word", "🙂".encode(): "symbols",
    }  # fmt: skip
    assert {token: token_class(token) for token in expected} == expected
    assert set(expected.values()) | {"special"} == set(TOKEN_CLASSES)
    tok = Tokenizer({0: b"<s>", 5: b"ab", 3: b"cd"}, [], {"<s>": 0})
    assert audit(tok).classes == {"special": [0], "word": [3, 5]}


class Careless(Tokenizer):
    """Loses the last letter of texts that end in "!", and misses special tokens."""

    __slots__ = ()

    def encode_to_numpy(self, text, **options):  # type: ignore[no-untyped-def]
        return super().encode_to_numpy(text.removesuffix("!"), **options)

    def encode(self, text, **options):  # type: ignore[no-untyped-def]
        return super().encode(text, allowed_special=())


def test_texts_that_break_a_promise_are_named() -> None:
    tok = Tokenizer.train(TEXTS, 400)
    texts = ["a", "The fox!", "The lazy dog!", "quick"]
    found = {one.code: one for one in audit(Careless.from_vocab(tok.to_vocab()), texts).faults}
    assert found.keys() == {"round-trip", "special-tokens"}
    assert found["round-trip"].count == 2
    assert found["round-trip"].examples[0] == {"text": 1, "why": "'' instead of '!' at character 7"}
    assert found["special-tokens"].examples == ({"special": "<|endoftext|>", "id": tok.eot_token},)
    said = str(audit(Careless.from_vocab(tok.to_vocab()), texts))
    assert "text 1, why '' instead of '!' at character 7" in said


@pytest.mark.parametrize("normalization", [None, "NFC", "NFKD"])
@pytest.mark.parametrize("ranks", [False, True])
def test_a_tokenizer_that_keeps_its_promises(ranks: bool, normalization: str | None) -> None:
    trained = Tokenizer.train("the cat sat on the mat " * 5, 290)
    specials = trained.special_tokens | {"<|e|>": trained.special_tokens["<|endoftext|>"]}
    tokens = {**trained.vocab, 300: b"", 301: b""}
    tok = Tokenizer(tokens, trained.merges, specials, normalization=normalization)
    texts = ["the cat's 猫 🙂\n\n  mat", "", "a<|endoftext|>b", "e\u0301 " * 5, "x" * 70_000]
    assert audit(tok.to_ranks() if ranks else tok, texts).faults == []


def test_a_chain_of_merges_takes_little_time() -> None:
    """Each token is the one before and a letter: 1,500 of them, merged by the plain definition, take minutes."""
    chain = [b"a" * size for size in range(2, 1502)]
    tok = Tokenizer(plain(*chain), [(token[:-1], b"a") for token in chain])
    assert codes(tok, "fault") == {"unreachable-merges": 1498}  # all but aa and aaa: pairs of aa come first


def test_scripts_and_lengths() -> None:
    tok = Tokenizer.train(TEXTS, 330)
    report = audit(tok)
    assert report.scripts["Latin"] > 50
    assert report.scripts["Cyrillic"] > 0
    assert sum(report.lengths.values()) == len(tok) - 1
    assert all(tok.token_bytes(one) == token for one, token in report.longest.items())
    lengths = list(map(len, report.longest.values()))
    assert lengths == sorted(lengths, reverse=True)
    assert lengths[0] == max(report.lengths)
    assert sum(map(len, report.classes.values())) == len(tok)


def test_json_and_text() -> None:
    report = audit(Tokenizer.train(TEXTS, 330, special_tokens=["<|x|>"]), TEXTS, name="small", files=["a.txt", "b.txt"])
    content = json.loads(json.dumps(report.to_dict()))
    assert content.keys() == {
        "name", "files", "settings", "classes", "scripts", "lengths", "longest", "unreachable", "fault_count",
        "findings", "usage",
    }  # fmt: skip
    assert content["settings"].items() >= {"special_tokens": {"<|x|>": 330}, "unicode": "16.0"}.items()
    assert (content["fault_count"], content["usage"]["documents"], content["files"]) == (0, 4, ["a.txt", "b.txt"])
    # the figures that matter most come first, then where the report comes from
    top = str(report).split("\n\n")[0].splitlines()
    assert top[0] == "Audit of small: no faults"
    assert top[1].split() == [f"{report.usage.total.bytes_per_token:.3f}", "bytes", "per", "token"]  # type: ignore[union-attr]
    assert ["13", "unreachable", "tokens"] in [line.split() for line in top]
    assert top[-2] == "  Texts: a.txt, b.txt"
    assert f"by bpetite {bpetite.__version__}, Unicode 16.0, regex {version('regex')}" in top[-1]


def test_what_tokens_hold_does_not_reach_the_terminal_or_the_page() -> None:
    evil = ["<script>alert(1)</script>", "\x1b[2Jclear", "\u202eright to left", "\"><img src=x onerror=alert(1)>"]
    report = audit(Tokenizer(plain(), [], evil), evil, name="<b>evil</b>", files=["<i>\u202efile"])
    assert not [bad for bad in ("\x1b", "\u202e") if bad in str(report)]
    for page in (report.page(), report.to_html()):
        assert not [bad for bad in ("<script", "<img", "<i>", "\u202e") if bad in page]
        assert "&lt;b&gt;evil" in page


def test_page_and_element_begin_with_the_headline(tmp_path: Path) -> None:
    report = audit(Tokenizer.train(TEXTS, 330), TEXTS, name="small", files=[f"part-{at}.txt" for at in range(7)])
    report.save(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.count("--share: 100.0%") >= 7  # the longest bar of each column
    assert audit(Tokenizer({}, [])).page().count('style="--share') == 13
    assert "http" not in page.split("</style>", 1)[1]
    element = report.to_html()
    assert report._repr_html_() == element
    assert element.startswith('<div class="bpe">\n<style>')
    said = ("Audit of small", "no faults", "<dt>bytes per token</dt>", "<dt>unreachable tokens</dt>",
            f"by bpetite {bpetite.__version__}", "part-0.txt, part-1.txt", "and 2 more", "<table")  # fmt: skip
    for shown in (page, element):
        places = [shown.split("</style>", 1)[1].index(one) for one in said]
        assert places == sorted(places)


def test_reprs_are_one_short_line() -> None:
    tok = Tokenizer.train(TEXTS, 400)
    report = audit(tok, ["the cat " * 1000])
    found = [report, report.usage, reach(tok), view(tok, "the cat " * 10_000), *report.findings]
    compared = compare([tok, Tokenizer.train(TEXTS, 256)], ["the cat " * 10_000])
    found += [compared, *compared.figures, *compared.differences, *compared.differences[0].places]
    assert {type(one).__name__ for one in found} == {
        "AuditReport", "Usage", "Reach", "TokenView", "Finding", "Comparison", "Figures", "Differences", "Place"
    }
    for one in found:
        assert "\n" not in repr(one)
        assert len(repr(one)) < 400, type(one)


def test_gpt2(shared: Callable[[str], Path]) -> None:
    """GPT-2 has no fault. It has 13 byte tokens that no text can produce, and tokens that are equal after NFKC."""
    tok = Tokenizer.load(shared("gpt2"))
    report = audit(tok)
    assert report.faults == []
    assert {one.code: one.count for one in report.findings} == {"unreachable-bytes": 13, "same-after-NFKC": 26}
    assert {kind: len(ids) for kind, ids in report.classes.items()}["byte"] == 256
    assert [one.id for one in report.unreachable] == [124, 125, *range(177, 188)]
    assert len(next(iter(report.longest.values()))) == 128


def test_tokens_that_only_decode() -> None:
    tokens = plain(b"th", b"", "你".encode(), b" ", b"\xff", "你".encode())
    for merges in (((116, 104),), None):
        vocab = Vocab(tokens, merges, {}, unreachable=frozenset({258, 259, 260}), ignore_merges=merges is not None)
        report = audit(Tokenizer.from_vocab(vocab), ["the the"])
        assert codes(Tokenizer.from_vocab(vocab)) == {"unreachable-bytes": 13, "unreachable-decode-only": 4}
        found = next(one for one in report.findings if one.code == "unreachable-decode-only")
        assert (found.severity, [one["id"] for one in found.examples]) == ("note", [257, 258, 259, 260])
        assert report.settings["decode_only"] == [257, 258, 259, 260]
        assert report.lengths == {1: 256, 2: 1, 3: 1}
        assert "unreachable-decode-only" in str(report)
        assert "only decode" in report.page()


def test_the_page_has_every_finding_with_its_severity() -> None:
    page = (Path(__file__).parents[2] / "docs" / "debugging.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`.+`) \| (fault|note) \|", page, re.M)
    listed = [(code, severity) for codes, severity in rows for code in re.findall("`([^`]+)`", codes)]
    assert sorted(listed) == sorted((code, severity) for code, (severity, _) in FINDINGS.items())


def test_settings_of_many_values_are_shown_in_part() -> None:
    report = audit(Tokenizer.train("ab", 256, special_tokens=[f"<{number}>" for number in range(12_000)]))
    assert "<39> 295, and 11,960 more" in str(report)
    assert "<40>" not in str(report) + report.page()
    assert len(report.to_dict()["settings"]["special_tokens"]) == 12_000
