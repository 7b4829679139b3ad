"""Templates: the ids that they put around texts, their JSON form, what is refused."""
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpetite.steps.template import BARE, Template, TemplatePart

A, B = TemplatePart(text="A"), TemplatePart(text="B", type_id=1)
ids = st.lists(st.integers(0, 2**32 - 1), max_size=3)
type_ids = st.integers(0, 2)
special = st.lists(st.builds(TemplatePart, ids.map(tuple), type_id=type_ids), max_size=2).map(tuple)


@st.composite
def templates(draw: st.DrawFn) -> Template:
    first, second = draw(st.permutations([A, B]))
    single = (*draw(special), TemplatePart(text="A", type_id=draw(type_ids)), *draw(special))
    pair = (*draw(special), first, *draw(special), second, *draw(special))
    trims = draw(st.lists(st.booleans(), max_size=2))
    return Template(draw(st.sampled_from([single, ()])), draw(st.sampled_from([pair, ()])), tuple(trims))


def flat(parts: Any) -> list[int]:
    return [token_id for part in parts for token_id in part.ids]


@given(before=special, after=special)
def test_ids_around_one_text(before: Any, after: Any) -> None:
    assert Template((*before, A, *after), ()).around() == (flat(before), flat(after))
    assert Template((), (*before, A, *after, B)).around() == ([], [])


@given(templates())
def test_json_gives_back_the_template(around: Template) -> None:
    assert Template.from_json(json.loads(json.dumps(around.to_json()))) == around


@given(templates())
def test_without_its_ids(around: Template) -> None:
    bare = around.bare
    assert around.ids() == {*flat(around.single), *flat(around.pair)}
    assert (bare.ids(), bare.trim_offsets) == (set(), around.trim_offsets)
    for parts, found in ((around.single, bare.single), (around.pair, bare.pair)):
        assert [part for part in parts if part.text] == list(found)
    assert BARE.bare == BARE


def test_the_json_form() -> None:
    assert Template((A,), (), (True, False)).to_json()["trim_offsets"] == [True, False]
    assert Template((TemplatePart((1, 2)), A), (A, B)).to_json() == {
        "single": [{"ids": [1, 2], "type_id": 0}, {"text": "A", "type_id": 0}],
        "pair": [{"text": "A", "type_id": 0}, {"text": "B", "type_id": 1}],
    }


@pytest.mark.parametrize(
    ("count", "form"),
    [*[(1, form) for form in ((TemplatePart((1,)),), (A, A), (B,), (A, B))],
     *[(2, form) for form in ((TemplatePart((1,)),), (A,), (A, A), (B, B), (A, B, B))]],
)  # fmt: skip
def test_a_form_has_each_text_once(count: int, form: Any) -> None:
    texts = "A once each" if count == 1 else "A and B once each"
    with pytest.raises(ValueError, match=f"a template for {count} must have {texts}, not "):
        Template(*((form, ()) if count == 1 else ((), form)))


@pytest.mark.parametrize(
    "found",
    [
        None, 7, [], "A", {}, {"single": []}, {"single": [], "pair": [], "more": []},
        {"single": 7, "pair": []}, {"single": {}, "pair": []}, {"single": [], "pair": ""},
        {"single": [], "pair": [], "trim_offsets": True}, {"single": [], "trim_offsets": []},
    ],
)  # fmt: skip
def test_json_that_is_no_template(found: Any) -> None:
    with pytest.raises(ValueError, match="template must be an object with the arrays 'single' and 'pair', not "):
        Template.from_json(found)
    for wrong in ([1], [True, None], ["true"]):
        with pytest.raises(ValueError, match=r"trim_offsets .* not an array of true and false"):
            Template.from_json({"single": [], "pair": [], "trim_offsets": wrong})


@pytest.mark.parametrize(
    "part",
    [
        7,
        None,
        {},
        {"text": "A"},
        {"text": "C", "type_id": 0},
        {"text": "A", "type_id": True},
        {"text": "A", "ids": [], "type_id": 0},
        {"ids": 1, "type_id": 0},
        {"ids": ["1"], "type_id": 0},
        {"ids": [True], "type_id": 0},
        {"ids": [1], "type_id": "0"},
    ],
)
def test_json_that_is_no_part(part: Any) -> None:
    for found in ({"single": [part], "pair": []}, {"single": [], "pair": [part]}):
        with pytest.raises(ValueError, match="template has the unknown part "):
            Template.from_json(found)
