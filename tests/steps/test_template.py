"""Templates: the ids that they put around texts, what is refused."""
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
def test_without_its_ids(around: Template) -> None:
    bare = around.bare
    assert around.ids() == {*flat(around.single), *flat(around.pair)}
    assert (bare.ids(), bare.trim_offsets) == (set(), around.trim_offsets)
    for parts, found in ((around.single, bare.single), (around.pair, bare.pair)):
        assert [part for part in parts if part.text] == list(found)
    assert BARE.bare == BARE


@pytest.mark.parametrize(
    ("count", "form"),
    [*[(1, form) for form in ((TemplatePart((1,)),), (A, A), (B,), (A, B))],
     *[(2, form) for form in ((TemplatePart((1,)),), (A,), (A, A), (B, B), (A, B, B))]],
)  # fmt: skip
def test_a_form_has_each_text_once(count: int, form: Any) -> None:
    texts = "A" if count == 1 else "A, B"
    with pytest.raises(ValueError, match=f"a template must have each of the texts {texts} once, not "):
        Template(*((form, ()) if count == 1 else ((), form)))
