"""Normalization against `unicodedata` and `str.replace`; its JSON form; what is refused."""
import json
import unicodedata
from typing import Any

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from bpetite.patterns import as_tuple
from bpetite.steps import normalizers
from bpetite.steps.normalizers import FORMS, Normalization, Prepend, Replace, normalizer

texts = st.one_of(st.text(max_size=20), st.text("ab e\u0301éﬁÅ\u212b가\u1100\u1161", max_size=20))
short = st.text("ab \\1.", max_size=3)
steps = st.one_of(
    st.sampled_from(FORMS), st.builds(Prepend, short), st.builds(Replace, short.map(regex.escape), short)
)


def normalize(normalization: Normalization, text: str) -> str:
    function = normalizer(normalization)
    return text if function is None else function(text)


@pytest.mark.parametrize("form", FORMS)
@given(text=texts)
def test_forms_are_those_of_unicodedata(form: Any, text: str) -> None:
    assert normalize(form, text) == unicodedata.normalize(form, text)


@given(text=texts, before=short)
def test_prepend(text: str, before: str) -> None:
    assert normalize(Prepend(before), text) == (before + text if text else "")


@given(text=st.text("ab \\1.", max_size=20), old=short, new=short)
def test_replace_puts_in_its_content_literally(text: str, old: str, new: str) -> None:
    assert normalize(Replace(regex.escape(old), new), text) == text.replace(old, new)


def test_replace_takes_a_regular_expression() -> None:
    assert normalize(Replace(r"(\w)\1+", r"\1"), "aab ccc") == r"\1b \1"


@given(text=texts, several=st.lists(steps, max_size=4).map(tuple))
def test_several_steps_are_applied_in_order(text: str, several: tuple[Any, ...]) -> None:
    expected = text
    for step in several:
        expected = normalize(step, expected)
    assert normalize(several, text) == expected


def test_nothing_to_do_is_no_function() -> None:
    assert normalizer(None) is None
    assert normalizer(()) is None


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
