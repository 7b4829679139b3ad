"""Steps and templates in native files: they come back, and what is none is refused by name."""
import json
from typing import Any

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from bpetite import FormatError, Vocab
from bpetite.formats import native
from bpetite.formats._json_tokens import members
from bpetite.steps.charsmap import Precompiled
from bpetite.steps.normalizers import FORMS, Prepend, Replace
from bpetite.steps.splits import BEHAVIORS, PREFIXES, Metaspace, PrefixSpace, Printable, Split
from bpetite.steps.template import Template, TemplatePart

TOKENS = {0: b"a", 1: b"<s>", 2: b"\xff", 3: b"\xfe", 4: "é".encode()}
#: The map of no strings.
EMPTY = "BAAAAAAAAAA="

regexes = st.sampled_from(["[ab]", r"\s+", " ", r"\ ", r"(?<=a)b|^\X$", "a*", "", "-", " ?[^ ]+"])
splits = st.builds(Split, regexes, st.sampled_from(BEHAVIORS), st.booleans())
spaces = st.builds(Metaspace, st.sampled_from("▁_"), st.sampled_from(PREFIXES), st.booleans())
patterns = st.lists(st.one_of(regexes, splits, spaces, st.just(PrefixSpace()))).map(tuple)
printable = st.lists(st.one_of(regexes, splits.filter(lambda split: split.behavior != "removed")), min_size=1)

short = st.text("ab \\1.", max_size=3)
normalizers = st.one_of(
    st.sampled_from(FORMS), st.builds(Prepend, short), st.builds(Replace, short.map(regex.escape), short),
    st.builds(Precompiled, st.just(EMPTY), st.booleans(), st.sampled_from(["", "a|b"])),
)  # fmt: skip

A = TemplatePart(text="A")
parts = st.lists(
    st.builds(TemplatePart, st.lists(st.sampled_from([*TOKENS]), max_size=2).map(tuple), type_id=st.integers(0, 2)),
    max_size=3,
).map(tuple)


def loads(data: bytes) -> Vocab:
    return native.read(data, "memory", members(data))


def same(vocab: Vocab) -> None:
    again = loads(native.dump(vocab))
    assert again == vocab
    assert again.fingerprint() == vocab.fingerprint()


@given(st.one_of(st.none(), regexes, splits, patterns), st.one_of(st.none(), printable))
def test_patterns_come_back(pattern: Any, after: list[Any] | None) -> None:
    if after is not None:
        pattern = (*(pattern if isinstance(pattern, tuple) else (pattern,) if pattern else ()), Printable(), *after)
    same(Vocab(TOKENS, (), {}, pattern=pattern))


@given(st.one_of(st.none(), normalizers, st.lists(normalizers).map(tuple)))
def test_normalizations_come_back(normalization: Any) -> None:
    same(Vocab(TOKENS, (), {}, normalization=normalization))


@given(parts, parts, parts, st.booleans(), st.lists(st.booleans(), max_size=2).map(tuple))
def test_templates_come_back(one: Any, other: Any, third: Any, single: bool, trims: tuple[bool, ...]) -> None:
    pair = (*one, TemplatePart(text="B", type_id=1), *third, A, *other)
    same(Vocab(TOKENS, (), {}, template=Template((*one, A, *other) if single else (), pair, trims)))


def test_the_spelling_is_that_of_tokenizer_json() -> None:
    vocab = Vocab(TOKENS, (), {}, pattern=(Split(" ", "removed"), Printable()), normalization=(Prepend("x"), "NFC"),
                  template=Template((TemplatePart((1,)), A), ()))  # fmt: skip
    content = json.loads(native.dump(vocab))
    assert content["pattern"] == {"type": "Sequence", "pretokenizers": [
        {"type": "Split", "pattern": {"String": " "}, "behavior": "Removed", "invert": False}, {"type": "Printable"}
    ]}  # fmt: skip
    assert content["normalization"] == {
        "type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "x"}, {"type": "NFC"}]
    }  # fmt: skip
    assert content["template"]["single"][0] == {"SpecialToken": {"id": "<s>", "type_id": 0}}


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("pattern", 7, "pattern must be a string, an array of strings, an object or null, not 7"),
        ("pattern", ["a", {"type": "Split"}], "pattern must be a string, an array of strings"),
        ("pattern", {"type": "Suffix"}, "pattern: bpetite does not have the pre-tokenizer Suffix"),
        ("pattern", {"type": "Split", "pattern": {"Regex": "("}, "behavior": "Isolated"}, "not a regular expression"),
        ("pattern", {"type": "Split", "pattern": {"Regex": "a"}, "behavior": "sideways"}, "behavior 'sideways' is not"),
        ("normalization", {"type": "Lowercase"}, "normalization: bpetite does not have the normalizer Lowercase"),
        ("normalization", {"type": "Precompiled", "precompiled_charsmap": "BAAAAAAAAAA=", "kept": 1}, "kept must be a"),
        ("template", [], r"template must be an object with a type, not \[\]"),
        ("template", {"type": "TemplateProcessing"}, "template.special_tokens must be an object, not None"),
    ],
)
def test_what_is_no_step_is_refused_by_name(key: str, value: Any, message: str) -> None:
    content = json.loads(native.dump(Vocab(TOKENS, (), {}))) | {key: value}
    with pytest.raises(FormatError, match=f"memory: .*{message}"):
        loads(json.dumps(content).encode())
