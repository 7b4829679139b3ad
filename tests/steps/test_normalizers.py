"""Normalization against `unicodedata` and `str.replace`; its JSON form; what is refused."""
import json
import unicodedata
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from bpetite import reference
from bpetite.patterns import as_tuple
from bpetite.splitting.pattern.unicode_version import unassigned
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
    # U+1ABF, of combining class 220, came with 13.0; U+1C89 is a letter from 16.0 on
    for step, version, text, expected in (
        ("NFC", "12.1", "e\u1abf\u0301", "e\u1abf\u0301"), ("NFC", "13.0", "e\u1abf\u0301", "é\u1abf"),
        (Replace(r"\p{L}+", "x"), "15.1", "ab\u1c89c", "x\u1c89x"), (Replace(r"\p{L}+", "x"), "16.0", "ab\u1c89c", "x"),
    ):  # fmt: skip
        assert normalizer(step, version)(text) == expected  # type: ignore[misc, arg-type]


@given(text=texts, several=st.lists(steps, max_size=4).map(tuple))
def test_several_steps_are_applied_in_order(text: str, several: tuple[Any, ...]) -> None:
    expected = text
    for step in several:
        expected = normalize(step, expected)
    assert normalize(several, text) == expected


@given(st.one_of(st.none(), steps, st.lists(steps).map(tuple)))
def test_json_gives_back_the_steps(normalization: Any) -> None:
    normalizers.check(normalization)
    again = normalizers.from_json(json.loads(json.dumps(normalizers.to_json(normalization))))
    assert as_tuple(again) == as_tuple(normalization)


@pytest.mark.parametrize("step", [7, {}, {"prepend": 1}, {"replace": "a"}, {"prepend": "a", "content": "b"}])
def test_json_that_is_never_written(step: Any) -> None:
    with pytest.raises(ValueError, match="normalization has the unknown step "):
        normalizers.from_json(["NFC", step])
    with pytest.raises(ValueError, match="normalization must be a string, an array or null, not "):
        normalizers.from_json(step)


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


#: U+1DFA came with 14.0 (a mark), U+1193x with 13.0 (vowel signs that compose), U+0C3C with 14.0, U+A7F2 with 14.0.
LATER = "\u1dfa\u08ca\U00011935\U00011930\U00011938\U0001193e\u0c3c\ua7f2\U0001e08f"


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("version", ["6.1", "12.1", "13.0"])
@given(text=st.text(st.one_of(COMBINING, st.sampled_from(LATER)), max_size=12))
@settings(max_examples=50, deadline=None)
def test_what_a_version_does_not_assign_stays_as_it_is(form: Any, version: str, text: str) -> None:
    function = normalizer(form, version)
    assert function is not None
    assert function(text) == reference.normalize(text, form, LACKS[version])


LACKS = {
    version: {code for start, stop in unassigned(version) for code in range(start, min(stop, 0x30000))}
    for version in ("6.1", "12.1", "13.0")
}


def test_a_version_that_python_does_not_have(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unicodedata, "unidata_version", "9.0.0")
    normalizers.check("NFC", "9.0")
    normalizers.check(Prepend("a"), "10.0")
    with pytest.raises(ValueError, match=r"'NFC' with unicode='10.0': Python's unicodedata is of Unicode 9.0.0; name "):
        normalizers.check("NFC", "10.0")


#: What newer versions than 9.0 normalize or sort.
NEWER = [
    char
    for start, stop in unassigned("9.0")
    for char in map(chr, range(start, min(stop, 0x40000)))
    if unicodedata.category(char) not in ("Cn", "Co", "Cs")
    and (unicodedata.normalize("NFKD", char) != char or unicodedata.normalize("NFC", "a" + char) != "a" + char
         or unicodedata.combining(char))
]  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_tokenizers_normalizes_as_unicode_9_does(form: str) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    theirs = getattr(tokenizers.normalizers, form)().normalize_str
    around = ("{}", "a{}", "a\u0301{}\u0323", "{}\u0301\u0323", "\u0323{}\u0301a")
    for text in (shape.format(char) for char in NEWER for shape in around):
        assert normalizers.normalize(form, text, "9.0") == theirs(text)

    # docs/unicode.md tells in how many characters they differ where another version is named, and where none is
    page = (Path(__file__).parents[2] / "docs" / "unicode.md").read_text(encoding="utf-8")
    rows = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| 3.")]
    for _, version, *numbers in rows:
        if float(version) <= float(unicodedata.unidata_version[:4]):
            assert sum(theirs(char) != normalizers.normalize(form, char, version) for char in NEWER) == int(
                numbers[FORMS.index(form)]
            )
            lacks = {code for start, stop in unassigned(version) for code in range(start, min(stop, 0x40000))}
            marks = [char for char in NEWER if unicodedata.combining(char) and ord(char) not in lacks]
            assert len(marks) == int(numbers[-1])
        if version == unicodedata.unidata_version[:4]:
            assert [normalizers.normalize(form, char, version) for char in NEWER] == [
                normalizers.normalize(form, char) for char in NEWER
            ]
    assert rows
