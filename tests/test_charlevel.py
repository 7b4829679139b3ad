"""BPE on characters: rules are applied once each, in order."""
import pytest

from bpetite import charlevel

LOWER = {"l": 0, "o": 1, "w": 2, "e": 3, "r": 4, "lo": 5, "er": 8, "low": 7, "lower": 6}


def test_lower() -> None:
    assert charlevel.encode("lower", LOWER, ["l o", "e r", "lo w", "low er"]) == [6]


def test_rules_as_pairs() -> None:
    assert charlevel.encode("lower", LOWER, [("l", "o"), ("e", "r")]) == [5, 2, 8]


def test_a_rule_that_matches_nothing_changes_nothing() -> None:
    assert charlevel.encode("low", LOWER, ["e r", "x y", "l o"]) == [5, 2]


def test_rules_are_applied_once_each_in_order() -> None:
    # lowest rank first would join "b c" after "a b" has made no "a" left to join with; here "ab c" comes too early
    vocab = {"a": 0, "b": 1, "c": 2, "ab": 3, "abc": 4}
    assert charlevel.encode("abc", vocab, ["ab c", "a b"]) == [3, 2]


def test_non_overlapping_left_to_right() -> None:
    assert charlevel.encode("aaa", {"a": 0, "aa": 1}, ["a a"]) == [1, 0]


def test_empty() -> None:
    assert charlevel.encode("", {}, ["a b"]) == []


def test_unknown_token() -> None:
    with pytest.raises(KeyError, match="x"):
        charlevel.encode("x", LOWER, [])


@pytest.mark.parametrize("rule", ["ab", "a b c", ("a",), ("a", ""), " a"])
def test_rule_that_is_no_pair(rule: object) -> None:
    with pytest.raises(ValueError, match="two tokens"):
        charlevel.encode("ab", LOWER, [rule])  # type: ignore[list-item]
