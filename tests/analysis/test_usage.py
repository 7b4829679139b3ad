"""Measures over text, against counts of one token and one character at a time."""
from collections import Counter
from typing import Any

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from bpetite import Tokenizer, patterns
from bpetite.analysis import audit, measure, usage
from bpetite.analysis.escapes import escape
from bpetite.analysis.scripts import COMMON, main_script, scripts_of

CORPUS = "The cat sat on the mat; the dog's mat. Кошка сидит. 猫が座る。 ١٢٣ e\u0301 \U0001f642 naïve 1999 " * 3
TOK = Tokenizer.train(CORPUS, 330)


def plain_measure(tokenizer: Tokenizer, texts: list[str]) -> dict[str, dict[str, int]]:
    """script -> counts, the slow way."""
    found: dict[str, Counter[str]] = {}
    for text in texts:
        scripts = scripts_of(text)
        ids = tokenizer.encode_ordinary(text)
        spans, at = [], 0
        for one in ids:
            spans.append((at, at + len(tokenizer.token_bytes(one))))
            at = spans[-1][1]
        places, byte = [], 0
        for character in text:
            places.append((byte, byte + len(character.encode())))
            byte = places[-1][1]
        for start, end in spans:
            inside = [c for c, (first, last) in zip(text, places, strict=True) if first < end and last > start]
            counts = found.setdefault(main_script("".join(inside), scripts), Counter())
            counts["tokens"] += 1
            counts["bytes"] += end - start
            counts["characters"] += sum(start <= first < end for first, _ in places)
        for word in regex.finditer(r"[\p{L}\p{M}\p{N}]+", text):
            counts = found.setdefault(main_script(word.group(), scripts), Counter())
            start, end = places[word.start()][0], places[word.end() - 1][1]
            touched = sum(first < end and last > start for first, last in spans)
            counts["words"] += 1
            counts["word_tokens"] += touched
            counts["whole_words"] += touched == 1
    return {script: dict(+counts) for script, counts in found.items()}


@settings(max_examples=60, deadline=None)
@given(texts=st.lists(st.text("the cat's Кошка猫が\u0301é١9.\n🙂", max_size=40) | st.text(max_size=20), max_size=4))
def test_counts_are_those_of_the_slow_way(texts: list[str]) -> None:
    found = measure(TOK, texts)
    assert found.documents == len(texts)
    assert {
        script: {name: count for name, count in vars(use).items() if count} for script, use in found.scripts.items()
    } == plain_measure(TOK, texts)
    counts = Counter(one for text in texts for one in TOK.encode_ordinary(text))
    assert dict(zip(found.ids.tolist(), found.counts.tolist(), strict=True)) == {one: counts[one] for one in TOK.vocab}
    assert sum(found.word_tokens) == found.total.words


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ("abc", r"texts is an iterable of texts, not one str: use \[text\]"),
        (b"abc", r"texts is an iterable of texts, not one bytes: use \[text\]"),
        (5, "texts is an iterable of texts, not 5"),
        ([5], "a text is a str, not 5"),
        ([b"abc"], "a text is a str, not b'abc'"),
    ],
)
def test_what_are_no_texts_is_refused(texts: Any, message: str) -> None:
    for use in (measure, audit):
        with pytest.raises(TypeError, match=message):
            use(TOK, texts)


def test_pieces_end_after_a_line_where_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Such passages give the tokens of the whole; others may not, where they are cut."""
    monkeypatch.setattr(__import__("sys").modules["bpetite.analysis.usage"], "BATCH", 64)
    lines = "".join(f"Line {number} of the text.\n\n  More - of it 1999\n" for number in range(100))
    for pattern in (patterns.GPT2, patterns.CL100K, patterns.O200K):
        tok = Tokenizer.train(lines, 330, pattern=pattern)
        parts = list(usage.passages_of(lines))
        assert len(parts) > 50
        assert [one for part in parts for one in tok.encode_ordinary(part)] == tok.encode_ordinary(lines)
    long = "the cat sat on the mat " * 100
    parts = list(usage.passages_of(long))
    assert ("".join(parts), max(map(len, parts))) == (long, 64)
    found, whole = measure(TOK, [long]).total.tokens, len(TOK.encode_ordinary(long))
    assert whole < found < whole + 8 * len(parts)


def test_figures_by_hand() -> None:
    found = measure(Tokenizer({7: b"a", 2**32 - 1: b"b", 1000: b"ab"}, [(b"a", b"b")]), ["abba"])
    assert (found.most_used(5), found.never_used) == ([(7, 1), (1000, 1), (2**32 - 1, 1)], [])
    composed = Tokenizer.train(["cafe\u0301 " * 5], 262, normalization="NFC")
    assert measure(composed, ["cafe\u0301"]).total.characters == 4
    found = measure(Tokenizer({byte: bytes([byte]) for byte in range(256)}, []), ["cat cat zebra"])
    assert found.word_tokens[2] == 2


def test_a_byte_without_a_token() -> None:
    with pytest.raises(ValueError, match=r"0x7a|122|'z'"):
        measure(Tokenizer({0: b"a"}, []), ["az"])


def test_scripts() -> None:
    assert scripts_of("aя猫あ1 é\u0301") == {
        "a": "Latin", "é": "Latin", "я": "Cyrillic", "猫": "Han", "あ": "Hiragana"
    }  # fmt: skip
    assert main_script(" ...", {}) == COMMON


def test_escapes_of_what_cannot_be_seen() -> None:
    unseen = "\u202e\u200d\ufeff\x00\x1b\x7f\u00a0\u3000\U000e0100\ufe0f\ue000\u0378\u115f\u2800\n\t"
    assert all(escape(one) == one.encode("unicode-escape").decode() for one in unseen)
    assert escape("aé猫🙂! \u0301") == "aé猫🙂! \u0301"
    assert escape("a\n\udcff\t", keep="\n") == "a\n\\xff\\t"
