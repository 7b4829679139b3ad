"""Settings of steps as JSON, for classes of steps of the test's own."""
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpetite.record import Record
from bpetite.steps import sequences


class Keep(Record):
    """A step without fields."""


class Repeat(Record):
    """A step with two fields."""

    text: str
    times: int


CLASSES: sequences.StepFields = {Keep: {}, Repeat: {"repeat": str, "times": int}}
steps = st.one_of(st.text(max_size=5), st.just(Keep()), st.builds(Repeat, st.text(max_size=5), st.integers()))


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        (None, None),
        ("a", "a"),
        ((), []),
        (("a",), ["a"]),
        (("a", Keep(), Repeat("b", 2)), ["a", {"step": "Keep"}, {"repeat": "b", "times": 2}]),
    ],
)
def test_the_json_form(setting: Any, value: Any) -> None:
    assert sequences.to_json(setting, CLASSES) == value
    assert sequences.from_json(value, "setting", CLASSES) == setting


def test_one_step_that_is_an_object_comes_back_in_a_tuple() -> None:
    assert sequences.to_json(Keep(), CLASSES) == [{"step": "Keep"}]
    assert sequences.from_json([{"step": "Keep"}], "setting", CLASSES) == (Keep(),)


@given(st.lists(steps).map(tuple))
def test_json_gives_back_the_steps(setting: tuple[Any, ...]) -> None:
    value = json.loads(json.dumps(sequences.to_json(setting, CLASSES)))
    assert sequences.from_json(value, "setting", CLASSES) == setting


@pytest.mark.parametrize("found", [7, 1.5, True, {}, {"step": "Keep"}])
def test_what_is_no_setting(found: Any) -> None:
    with pytest.raises(ValueError, match="color must be a string, an array or null, not "):
        sequences.from_json(found, "color", CLASSES)


@pytest.mark.parametrize(
    "step",
    [None, [], {}, {"step": "Repeat"}, {"step": "Keep", "times": 1}, {"repeat": "b"}, {"repeat": "b", "times": True}],
)
def test_what_is_no_step(step: Any) -> None:
    with pytest.raises(ValueError, match="color has the unknown step "):
        sequences.from_json(["a", step], "color", CLASSES)
