"""Splits against plain regular expressions and against `tokenizers`; what is refused."""
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpetite.patterns import as_tuple
from bpetite.steps import splits
from bpetite.steps.splits import BEHAVIORS, Fragment, PrefixSpace, Printable, Split

texts = st.text("ab -1é中\n", max_size=20)
regexes = st.sampled_from(["[ab]", r"\s+", r"\d", "a|ab", "a*", "", "-", " ?[^ ]+"])
plain_splits = st.builds(Split, regexes, st.sampled_from(BEHAVIORS), st.booleans())


def cut(text: str, *steps: splits.Step) -> list[str]:
    fragments = [Fragment(text)]
    for step in steps:
        fragments = splits.apply(step, fragments)
    return [fragment.text for fragment in fragments]


@given(text=texts, split=plain_splits)
def test_as_tokenizers(text: str, split: Split) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    theirs = tokenizers.pre_tokenizers.Split(tokenizers.Regex(split.pattern), split.behavior, split.invert)
    found = splits.apply(split, [Fragment(text)])
    assert [(one.text, (one.start, one.start + len(one.text))) for one in found] == theirs.pre_tokenize_str(text)


@given(text=texts, steps=st.lists(st.one_of(regexes, plain_splits, st.just(PrefixSpace())), max_size=4))
def test_fragments_know_where_they_come_from(text: str, steps: list[splits.Step]) -> None:
    fragments = [Fragment(text)]
    for step in steps:
        fragments = splits.apply(step, fragments)
    for one in fragments:
        from_text = one.text[one.put_in :]
        assert one.text[: one.put_in] == " " * one.put_in
        assert text[one.start : one.start + len(from_text)] == from_text
    if not any(isinstance(step, Split) and step.behavior == "removed" for step in steps):
        assert "".join(one.text[one.put_in :] for one in fragments) == text


def test_a_space_that_was_put_in_is_no_part_of_the_text() -> None:
    fragments = splits.apply(PrefixSpace(), splits.apply(Split(r"\d", "removed"), [Fragment("a1 b2")]))
    assert fragments == [Fragment(" a", 0, 1), Fragment(" b", 2, 0)]
    assert splits.apply("a", fragments)[:2] == [Fragment(" ", 0, 1), Fragment("a", 0, 0)]
    with pytest.raises(TypeError, match=r"Printable\(\)"):
        splits.apply(Printable(), fragments)


def test_an_unknown_behavior() -> None:
    message = "behavior 'sideways' is not one of isolated, removed, merged_with_previous, merged_with_next, contiguous"
    with pytest.raises(ValueError, match=message):
        Split("a", "sideways")


@pytest.mark.parametrize(
    ("pattern", "error", "message"),
    [
        (7, TypeError, "pattern is a str, a tuple of str and splits, or None, not 7"),
        (["a"], TypeError, r"not \['a'\]"),
        (("a", None), TypeError, r"not \('a', None\)"),
        (Split("("), ValueError, r"split pattern '\(': "),
        ((Printable(), PrefixSpace()), ValueError, r"PrefixSpace\(\) cannot come after Printable\(\)"),
        ((Printable(), Printable()), ValueError, r"Printable\(\) cannot come after Printable\(\)"),
        ((Printable(), "a", Split("b", "removed")), ValueError, "could drop a part of a character"),
    ],
)
def test_what_is_no_pattern(pattern: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        splits.checked(pattern)


@given(st.one_of(st.none(), regexes, plain_splits, st.lists(st.one_of(regexes, plain_splits)).map(tuple)))
def test_what_is_a_pattern(pattern: Any) -> None:
    again = splits.checked(pattern)
    assert splits.checked(again) == again
    splits.checked((PrefixSpace(), *as_tuple(pattern), Printable(), "a", Split("b", "contiguous")))


def test_equal_steps_are_equal() -> None:
    assert Split(r"\ ", "removed") == Split(" ", "removed")
    forms = [" ", r"\ ", Split(" "), (Split(r"\ "),), (" ",), (Split(" ", invert=True),)]
    assert {splits.checked(form) for form in forms} == {" "}
    assert splits.checked(PrefixSpace()) == splits.checked((PrefixSpace(),)) == (PrefixSpace(),)
    assert splits.checked(()) is None
