"""Texts and patterns that the tests of pre-tokenization share."""
from functools import cache

import pytest
from hypothesis import strategies as st

from bpetite import patterns
from bpetite.splitting.pattern.unicode_data import class_ranges
from bpetite.splitting.pretokenizer import Pretokenizer, compiled
from bpetite.splitting.scan._scan import Scanner

#: What split patterns look at, and what they get wrong: both cases of the contractions and U+017F, which (?i:s) takes;
#: spaces and newlines of several kinds and U+001C, which is none; digits of several scripts; marks, scripts without
#: case, symbols; one to four bytes each.
CHARACTERS = (
    "  \n\n\r\t\x0b\x1c\x85\u00a0\u2028\u3000\u200b''’\u017f"
    "aAsStTlLvVeErRdDmMzZ019²٣.,!?-_/\\(\"$+`^éÉßǅʰªאا的中ーあ가\u0301\u0903\u20dd€😀𝒜\U0001f1e6\u0378\U000e0001\x00"
)

#: Stretches that need looking back or ahead.
STRETCHES = (
    "'ll", "'re", "'LL", "'l", "'r", "don't", "DON'T", "'\u017f", " 's", "   ", "\n  \n", "\n   x", "\r\n\r\n", " \n",
    "\t\tx", "1234567", "a1b22", "  7", ".. ", "?!\n", "/\n/", "HelloWORLDfoo", "的的的", "été", "e\u0301", " \u0301",
    "x ", "\u3000\u3000字", "ab\u00a0cd", "<|endoftext|>", "_id", "$x", ">=",
    "\n" + " " * 70 + "x", " " * 70, "z" * 70, "9" * 70,
)  # fmt: skip


#: The first and the last of each range that Unicode 16.0 does not assign.
EDGES = sorted({chr(edge) for start, stop in class_ranges("Cn") or () if start < 0x40000 for edge in (start, stop - 1)})


def texts(max_size: int = 40) -> st.SearchStrategy[str]:
    """Text weighted towards what split patterns look at, with some of any character."""
    piece = st.one_of(st.sampled_from(CHARACTERS), st.sampled_from(STRETCHES), st.characters(exclude_categories=["Cs"]))
    return st.lists(piece, max_size=max_size).map("".join)


#: Every named pattern, and others in use; all of them compile.
COMPILED = {
    **patterns.NAMED,
    "deepseek-coder": patterns.DEEPSEEK_CODER,
    "exaone-moe": patterns.EXAONE_MOE,
    "words": r"\w+(?:'\w+)?|[^\w\s]",
    "camel case": r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d{2,4}|\s+|.",
    "letters only": r"[a-z]+",
    "words with the space before": r"\s*\w+|\s*[^\w\s]+",
    "lines": r"[^\n]*\n",
    "two back": r"ab(?:cd)?|x\d{2}|\s",
    "a word": "abc",
    "a mark with cuts before it": r".{1,3}\n?\d|.|\n",
    "marks far apart": r".{1,3}1|\s*\n|\s+|.",
}


@cache
def matched_by_oniguruma(pattern: str, text: str) -> set[str]:
    """The characters of a text that a class matches in ``tokenizers``."""
    tokenizers = pytest.importorskip("tokenizers")
    cut = tokenizers.pre_tokenizers.Split(tokenizers.Regex(pattern), "removed", invert=True)
    return {character for piece, _ in cut.pre_tokenize_str(text) for character in piece}


@cache
def in_lanes(pattern: patterns.Pattern, lanes: int) -> Pretokenizer:
    """A compiled pattern whose scanner reads at most so many lanes in parallel."""
    tables = compiled(patterns.as_tuple(pattern))
    assert not isinstance(tables, str), tables
    return Pretokenizer(pattern, "vector", Scanner(tables, lanes=lanes), tables)
