"""Split patterns between dialects: what is kept, what is rewritten, what is refused."""
import pytest
import regex

from bpetite import FormatError
from bpetite.formats.dialects import from_oniguruma, from_rust, to_oniguruma
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
        (r"a{b}", r"a\{b\}"),
        (r"\x41\u00e9\x{1F600}", "Aé😀"),
        ("(?i)the", "(?i)the"),
    ],
)
def test_what_is_rewritten_for_oniguruma(theirs: str, ours: str) -> None:
    assert from_oniguruma(theirs) == ours
    regex.compile(ours)


@pytest.mark.parametrize(
    "ours", [r"a$", r"^a", r"\p{N}{1,3}+", r"[^\s]+?", r"(?m:$)|(?m:^)x", r"a\Z", "[a&&b]", r"[\]\-a]"]
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
    ],
)
def test_what_has_no_counterpart_is_refused(translate: object, pattern: str, what: str) -> None:
    with pytest.raises(FormatError) as caught:
        translate(pattern)  # type: ignore[operator]
    assert what in str(caught.value)
    assert repr(pattern) in str(caught.value)
