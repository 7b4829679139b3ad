"""Normalization against `unicodedata` and `str.replace`; what is refused."""
import unicodedata
from itertools import pairwise
from typing import Any

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from bpetite.steps import normalizers
from bpetite.steps.normalizers import FORMS, RUN, Normalization, Prepend, Replace, normalizer

texts = st.one_of(st.text(max_size=20), st.text("ab e\u0301éﬁÅ\u212b가\u1100\u1161", max_size=20))
short = st.text("ab \\1.", max_size=3)
steps = st.one_of(
    st.sampled_from(FORMS), st.builds(Prepend, short), st.builds(Replace, short.map(regex.escape), short)
)


def normalize(normalization: Normalization, text: str) -> str:
    function = normalizer(normalization)
    return text if function is None else function(text)


def test_each_step() -> None:
    assert normalizer(None) is normalizer(()) is None
    assert normalize(Prepend("x"), "ab") == "xab"
    assert normalize(Prepend("x"), "") == ""
    assert normalize(Replace(r"(\w)\1+", r"\1"), "aab ccc") == r"\1b \1"  # its content is literal
    # U+1C89 is a letter from 16.0 on, U+16EA0 from 17.0 on
    assert normalize(Replace(r"\p{L}+", "x"), "ab\u1c89c\U00016ea0c") == "x\U00016ea0x"


@given(text=texts, several=st.lists(steps, max_size=4).map(tuple))
def test_several_steps_are_applied_in_order(text: str, several: tuple[Any, ...]) -> None:
    expected = text
    for step in several:
        expected = normalize(step, expected)
    assert normalize(several, text) == expected


@pytest.mark.parametrize(
    ("normalization", "named"),
    [
        ("NFX", "'NFX' is not one of NFC, NFD, NFKC, NFKD or None"),
        (("NFC", "nfd"), "'nfd' is not one of"),
        (7, "7 is not one of"),
        (Replace("(", ""), r"Replace\(pattern='\(', content=''\): "),
    ],
)
def test_what_is_no_normalization(normalization: Any, named: str) -> None:
    with pytest.raises(ValueError, match=f"normalization {named}"):
        normalizers.check(normalization)


MARKS = [chr(code) for code in range(0x30000) if unicodedata.combining(chr(code))]
#: Starters and marks that compose or do not, decompose into marks alone, have class 0 and decompose into marks, jamo.
COMBINING = st.one_of(
    st.sampled_from(MARKS),
    st.sampled_from("aeéế\u0344\u0340\u0f71\u0f73\u0f75\u0f81\uff9e\uff9fがか\u3099\u09c7\u09be가\u1100\u1161\u11a8\u0653"),
)
#: Pieces of a text: runs of one unit, from none to several times as long as what is sorted first.
runs = st.lists(
    st.tuples(st.text(COMBINING, min_size=1, max_size=5), st.one_of(st.integers(1, 3), st.integers(RUN // 4, 3 * RUN))),
    max_size=4,
).map(lambda pieces: "".join(unit * times for unit, times in pieces))


@pytest.mark.parametrize("form", FORMS)
@given(text=runs, before=st.text("aé \u1100", max_size=70))
@settings(deadline=None)
def test_long_runs_of_marks_are_normalized_as_by_unicodedata(form: Any, text: str, before: str) -> None:
    for given_text in (text, before + text, text + before + text):
        assert normalize(form, given_text) == unicodedata.normalize(form, given_text)


@pytest.mark.parametrize("form", FORMS)
def test_every_run_length_around_the_limit(form: Any) -> None:
    for length in (*range(RUN - 2, RUN + 3), *range(2 * RUN - 2, 2 * RUN + 3)):
        for before in range(0, RUN + 1, 7):
            text = "a" * before + ("\u0323\u0301\u0334" * RUN)[:length] + "\uac00\u11a8"
            assert normalize(form, text) == unicodedata.normalize(form, text)


@pytest.mark.parametrize("form", ["NFD", "NFKD"])
def test_all_that_may_begin_with_a_mark_is_looked_for(form: Any) -> None:
    """Else a run of it would take time that grows with its square."""
    every = (chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000)
    begins = {char for char in every if unicodedata.combining(unicodedata.normalize(form, char)[0])}
    assert len(begins) > 800
    assert {char for char in begins if not normalizers._marks()[0].match(char)} == set()


@pytest.mark.parametrize("form", FORMS)
def test_marks_are_sorted_before_python_sees_them(form: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python's steps are the pairs of marks that are out of order. Of n and of 4 n marks none is left."""

    def inversions(text: str) -> int:
        classes = [unicodedata.combining(char) for char in text]
        return sum(1 for before, after in pairwise(classes) if before > after > 0)

    seen: list[str] = []
    original = unicodedata.normalize
    monkeypatch.setattr(unicodedata, "normalize", lambda form, text: seen.append(text) or original(form, text))
    for count in (1_000, 4_000):
        seen.clear()
        text = "a" + "\u0301\u0323\u0334" * count + " b" + "\u0344\u0323" * count
        assert inversions(text) >= 2 * count
        first = "a" + "\u0334" * count + "\u0323" * count + "\u0301" * count
        assert original("NFD", normalize(form, text)) == first + " b" + "\u0323" * count + "\u0308\u0301" * count
        assert sum(map(inversions, seen)) <= 2
        assert sum(map(len, seen)) < 2 * len(text)
