"""Patterns that `regex` runs have the characters of Unicode 16.0, as those that are compiled."""
import pytest
import regex
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from splits import COMPILED, texts

from bpetite.splitting.pattern import regex_text
from bpetite.splitting.pattern.regex_text import as_regex_sees, matches
from bpetite.splitting.pattern.unicode_data import class_ranges
from bpetite.splitting.pretokenizer import pretokenizer

UNASSIGNED = [pair for pair in class_ranges("Cn") or () if pair[0] < 0x40000]
#: The first and the last of each range that Unicode 16.0 does not assign.
EDGES = sorted({edge for start, stop in UNASSIGNED for edge in (start, stop - 1)})


@pytest.mark.parametrize("name", ["gpt2", "cl100k", "o200k", "deepseek-v3"])
@given(text=st.lists(st.one_of(texts(), st.sampled_from(EDGES).map(chr)), max_size=12).map("".join))
@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_regex_cuts_as_the_compiled_scanners(name: str, text: str) -> None:
    expected = pretokenizer(COMPILED[name], scanner_kind="regex").split(text)
    for kind in ("vector", "tables"):
        assert pretokenizer(COMPILED[name], scanner_kind=kind).split(text) == expected, kind  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "pattern",
    [r"(?i:[k-s\u212a]+)|\w", r"[\U00010000-\U0010ffff]+|\p{L}+", r"[^\s\u0370-\u037f]+", r"[\u3040-\u309f]+|.",
     r"\u0378|\p{L}+", r"(?i:[\U00010000-\U0010ffff]+)|\s", r"[ -\uffff]+", r"[\p{L}\U000d0000]+"],
)  # fmt: skip
def test_what_a_pattern_writes_out_is_literal(pattern: str) -> None:
    """The compiled scanners take ranges as they are; `regex` gets a stand-in on the same side of each."""
    text = "x ".join(map(chr, [*EDGES, 0x3040, 0x10FFFD, 0xD0000, 0x40000, 0x378, 0x37F]))
    assert pretokenizer(pattern).scanner_kind == "vector"
    pieces = pretokenizer(pattern, scanner_kind="tables").split(text)
    assert pretokenizer(pattern, scanner_kind="regex").split(text) == pieces


def test_what_later_versions_assign_or_move() -> None:
    """U+11DE0 came with Unicode 17.0, which moved U+0295."""
    assert pretokenizer(r"(?<!x)\p{N}+").split("1\U00011de02") == ["1", "\U00011de0", "2"]
    assert pretokenizer(r"(?<!x)\p{Ll}+").split("a\u0295b ") == ["a\u0295b", " "]
    assert [*matches(regex.compile(r"(.)\1"), "\u0378\u0379\u0378\u0378")] == [(2, 4)]


def test_stand_ins_are_forgotten_before_they_take_much_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regex_text, "MAX_KEPT", 16)
    text = "".join(map(chr, range(0x370, 0x400)))
    seen = as_regex_sees(text, "some pattern")
    assert [char for char, other in zip(text, seen) if char != other] == list("\u0378\u0379\u0380\u0381\u0382\u0383"
                                                                             "\u038b\u038d\u03a2")
    assert len(regex_text._stand_ins("some pattern")) <= 16
