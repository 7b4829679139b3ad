"""Split patterns between dialects: what is kept, what is rewritten, what is refused."""
import pytest
import regex
from splits import matched_by_oniguruma
from tiers import slow_but

from bpetite import FormatError
from bpetite.formats.dialects import POSIX, from_oniguruma, from_rust, to_oniguruma
from bpetite.formats.encodings import PUBLISHED


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_patterns_come_out_as_they_go_in(name: str) -> None:
    pattern = PUBLISHED[name].pattern
    assert from_rust(pattern) == pattern
    assert from_oniguruma(to_oniguruma(pattern)) == pattern


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        (r"a$|^b", r"a(?m:$)|(?m:^)b"),
        (r"\A\s+\z", r"^\s+\Z"),
        (r"\s++$", r"\s++$"),
        (r"\s+\Z", r"\s+$"),
        (r"\p{N}{1,3}+", r"(?:\p{N}{1,3})+"),
        (r"(?>\p{N}{1,3})", r"\p{N}{1,3}+"),
        (r"(?>ab|a)", r"(?>ab|a)"),
        (r"[a[bc]d]", "[abcd]"),
        (r"[\p{L}&&[^a-z]]+", r"(?:(?=[^a-z])[\p{L}])+"),
        (r"[^[^a]]|[[^b]]", "[a]|[^b]"),
        (r"[[:space:]]+|[^[:^space:]x]", r"[\s]+|[^\Sx]"),
        (r"[[:^word:]]", r"[^\p{Alphabetic}\p{M}\p{Nd}\p{Pc}]"),
        ("[:space:]", "[:space:]"),
        (r"(?i:[[:space:]\s])", r"(?i:[\s\s])"),
        (r"a{b}", r"a\{b\}"),
        (r"\x41\u00e9\x{1F600}", "Aé😀"),
        ("(?i)the", "(?i)the"),
    ],
)
def test_what_is_rewritten_for_oniguruma(theirs: str, ours: str) -> None:
    assert from_oniguruma(theirs) == ours
    regex.compile(ours)


@pytest.mark.parametrize(
    "ours",
    [r"a$", r"^a", r"\p{N}{1,3}+", r"[^\s]+?", r"a(?m:$)|(?m:^)x", r"a\Z", "[a&&b]", r"[\]\-a]",
     "[[:graph:]]|[[:^print:]]", "[[:alpha:] ]+"],
)
def test_what_is_written_comes_back(ours: str) -> None:
    there = to_oniguruma(ours)
    back = from_oniguruma(there)
    assert back == ours or to_oniguruma(back) == there
    text = "a\nb 12345 x\n&a]-"
    assert [m.span() for m in regex.finditer(back, text)] == [m.span() for m in regex.finditer(ours, text)]


@pytest.mark.parametrize("translate", [from_oniguruma, from_rust, to_oniguruma])
@pytest.mark.parametrize(
    ("pattern", "what"),
    [
        ("(?<name>a)", "(?<n"),
        (r"(a)\1", r"\\1"),
        (r"\bx", r"\\b"),
        (r"\X", r"\\X"),
        (r"\p{Punct}", "Punct"),
        ("*a", "repeats nothing"),
        ("a**", "'*'"),
        ("(a", "is not closed"),
        ("a)", "closes no group"),
        ("[a", "is not closed"),
        ("(?m)^a", "(?m)"),
        ("a{2}?", "}?"),
        ("[[:nothing:]]", "[:nothing:]"),
        ("[[:alpha:]-z]", "is beside a -"),
        ("[-[:alpha:]]", "is beside a -"),
        ("[[:^alnum:]a]", "is in a set with other items"),
    ],
)
def test_what_has_no_counterpart_is_refused(translate: object, pattern: str, what: str) -> None:
    with pytest.raises(FormatError) as caught:
        translate(pattern)  # type: ignore[operator]
    assert ("[:" if translate is from_rust and "[:" in pattern else what) in str(caught.value)
    assert repr(pattern) in str(caught.value)


@pytest.mark.parametrize("translate", [from_oniguruma, to_oniguruma])
@pytest.mark.parametrize(
    "pattern",
    [r"(?i:\p{Lu})", r"(?i)x|\P{Lowercase}", r"(?i:[\p{L}'])", "(?i:[[:alpha:]])", "(?i:a([[:upper:]]))",
     r"(?i:[^\w])"],
)
def test_classes_that_case_changes_are_refused_where_case_is_ignored(translate: object, pattern: str) -> None:
    """Oniguruma takes a property alone as it is, and one in a set with what has the same letters in another case; to
    `regex` both are any letter that has case."""
    with pytest.raises(FormatError, match=r"where case is ignored|no counterpart"):
        translate(pattern)  # type: ignore[operator]


#: The basic plane's first characters, but U+0295, which newer versions of Unicode do not call a small letter.
CHARACTERS = "".join(chr(point) for point in range(0x3100) if point != 0x295)


@pytest.mark.parametrize("pattern", [
    *slow_but([f"[[:{caret}{name}:]]" for caret in ("", "^") for name in POSIX["oniguruma"]],
              *[f"[[:^{name}:]]" for name in POSIX["oniguruma"]]),
    r"\w", r"\W", r"[\w]", r"[^\w]", r"[\w\s']", r"[^\w\s]",
])  # fmt: skip
def test_classes_and_letters_of_words_are_those_of_oniguruma(pattern: str) -> None:
    ours = regex.compile(from_oniguruma(pattern))
    free = regex.compile(r"\p{Cn}")  # where the two know different versions of Unicode
    known = {one for one in CHARACTERS if not free.match(one)} - matched_by_oniguruma(r"\p{Cn}", CHARACTERS)
    assert {one for one in known if ours.match(one)} == matched_by_oniguruma(pattern, CHARACTERS) & known
    if pattern.strip("[:^]") in POSIX["regex"]:
        matched = {one for one in known if regex.match(pattern, one)}
        assert matched == matched_by_oniguruma(to_oniguruma(pattern), CHARACTERS) & known


@pytest.mark.parametrize("pattern", ["a*|b", "(?:a|b?)", "a*?", "(?:a|)+", "[ab]??"])
def test_a_choice_that_can_match_nothing_is_refused(pattern: str) -> None:
    with pytest.raises(FormatError, match="can match nothing"):
        from_oniguruma(pattern)
    assert from_oniguruma("[ab]*") == "[ab]*"


@pytest.mark.parametrize("pattern", ["[^a&&b]", "a{1,2}{3}", "[[:space:]]", "[[:nothing:]]+"])
def test_what_only_rust_has_is_refused(pattern: str) -> None:
    with pytest.raises(FormatError, match="split pattern"):
        from_rust(pattern)
