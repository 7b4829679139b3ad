"""Patterns that `regex` runs have the characters of Unicode 16.0, as those that are compiled."""
import pytest
import regex
from splits import EDGES, in_lanes

from bpetite.reference import split
from bpetite.splitting.pattern import regex_text
from bpetite.splitting.pattern.regex_text import as_regex_sees, matches
from bpetite.splitting.pretokenizer import pretokenizer


@pytest.mark.parametrize(
    "pattern",
    [r"(?i:[k-s\u212a]+)|\w", r"[\U00010000-\U0010ffff]+|\p{L}+", r"[^\s\u0370-\u037f]+", r"[\u3040-\u309f]+|.",
     r"\u0378|\p{L}+", r"(?i:[\U00010000-\U0010ffff]+)|\s", r"[ -\uffff]+", r"[\p{L}\U000d0000]+"],
)  # fmt: skip
def test_what_a_pattern_writes_out_is_literal(pattern: str) -> None:
    """The compiled scanners take ranges as they are; `regex` gets a stand-in on the same side of each."""
    text = "x ".join([*EDGES, *map(chr, [0x3040, 0x10FFFD, 0xD0000, 0x40000, 0x378, 0x37F])])
    assert in_lanes(pattern, 1).split(text) == split(text, pattern)


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
