"""Groups of code points, against `regex`, and the steps that compiling may take."""
import string

import pytest
import regex
from splits import COMPILED
from tiers import slow_but

from bpetite import patterns
from bpetite.splitting.compile.compile_pattern import compile_pattern
from bpetite.splitting.pattern.char_classes import LIMIT, MAX_STEPS, Budget, Groups, NoTransducer
from bpetite.splitting.pattern.regex_parser import CharSet, parse
from bpetite.splitting.pattern.regex_text import matches
from bpetite.splitting.pretokenizer import compiled, pretokenizer

SURROGATES = range(0xD800, 0xE000)


@pytest.fixture(scope="module")
def everything() -> str:
    return "".join(chr(code) for code in range(LIMIT) if code not in SURROGATES)


@pytest.mark.slow
def test_a_set_is_the_union_of_its_groups(everything: str) -> None:
    sources = [r"[^\s\p{L}\p{N}]", r"[\p{L}\p{M}']", r"[^\r\n]", r"\S", "[a-f\u00e9\U0001f600]", r"[\S\n]"]
    sets = [parse(source) for source in sources]
    assert all(isinstance(one, CharSet) for one in sets)
    groups = Groups(sets)  # type: ignore[arg-type]
    for source, one in zip(sources, sets):
        members = groups.members(one)  # type: ignore[arg-type]
        expected = {at for start, stop in matches(regex.compile(source), everything) for at in range(start, stop)}
        assert {at for at, char in enumerate(everything) if groups.group_of(ord(char)) in members} == expected


@pytest.mark.parametrize(
    "source",
    [r"[^\s\p{L}\p{N}]", r"\p{Lu}", "[a-f\u00e9\U0001f600]", r"[\x00-\x3f]", r"[\x00-\x40]", r"[\U0010ffff]", "."],
)
def test_the_two_stage_map_is_the_plain_one(source: str) -> None:
    """Cut into pages one by one."""
    groups = Groups([parse(source)])  # type: ignore[list-item]
    codes = [3 + group for group in range(groups.count)]
    ends = [*groups.starts[1:], LIMIT]
    flat = b"".join(bytes([codes[group]]) * (end - at) for at, end, group in zip(groups.starts, ends, groups.groups))
    numbers: dict[bytes, int] = {}
    plain = [numbers.setdefault(flat[at : at + 64], len(numbers)) for at in range(0, LIMIT, 64)]
    page_of, pages = groups.pages(codes)
    assert (list(page_of), pages) == (plain, b"".join(numbers))


def test_groups_are_numbered_by_their_first_code_points() -> None:
    groups = Groups([parse("[bd]"), parse("a"), parse("[a-z]")])  # type: ignore[list-item]
    assert [groups.group_of(ord(char)) for char in "\0abcdz"] == [0, 1, 2, 3, 2, 3]


@pytest.fixture
def budgets(monkeypatch: pytest.MonkeyPatch) -> list[Budget]:
    """Every budget that is made."""
    made: list[Budget] = []

    class Recorded(Budget):
        def __init__(self) -> None:
            super().__init__()
            made.append(self)

    monkeypatch.setattr("bpetite.splitting.pattern.char_classes.Budget", Recorded)
    return made


def test_spent_steps_are_an_error() -> None:
    one = Budget()
    one.spend(MAX_STEPS)
    with pytest.raises(NoTransducer, match="more than 1,000,000 steps"):
        one.spend(1)


def test_patterns_in_use_take_a_quarter_of_the_steps(budgets: list[Budget]) -> None:
    for pattern in COMPILED.values():
        compile_pattern(patterns.as_tuple(pattern))
    assert len(budgets) == len(COMPILED)
    assert max(MAX_STEPS - one.left for one in budgets) < MAX_STEPS // 4


TOO_LARGE = {
    "alternatives with different sets": "|".join(rf"[\s{chr(0x4E00 + at)}]" for at in range(1_500)),
    "a set of thousands": "[" + "".join(chr(0x4E00 + 2 * at) for at in range(8_000)) + "]",
    "a thousand questions to regex": "|".join(f"(?i:{chr(0x4E00 + at)}x)" for at in range(1_000)),
    "counts inside counts": "(?:(?:a{64}){64}){64}b|.",
    "counts of nothing": "(?:(?:(?:(?:(?:(?:){64}){64}){64}){64}){64}){64}b|.",
    "a hundred splits": tuple(rf"{letter}+|\s+" for letter in string.ascii_letters * 2),
}


@pytest.mark.parametrize("name", slow_but(TOO_LARGE, "a set of thousands", "counts inside counts"))
def test_what_takes_more_is_left_to_regex(name: str) -> None:
    cut = pretokenizer(TOO_LARGE[name])
    assert cut.scanner_name == "regex"
    assert compiled(patterns.as_tuple(cut.pattern)) == f"compiling it takes more than {MAX_STEPS:,} steps"


def test_more_groups_than_codes() -> None:
    pattern = "|".join(rf"[\s{chr(0x4E00 + at)}]" for at in range(300))
    assert compiled((pattern,)) == "its sets tell more than 254 groups of characters apart"


@pytest.mark.parametrize("make", [lambda n: "a" * n, lambda n: "a|" * n + "a", lambda n: f"[{'ab' * n}]"])
def test_steps_grow_with_the_length_of_a_pattern(make, budgets: list[Budget]) -> None:  # type: ignore[no-untyped-def]
    """Four times the length takes four times the steps, and some."""
    for size in (500, 2_000):
        compiled((make(size),))
    short, long = (MAX_STEPS - one.left for one in budgets)
    assert 0 < long < 5 * short
