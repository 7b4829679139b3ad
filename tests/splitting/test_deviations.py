"""What `regex` matches in another way than it reads is left to it."""
import pytest
import regex
from splits import COMPILED

from bpetite.reference import split
from bpetite.splitting.pretokenizer import pretokenizer


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("(?i:s)|[^bc]+", "BbBb"),
        ("(?i:')|[^bc]+", "BbBb"),
        ("(?i:'s)|[^bc]+", "BbBb"),
        (r"(?i:s)|\P{Lu}+", "axAX"),
        (r"(?i:\p{Lu})|x", "xĸ"),
        (r"(?i:\p{Lu}|x)", "xĸ"),
        (r"(?i:\P{Lu}|b)", "xĸ"),
        (r"(?i:[\p{M}]|b)", "x\u03b9"),
        (r"[^a]|x|(?i:\p{M}+b)+", "A"),
        (r"(?i:s)?(?:[^b]c)+", "BcBcb"),
        (r"[^\s\S]", "a 1"),
        (r"x[^\P{N}a\S\s]", "xaxx1"),
        (r"[^\p{L}\P{Letter}]", "a1"),
    ],
)
def test_left_to_regex(pattern: str, text: str) -> None:
    cut = pretokenizer(pattern)
    assert cut.scanner_kind == "regex"
    assert cut.reason is not None
    reasons = ("`regex` reads a set", "`regex` finds no match", "depends on its neighbours")
    assert any(part in cut.reason for part in reasons)
    assert cut.split(text) == split(text, pattern)


def test_regex_still_deviates() -> None:
    """Where this fails, a part of the module can go."""
    assert regex.findall("(?i:s)|[^bc]+", "BbBb") == []
    assert regex.findall(r"[^\s\S]", "a 1") == ["a", " ", "1"]
    assert regex.findall(r"(?i:\p{Lu})", "xĸ") != regex.findall(r"(?i:\p{Lu}|x)", "xĸ")


@pytest.mark.parametrize(
    "pattern",
    [
        "(?i:s)|[bc]+",  # no negated set
        r"(?i:s)|[^\W\d_]+|[^\w\s]+",  # what is excluded without a case
        r"(?i:s)|[a-z]+|[^a-z]",  # the other case is a first character itself
        "(?i:s)|[^bc]+|.",  # any character
        "[^bc](?i:s)",  # not at the start of a match
        "(?!(?i:s))[^bc]+",
        "(?i:[^bc]+)|(?i:s)",
    ],
)
def test_patterns_beside_them_compile(pattern: str) -> None:
    cut = pretokenizer(pattern)
    assert cut.scanner_kind == "vector"
    for text in ("BbBb", "sSbB'x", "cCsS\u017f"):
        assert cut.split(text) == split(text, pattern)


def test_patterns_in_use_compile() -> None:
    assert {pretokenizer(pattern).scanner_kind for pattern in COMPILED.values()} == {"vector"}
