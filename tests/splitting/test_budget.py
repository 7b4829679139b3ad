"""Compiling takes bounded work, and the pattern that needs more is left to `regex`."""
import string

import pytest
from splits import COMPILED
from tiers import slow_but

from bpetite import patterns
from bpetite.splitting.budget import MAX_STEPS, Budget, NoTransducer
from bpetite.splitting.compile.compile_pattern import compile_pattern
from bpetite.splitting.pretokenizer import pretokenizer


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
    assert cut.scanner_kind == "regex"
    assert cut.reason == f"compiling it takes more than {MAX_STEPS:,} steps"
    with pytest.raises(ValueError, match="does not compile: compiling it takes more than"):
        pretokenizer(TOO_LARGE[name], scanner_kind="tables")


def test_more_groups_than_codes() -> None:
    cut = pretokenizer("|".join(rf"[\s{chr(0x4E00 + at)}]" for at in range(300)))
    assert cut.reason == "its sets tell more than 254 groups of characters apart"


@pytest.mark.parametrize("make", [lambda n: "a" * n, lambda n: "a|" * n + "a", lambda n: f"[{'ab' * n}]"])
def test_steps_grow_with_the_length_of_a_pattern(make, budgets: list[Budget]) -> None:  # type: ignore[no-untyped-def]
    """Four times the length takes four times the steps, and some."""
    for size in (500, 2_000):
        assert pretokenizer(make(size)).reason != ""
    short, long = (MAX_STEPS - one.left for one in budgets)
    assert 0 < long < 5 * short
