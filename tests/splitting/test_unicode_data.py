"""The classes of Unicode 16.0 against `regex` and other libraries."""
from collections.abc import Callable, Iterable
from dataclasses import replace

import pytest
import regex
from splits import COMPILED, matched_by_oniguruma

import bpetite
from bpetite import Tokenizer
from bpetite.splitting.pattern.unicode_data import _data, check_unicode, class_ranges, ignoring_case
from bpetite.splitting.pretokenizer import pretokenizer

EVERY = [code for code in range(0x110000) if not 0xD800 <= code < 0xE000]
TEXT = "".join(map(chr, EVERY))
#: Unicode 17.0 has U+0295 in another category.
MOVED = {0x295}


def points(ranges: Iterable[tuple[int, int]] | None) -> set[int]:
    assert ranges is not None
    return {code for start, stop in ranges for code in range(start, stop)}


ASSIGNED = set(EVERY) - points(class_ranges("Cn"))


#: A name of each class; `regex` does not have "age=9.0".
NAMED = {number: name for name, number in sorted(_data()[0].items(), reverse=True) if name != "age=9.0"}


@pytest.mark.parametrize("name", sorted(NAMED.values()))
def test_classes_are_those_of_regex(name: str) -> None:
    found = set(map(ord, regex.findall(rf"\p{{{name}}}", TEXT)))
    assert (found ^ points(class_ranges(name))) & ASSIGNED <= MOVED


def test_other_names_of_classes_are_those_of_regex() -> None:
    some = TEXT[::499]  # of every class that has much more than that
    for name, number in _data()[0].items():
        if name != "age=9.0":
            assert regex.findall(rf"\p{{{name}}}", some) == regex.findall(rf"\p{{{NAMED[number]}}}", some), name


@pytest.mark.parametrize("source", ["s", "k", "å", "ß", "ω", "[a-h]", "[σ-ω]", "[Ꭰ-Ꭿ]", "\u0390"])
def test_ignoring_case_is_as_in_regex(source: str) -> None:
    found = set(map(ord, regex.findall(f"(?i:{source})", TEXT)))
    alone = [(ord(char), ord(char) + 1) for char in regex.findall(source, TEXT)]
    assert points(ignoring_case(tuple(alone))) == found & ASSIGNED


def test_names_are_read_loosely() -> None:
    assert class_ranges("lowercase letter") == class_ranges("Lowercase_Letter") == class_ranges("Ll")
    assert class_ranges("no such class") is None


def test_other_versions_are_refused() -> None:
    check_unicode(None)
    check_unicode("16.0")
    for wrong in ("17.0", "16", 16.0, ""):
        with pytest.raises(ValueError, match=r"unicode .*: this release of bpetite has the characters of Unicode 16.0"):
            check_unicode(wrong)


def test_a_digit_of_a_later_version_is_none() -> None:
    """U+11DE0 came with Unicode 17.0."""
    tiktoken = pytest.importorskip("tiktoken")
    pattern = COMPILED["cl100k"]
    assert pretokenizer(pattern).split("1\U00011de0234") == ["1", "\U00011de0", "234"]
    tok = Tokenizer.from_vocab(replace(bpetite.get_encoding("gpt2").to_vocab(), pattern=pattern)).to_ranks()
    ranks = {token: rank for rank, token in tok.vocab.items() if rank not in tok.special_tokens.values()}
    theirs = tiktoken.Encoding("some", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    for text in ("1\U00011de0234", "a\U00011de0b \u0378", "\u0295a\u0295A"):
        assert tok.encode(text) == theirs.encode(text)


def matched_by_tiktoken(source: str, text: str) -> set[str]:
    """What a class matches there: its encoder drops the text that a pattern does not match."""
    import tiktoken

    encoding = tiktoken.Encoding(
        "bytes", pat_str=source, mergeable_ranks={bytes([byte]): byte for byte in range(256)}, special_tokens={}
    )
    return set(encoding.decode(encoding.encode_ordinary(text)))


@pytest.mark.slow
@pytest.mark.parametrize("matched", [matched_by_tiktoken, matched_by_oniguruma])
def test_classes_of_other_libraries_are_the_same(matched: Callable[[str, str], set[str]]) -> None:
    for name in ("L", "N", "M", "Lu", "Lt", "Ll", "Lm", "Lo"):
        found: set[str] = set()
        for start in range(0, len(EVERY), 100_000):
            found |= matched(f"\\p{{{name}}}", TEXT[start : start + 100_000])
        assert {*map(ord, found)} == points(class_ranges(name)), name
