"""Normalization against the reference, ``tokenizers`` and `str.replace`; what is refused."""
from typing import Any

import pytest
import regex
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st

from bpetite import Tokenizer, reference
from bpetite.steps import normalizers
from bpetite.steps.normalizers import FORMS, MAPS, Mapped, Normalization, Prepend, Replace, normalizer, replacements

texts = st.one_of(st.text(max_size=20), st.text("ab e\u0301éﬁÅ\u212b가\u1100\u1161", max_size=20))
short = st.text("ab \\1.", max_size=3)
steps = st.one_of(
    st.sampled_from(FORMS), st.builds(Prepend, short), st.builds(Replace, short.map(regex.escape), short),
    st.builds(Mapped, st.sampled_from(MAPS)),
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
        (Mapped("Uppercase"), r"Mapped\(name='Uppercase'\) is not one of Lowercase, StripAccents"),
        (Replace("(", ""), r"Replace\(pattern='\(', content=''\): "),
    ],
)
def test_what_is_no_normalization(normalization: Any, named: str) -> None:
    with pytest.raises(ValueError, match=f"normalization {named}"):
        normalizers.check(normalization)


@pytest.mark.parametrize(
    "steps", [(Replace("a", "aa"),) * 40, (Replace("a", "a" * 100_000),), ("NFC", Replace("a", "a" * 99))]
)
def test_what_steps_may_make_of_a_text_is_bounded(steps: Any) -> None:
    tok = Tokenizer({byte: bytes([byte]) for byte in range(256)}, [], normalization=steps, pattern=None)
    for call in (normalizer(steps), tok.encode, tok.encode_with_offsets):
        with pytest.raises(ValueError, match=r"normalization Replace\(pattern='a'.* makes more than 64 times its"):
            call("a" * 30)  # type: ignore[operator]
    assert normalize(steps[:6], "b" * 1000) == "b" * 1000


#: Starters and marks that compose or do not, decompose into marks alone, have class 0 and decompose into marks, jamo;
#: U+08D3, U+1DF6 and U+1E5C0 are no marks in 9.0.
COMBINING = st.sampled_from(
    "aeéế\u0301\u0323\u0334\u0344\u0340\u0f71\u0f73\u0f75\u0f81\uff9e\uff9fがか\u3099\u09c7\u09be가\u1100\u1161\u11a8\u0653"
    "\u08d3\u1df6\U0001e5c0ﬁ½\ufdfa\u212b"
)
#: Pieces of a text: runs of one unit, short and long.
runs = st.lists(
    st.tuples(st.text(COMBINING, min_size=1, max_size=5), st.one_of(st.integers(1, 3), st.integers(16, 200))),
    max_size=4,
).map(lambda pieces: "".join(unit * times for unit, times in pieces))


@pytest.mark.parametrize("form", FORMS)
@given(text=runs, before=st.text("aé \u1100", max_size=70))
@settings(deadline=None)
def test_forms_are_those_of_unicode_9(form: Any, text: str, before: str) -> None:
    for given_text in (text, before + text, text + before + text):
        assert normalize(form, given_text) == reference.normalize(given_text, form)


@pytest.mark.parametrize("form", FORMS)
def test_every_character_alone_and_between_others_as_in_tokenizers(form: Any) -> None:
    theirs = getattr(tokenizers.normalizers, form)()
    for start in range(0, 0x30000, 0x400):
        chars = [chr(code) for code in range(start, start + 0x400) if not 0xD800 <= code < 0xE000]
        for text in ("\n".join(chars), "a\u0301".join(chars), "\u1100".join(chars), "".join(chars)):
            assert normalize(form, text) == theirs.normalize_str(text), hex(start)


@pytest.mark.parametrize("name", MAPS)
def test_every_character_is_mapped_as_in_tokenizers(name: str) -> None:
    step, theirs = Mapped(name), getattr(tokenizers.normalizers, name)()
    for start in range(0, 0x110000, 0x80):
        chars = "".join(chr(code) for code in range(start, start + 0x80) if not 0xD800 <= code < 0xE000)
        for text in ("x".join(chars), "\n".join(chars), chars):  # between letters, alone, together
            assert normalize(step, text) == theirs.normalize_str(text), hex(start)


def test_what_a_map_replaces() -> None:
    assert list(replacements(Mapped("Lowercase"), "aİΣ")) == [(1, 2, "i\u0307"), (2, 3, "σ")]
    assert list(replacements(Mapped("StripAccents"), "e\u0301é")) == [(1, 2, "")]


@pytest.mark.parametrize("form", FORMS)
@given(text=runs, at=st.integers(0, 300))
def test_the_beginning_of_a_text_is_never_changed_by_the_rest(form: Any, text: str, at: int) -> None:
    before = text[:at].encode()
    made, done = normalizers.normal_form(form).beginning(before)
    assert (made + normalize(form, before[done:].decode() + text[at:]).encode()).decode() == normalize(form, text)
    assert done < len(before) or not before
