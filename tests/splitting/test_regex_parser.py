"""The parser: what it reads, and that it refuses the rest by construct and offset."""
import pickle

import pytest
from splits import in_lanes

from bpetite.reference import split
from bpetite.splitting.pattern.regex_parser import UnsupportedPattern, parse
from bpetite.splitting.pretokenizer import compiled, pretokenizer


@pytest.mark.parametrize(
    ("pattern", "construct", "offset"),
    [
        ("a+?b", "a+?", 0),
        ("ab*?", "b*?", 1),
        ("x(?<=a)b", "(?<", 1),
        ("x(?<!a)b", "(?<", 1),
        ("x(?P<name>a)", "(?P", 1),
        ("(?s:.)", "(?s", 0),
        ("(?>a)", "(?>", 0),
        (r"\bword", r"\b", 0),
        (r"(a)\1", r"\1", 3),
        ("^a", "^", 0),
        ("a$", "$", 1),
        (r"\p{L}+$", "$", 6),
        ("[a&&b]", "[a", 0),
        ("[a--b]", "[a-", 0),
        ("[[a]]", "[", 0),
        ("[ -[:alpha:]]+", "[ -", 0),
        ("[[:alpha:]-z]", "[[:alpha:]", 0),
        ("[[:]", "[", 0),
        ("[!-[]", "[!-", 0),
        ("[+--]", "[+-", 0),
        (r"\p{L", r"\p", 0),
        (r"a\P{", r"\P", 1),
        (r"a\p", r"\p", 1),
        (r"[\p&]+", r"\p", 1),
        (r"\p{N]|[a}]", r"\p", 0),
        (r"\pX", r"\p", 0),
        (r"\p{L:}", r"\p", 0),
        (r"\p{L: }", r"\p", 0),
        (r"\p{é}", r"\p", 0),
        (r"\s+$\n", "\\", 4),
        (r"(?:a|\s+$)b", "b", 10),
        (r"(?:\s+$){2}", r"(?:\s+$){2}", 0),
        (r"[\d-z]", r"[\d", 0),
        ("(?:ab)++", "(?:ab)++", 0),
        ("(?:a?)*b", "(?:a?)*", 0),
        ("x(?!ab)", "(?!ab)", 1),
        ("a{3}{2}", "a{3}", 0),
        ("a{1,65}", "a{1,65}", 0),
        ("a{x}", "{x}", 1),
        ("a*", "a*", 0),
        ("a|", "a|", 0),
        ("(?:a|b?)", "(?:a|b?)", 0),
        ("(?=a)", "(?=a)", 0),
    ],
)
def test_what_is_refused(pattern: str, construct: str, offset: int) -> None:
    with pytest.raises(UnsupportedPattern) as refused:
        parse(pattern)
    assert (refused.value.construct, refused.value.offset) == (construct, offset)
    assert repr(construct) in str(refused.value)
    assert str(pickle.loads(pickle.dumps(refused.value))) == str(refused.value)


def test_groups_may_not_go_deep() -> None:
    assert parse("(" * 50 + "a" + ")" * 50) == parse("a")
    with pytest.raises(UnsupportedPattern, match="inside each other"):
        parse("(" * 10_000 + "a" + ")" * 10_000)
    with pytest.raises(UnsupportedPattern) as refused:
        parse("x" * 10_000 + "^")
    assert refused.value.offset == 10_000
    assert 500 < len(str(refused.value)) < 1000  # the front of the pattern


@pytest.mark.parametrize(
    ("pattern", "same"),
    [
        (r"\x41\u2028\U0001F600\.", "A\u2028\U0001f600[.]"), (r"\P{Lu}", r"\p{^Lu}"), (r"\s\s{,2}", r"\s(?:\s\s?)?"),
        (r"[^\r\n\p{L}a-z\]-]", r"(?![a-z\]\n-]|\p{L}|\r)[\s\S]"), ("(?i:s)", "[sS\u017f]"),
        *[(source, r"\p{Lu}") for source in (r"\p{ general_category = Lu }", r"\p{gc=Lu}")],
        *[(source, source) for source in (r"\pL", r"\p{^L}", r"\p{Script:Latin}", r"\S")],
    ],
)  # fmt: skip
def test_what_is_read_alike(pattern: str, same: str) -> None:
    text = "".join(map(chr, (*range(0x3100), 0x1F600))) + "A\u2028\U0001f600.  \n\t "
    assert in_lanes(pattern, 1).split(text) == split(text, f"(?:{same})")


@pytest.mark.parametrize("name", ["alnum", "alpha", "digit", "graph", "punct", "space", "word", "xdigit", "Upper"])
@pytest.mark.parametrize("pattern", ["[[:{}:]]", "[[:^{}:]]", "[^[:{}:]a-f]", "[^[:^{}:]]"])
def test_classes_of_posix(pattern: str, name: str) -> None:
    pattern = pattern.format(name) + "+"
    text = "".join(map(chr, range(0x3100)))
    assert in_lanes(pattern, 64).split(text) == split(text, pattern)


def test_a_property_without_data_is_left_to_regex() -> None:
    pattern = r"\p{Numeric_Value=1/2}"
    assert "bpetite has no data of the class 'Numeric_Value=1/2'" in str(compiled((pattern,)))
    assert pretokenizer(pattern).split("a½b") == ["a", "½", "b"]


@pytest.mark.parametrize(
    ("pattern", "text", "pieces"),
    [
        ("(?i:s)|[^bc]+", "BbBb", ["B", "b", "B", "b"]),
        (r"(?i:\p{Lu})", "xĸ", ["x", "ĸ"]),
        (r"(?i:\P{Lu}|b)", "xĸ", ["x", "ĸ"]),
        (r"[^\s\S]", "a 1", ["a 1"]),
        (r"[^\p{L}\P{Letter}]", "a1", ["a1"]),
        ("(?i:i)+", "iI\u0130i", ["iI", "\u0130", "i"]),
    ],
)
def test_what_regex_reads_in_another_way_is_as_it_reads(pattern: str, text: str, pieces: list[str]) -> None:
    assert in_lanes(pattern, 64).split(text) == in_lanes(pattern, 1).split(text) == pieces
