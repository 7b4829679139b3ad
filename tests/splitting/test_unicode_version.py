"""Patterns that are held to a version of Unicode: both ways to split against the definition, and against other data."""
import re
import unicodedata
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import regex
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from splits import COMPILED, texts

from bpetite import patterns
from bpetite.reference import split
from bpetite.splitting.pattern import unicode_version as module
from bpetite.splitting.pattern.char_classes import ranges_in, ranges_of
from bpetite.splitting.pattern.unicode_version import (
    StandIns,
    assigned,
    check_unicode,
    unassigned,
    unicode_version,
)
from bpetite.splitting.pretokenizer import ScannerKind, pretokenizer

EVERY = [code for code in range(0x110000) if not 0xD800 <= code < 0xE000]
CATEGORIES = {code: unicodedata.category(chr(code)) for code in EVERY}  # as Python has them
PYTHON = ".".join(unicodedata.unidata_version.split(".")[:2])
NEWEST = unicode_version()
VERSIONS = list(assigned())[: list(assigned()).index(NEWEST) + 1]
KINDS: tuple[ScannerKind, ...] = ("vector", "tables", "regex")


def points(ranges: Any) -> set[int]:
    return {code for start, stop in ranges for code in range(start, stop)}


def noncharacter(code: int) -> bool:
    return code & 0xFFFE == 0xFFFE or 0xFDD0 <= code < 0xFDF0


def test_the_table_of_the_newest_version_is_that_of_regex() -> None:
    found = regex.findall(r"\p{Cn}", "".join(map(chr, EVERY)))
    assert points(unassigned(NEWEST)) == {code for code in map(ord, found) if not noncharacter(code)}


def test_the_table_of_python_s_version_is_that_of_python() -> None:
    expected = {code for code, category in CATEGORIES.items() if category == "Cn" and not noncharacter(code)}
    assert points(unassigned(PYTHON)) == expected


def test_versions_only_add() -> None:
    for older, newer in list(pairwise(VERSIONS))[::4]:
        assert points(unassigned(older)) > points(unassigned(newer))
    assert len(points(unassigned("16.0")) - points(unassigned("17.0"))) == 4803  # as the standard says
    assert len(points(unassigned("15.0")) - points(unassigned("15.1"))) == 627


@pytest.mark.parametrize("source", [r"\p{L}", r"\p{N}", r"\p{M}", r"\p{Lu}", r"\p{Nd}", r"\p{S}", r"\p{P}"])
def test_classes_are_those_that_python_has_for_its_version(source: str) -> None:
    """Python's `unicodedata` is another source for its version: only the code points that later versions moved between
    categories differ, and those are listed in the documentation."""
    expected = {code for code, category in CATEGORIES.items() if category.startswith(source[3:-1])}
    differing = points(ranges_in(source, PYTHON)) ^ expected
    assert differing <= moved_after(PYTHON)
    if PYTHON != NEWEST:
        assert len(points(ranges_of(source)) ^ expected) > len(differing)


def moved_after(version: str) -> set[int]:
    """The code points that docs/unicode.md lists as changed by versions after this one."""
    text = (Path(__file__).parents[2] / "docs" / "unicode.md").read_text(encoding="utf-8")
    found: set[int] = set()
    for row in re.findall(r"^\| (\d+\.\d) \|.*General_Category \| (.*?) \|", text, re.M):
        if VERSIONS.index(row[0]) > VERSIONS.index(version):
            for first, last in re.findall(r"U\+([0-9A-F]+)(?:\.\.([0-9A-F]+))?", row[1]):
                found.update(range(int(first, 16), int(last or first, 16) + 1))
    return found


def test_the_newest_version_changes_nothing_that_is_assigned() -> None:
    for source in (r"\p{L}", r"\s", r"\w", r"\d", "(?i:s)", "(?i:[a-k])", r"\p{Cn}", "."):
        assert ranges_in(source, NEWEST) == ranges_of(source), source


def test_what_a_version_does_not_assign_is_in_no_class_but_that_of_the_unassigned() -> None:
    later = points(unassigned("12.0"))
    for source in (r"\p{L}", r"\p{N}", r"\s", r"\w", r"\d", r"(?i:\p{Lu})"):
        assert points(ranges_in(source, "12.0")) == points(ranges_of(source)) - later
    for source in (r"\p{Cn}", r"\p{C}", "."):
        assert points(ranges_in(source, "12.0")) == points(ranges_of(source)) | later
    # U+A7DC came with 16.0, the small letter that it is folded to with 1.1
    assert points(ranges_in(r"(?i:\U0000019b)", "15.1")) == {0x19B}
    assert points(ranges_in(r"(?i:\U0000019b)", "16.0")) == {0x19B, 0xA7DC}


#: The first and the last of each range that a version after 6.1 was the first to assign, and some that none does.
EDGES = sorted({edge for start, stop in unassigned("6.1") if start < 0x40000 for edge in (start, stop - 1)})
#: version -> what it does not assign. DEEPSEEK_V3 writes out three, which the definition leaves open.
LACKS = {
    version: {code for code in points(unassigned(version)) if code < 0x40000} - {0x3040, 0x3097, 0x3098}
    for version in ("6.1", "16.0")
}


@pytest.mark.parametrize("name", ["gpt2", "cl100k", "o200k", "deepseek-v3"])
@pytest.mark.parametrize("version", LACKS)
@given(text=st.lists(st.one_of(texts(), st.sampled_from(EDGES).map(chr)), max_size=12).map("".join))
@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_every_scanner_cuts_as_the_definition_says(name: str, version: str, text: str) -> None:
    expected = split(text, COMPILED[name], LACKS[version])
    for kind in KINDS:
        assert pretokenizer(COMPILED[name], unicode=version, scanner_kind=kind).split(text) == expected, kind


@pytest.mark.parametrize(
    "pattern",
    [r"(?i:[k-s\u212a]+)|\w", r"[\U00010000-\U0010ffff]+|\p{L}+", r"[^\s\u0370-\u037f]+", r"[\u3040-\u309f]+|.",
     r"\u0378|\p{L}+", r"(?i:[\U00010000-\U0010ffff]+)|\s", r"[ -\uffff]+", r"[\p{L}\U000d0000]+"],
)  # fmt: skip
@pytest.mark.parametrize("version", ["7.0", "17.0"])
def test_what_a_pattern_writes_out_is_literal(pattern: str, version: str) -> None:
    """The compiled scanners take ranges as they are; `regex` gets a stand-in on the same side of each."""
    text = "x ".join(map(chr, [*EDGES, 0x3040, 0x10FFFD, 0xD0000, 0x40000, 0x378, 0x37F]))
    assert pretokenizer(pattern, unicode=version).scanner_kind == "vector"
    pieces = pretokenizer(pattern, unicode=version, scanner_kind="tables").split(text)
    assert pretokenizer(pattern, unicode=version, scanner_kind="regex").split(text) == pieces


def test_literals_that_a_version_does_not_assign() -> None:
    """U+1C89 and U+1C8A came with 16.0."""
    assert pretokenizer("[\u1c80-\u1c8f]+", unicode="15.1").split("a\u1c89\u1c8aa") == ["a", "\u1c89\u1c8a", "a"]
    assert pretokenizer("\u1c89", unicode="15.1").split("a\u1c89\u1c8aa") == ["a", "\u1c89", "\u1c8aa"]
    for version, expected in (("15.1", ["ab", "\u1c89", "c"]), ("16.0", ["ab\u1c89c"]), (None, ["ab\u1c89c"])):
        cut = pretokenizer(r"(?<!\d)\p{L}+", unicode=version)  # the look-behind is not compiled
        assert (cut.scanner_kind, cut.split("ab\u1c89c")) == ("regex", expected)
    with pytest.raises(ValueError, match=r"unicode='15.1': the pattern .* writes out U\+1C89, alone or in a range, "):
        pretokenizer(r"(?<=a)[\u1c89\u1c8a]+", unicode="15.1")
    assert pretokenizer(r"(?<=a)[\u1c89\u1c8a]+", unicode="16.0").split("a\u1c89\u1c8aa") == ["a", "\u1c89\u1c8a", "a"]


@pytest.mark.parametrize("pattern", [r"(\w)\1", r"(?P<a>\w)(?P=a)", r"(\w)\g<1>", r"\N{LATIN SMALL LETTER E}(?<=e)"])
def test_patterns_that_compare_text_are_refused_where_a_version_is_named(pattern: str) -> None:
    with pytest.raises(ValueError, match="is not supported where a version is named"):
        pretokenizer(pattern, unicode="16.0")
    assert pretokenizer(pattern).scanner_kind == "regex"


@pytest.mark.slow
def test_stand_ins_are_forgotten_before_they_take_much_memory() -> None:
    table = StandIns("6.1", r"\w")
    text = "".join(map(chr, EVERY))
    expected = points(unassigned("6.1"))
    assert {code for code, seen in zip(EVERY, text.translate(table)) if seen != chr(code)} == expected - {0xD0000}
    assert len(table) <= StandIns.KEPT


def test_versions_that_cannot_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    for wrong in (16, 16.0, b"16.0", ("16.0",)):
        with pytest.raises(TypeError, match=r'unicode is a version such as "16.0", or None, not '):
            check_unicode(wrong)  # type: ignore[arg-type]
    for unknown in ("16", "16.0.0", "6.0", "99.0", "", "latest"):
        with pytest.raises(ValueError, match=f"unicode='{unknown}' is not a version that bpetite knows: 6.1, 6.2, "):
            pretokenizer(unicode=unknown)
    monkeypatch.setattr(module, "unicode_version", lambda: "15.0")
    check_unicode("15.0")
    newer = r"unicode='15.1' is newer than the Unicode 15.0 of the installed regex .*: upgrade it \(pip install"
    with pytest.raises(ValueError, match=newer):
        check_unicode("15.1")


def test_an_older_regex_splits_alike_where_a_version_is_named() -> None:
    """A `regex` that knows no more than Unicode 17.0 has the code points of 18.0 as unassigned: those are read as
    U+D0000 in both, so that nothing of it shows."""
    later = [chr(code) for code in points(unassigned("17.0")) if code < 0x40000][::7]
    text = " a".join(later)
    for pattern in patterns.NAMED.values():
        cut = pretokenizer(pattern, unicode="17.0")
        assert list(map(len, cut.split(text))) == list(map(len, cut.split(regex.sub(r"[^ a]", "\U00050000", text))))


def members_in_tiktoken(source: str, text: str) -> set[int]:
    """What a class matches there: its encoder drops the text that a pattern does not match."""
    import tiktoken

    encoding = tiktoken.Encoding(
        "bytes", pat_str=source, mergeable_ranks={bytes([byte]): byte for byte in range(256)}, special_tokens={}
    )
    return set(map(ord, encoding.decode(encoding.encode_ordinary(text))))


def members_in_tokenizers(source: str, text: str) -> set[int]:
    from tokenizers import Regex, pre_tokenizers

    split_at = pre_tokenizers.Split(Regex(source), "removed", invert=True)
    return {ord(char) for piece, _ in split_at.pre_tokenize_str(text) for char in piece}


@pytest.mark.slow
@pytest.mark.parametrize("members", [members_in_tiktoken, members_in_tokenizers])
def test_classes_of_other_libraries_are_those_of_their_version(members: Callable[[str, str], set[int]]) -> None:
    differing: set[int] = set()
    for name in ("L", "N", "M", "Lu", "Lt", "Ll", "Lm", "Lo"):
        source = f"\\p{{{name}}}"
        found: set[int] = set()
        for start in range(0, len(EVERY), 100_000):
            found |= members(source, "".join(map(chr, EVERY[start : start + 100_000])))
        assert found ^ points(ranges_in(source, "16.0")) <= moved_after("16.0"), name
        differing |= found ^ points(ranges_of(source))
    assert NEWEST == "16.0" or len(differing) > 4000
