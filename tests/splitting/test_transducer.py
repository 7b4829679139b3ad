"""The transducer: its size, and which patterns have none. That it cuts right is tested in test_pretokenizer.py."""
import pytest

from bpetite import patterns
from bpetite.splitting.budget import NoTransducer
from bpetite.splitting.compile.automaton import Automaton
from bpetite.splitting.compile.transducer import COMMIT, MARK, Transducer, compose, transducer
from bpetite.splitting.pattern.char_classes import Groups
from bpetite.splitting.pattern.regex_parser import parse, sets_of


def of_stages(*stages: str) -> Transducer:
    trees = [parse(stage) for stage in stages]
    groups = Groups(chars for tree in trees for chars in sets_of(tree))
    machine = transducer(Automaton(trees[0], groups))
    for tree in trees[1:]:
        machine = compose(machine, transducer(Automaton(tree, groups)), groups.budget)
    return machine


def outputs(machine: Transducer) -> set[int]:
    return {out for outs in machine.out for out in outs}


def test_gpt2_needs_twelve_states_and_looks_one_character_back() -> None:
    machine = of_stages(patterns.GPT2)
    assert len(machine.next) == 12
    assert outputs(machine) == {0b0, 0b1, 0b10, 0b11}


def test_cl100k_marks_newlines_that_spaces_follow() -> None:
    machine = of_stages(patterns.CL100K)
    assert len(machine.next) == 20
    assert any(out & COMMIT for out in outputs(machine))
    assert any(out >> MARK & 0xFF for out in outputs(machine))


def test_both_forms_of_a_pattern_have_transducers_of_one_size() -> None:
    assert len(of_stages(patterns.GPT2_POSSESSIVE).next) == 12
    assert len(of_stages(patterns.CL100K_POSSESSIVE).next) == 20


def test_a_sequence_of_splits_is_one_machine() -> None:
    assert len(of_stages(*patterns.DEEPSEEK_V3).next) == 24
    assert len(of_stages(*patterns.STARCODER).next) == 11


def test_attempts_of_any_length_that_fail_together() -> None:
    assert len(of_stages(r"\s*\w+|\s*[^\w\s]+").next) == 3
    machine = of_stages(r"[a-z]+|\s+x")
    assert len(machine.next) == 8
    assert any(out & COMMIT for out in outputs(machine))


def test_states_that_do_the_same_are_one() -> None:
    assert of_stages("[a-c]x?|[a-c]") == of_stages("[cab]x|[abc]")
    assert len(of_stages(".").next) == len(of_stages(r".|\n").next) + 1 == 3


@pytest.mark.parametrize(
    ("stages", "reason"),
    [
        (('"[^"]*"',), "may still fail"),
        ((r"a+b|a",), "may still fail|unbounded"),
        ((r"[ab]+c|a|b",), "may still fail|unbounded"),
        ((patterns.CL100K, r"\p{N}"), "needs a mark"),
        (("a.{8}b|.",), "states|too far|unbounded"),
        (("abc|bcd", "a|bcd|bc|d"), "begin anew"),
        ((r"\s*\w+", r"\d"), "needs a mark"),
    ],
)
def test_patterns_without_a_transducer(stages: tuple[str, ...], reason: str) -> None:
    with pytest.raises(NoTransducer, match=reason):
        of_stages(*stages)
