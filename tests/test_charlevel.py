"""BPE on characters: rules are applied once each, in order."""
from typing import Any

import pytest

from bpetite import charlevel

LOWER = {"l": 0, "o": 1, "w": 2, "e": 3, "r": 4, "lo": 5, "er": 8, "low": 7, "lower": 6, "ee": 9}


@pytest.mark.parametrize(
    ("text", "rules", "ids"),
    [
        ("lower", ["l o", "e r", "lo w", "low er"], [6]),
        ("lower", [("l", "o"), ("e", "r")], [5, 2, 8]),
        ("low", ["e r", "x y", "l o"], [5, 2]),  # two that match nothing
        ("low", ["lo w", "l o"], [5, 2]),  # once each, in order: the first comes too early
        ("eee", ["e e"], [9, 3]),  # left to right, without overlaps
        ("", ["a b"], []),
    ],
)
def test_rules_are_applied_once_each_in_order(text: str, rules: list[Any], ids: list[int]) -> None:
    assert charlevel.encode(text, LOWER, rules) == ids


def test_unknown_token() -> None:
    with pytest.raises(KeyError, match="x"):
        charlevel.encode("x", LOWER, [])


@pytest.mark.parametrize("rule", ["ab", "a b c", ("a",), ("a", ""), " a"])
def test_rule_that_is_no_pair(rule: object) -> None:
    with pytest.raises(ValueError, match="two tokens"):
        charlevel.encode("ab", LOWER, [rule])  # type: ignore[list-item]
