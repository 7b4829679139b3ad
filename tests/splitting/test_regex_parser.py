"""The parser: what it reads, and that it refuses the rest by construct and offset."""
import pickle

import pytest

from bpetite.splitting.pattern.regex_parser import CharSet, Item, Look, Repeat, Sequence, UnsupportedPattern, parse
from bpetite.splitting.pretokenizer import pretokenizer


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


def test_refusals_can_be_pickled() -> None:
    with pytest.raises(UnsupportedPattern) as refused:
        parse("^a")
    again = pickle.loads(pickle.dumps(refused.value))
    assert str(again) == str(refused.value)


def test_groups_may_not_go_deep() -> None:
    assert parse("(" * 50 + "a" + ")" * 50) == parse("a")
    with pytest.raises(UnsupportedPattern, match="inside each other"):
        parse("(" * 10_000 + "a" + ")" * 10_000)


def test_a_set() -> None:
    assert parse(r"[^\r\n\p{L}a-z\]-]") == CharSet(
        (
            (Item(13, 13), True),
            (Item(10, 10), True),
            (Item(source=r"\p{L}"), True),
            (Item(97, 122), True),
            (Item(93, 93), True),
            (Item(45, 45), True),
        ),
        negated=True,
    )


def test_escapes_and_classes() -> None:
    assert parse(r"\x41\u2028\U0001F600\.") == Sequence(
        tuple(CharSet(((Item(code, code), True),)) for code in (0x41, 0x2028, 0x1F600, 0x2E))
    )
    assert parse(r"\P{Lu}") == CharSet(((Item(source=r"\p{Lu}"), False),))
    for source in (r"\pL", r"\p{^L}", r"\p{ general_category = Lu }", r"\p{Script:Latin}", r"\p{Numeric_Value=1/2}"):
        assert parse(source) == CharSet(((Item(source=source), True),))
    assert parse(r"\S") == CharSet(((Item(source=r"\s"), False),))


@pytest.mark.parametrize("name", ["alnum", "alpha", "digit", "graph", "punct", "space", "word", "xdigit", "Upper"])
@pytest.mark.parametrize("pattern", ["[[:{}:]]", "[[:^{}:]]", "[^[:{}:]a-f]", "(?i:[[:{}:]])", "[^[:^{}:]]"])
def test_classes_of_posix(pattern: str, name: str) -> None:
    pattern = pattern.format(name) + "+"
    text = "".join(map(chr, range(0x3100)))
    compiled = pretokenizer(pattern)
    if compiled.scanner_kind == "regex":  # where `regex` reads a class that ignores case by what is beside it
        assert pattern.startswith("(?i:")
    assert compiled.split(text) == pretokenizer(pattern, scanner_kind="regex").split(text)


def test_repeats_and_look_ahead() -> None:
    space = CharSet(((Item(source=r"\s"), True),))
    other = CharSet(((Item(source=r"\s"), False),))
    assert parse(r"\s+(?!\S)") == Sequence((Repeat(space, 1, None, False), Look(other, True)))
    assert parse(r"\s{2,3}+") == Repeat(space, 2, 3, True)
    assert parse(r"\s\s{,2}") == Sequence((space, Repeat(space, 0, 2, False)))


def test_case_is_left_to_regex() -> None:
    assert parse("(?i:s)") == CharSet(((Item(source=r"(?i:\U00000073)"), True),))
    assert parse(r"(?i:[^\P{Lu}k])") == CharSet(((Item(source=r"(?i:[^\P{Lu}k])"), True),))


def test_a_refusal_shows_the_front_of_a_long_pattern() -> None:
    with pytest.raises(UnsupportedPattern) as refused:
        parse("x" * 10_000 + "^")
    assert refused.value.offset == 10_000
    assert 500 < len(str(refused.value)) < 1000
