"""The transducer: its size, and which patterns have none. That it cuts right is tested in test_pretokenizer.py."""
import pytest

from bpetite import patterns
from bpetite.splitting.compile.automaton import Automaton
from bpetite.splitting.compile.transducer import COMMIT, MARK, Transducer, compose, transducer
from bpetite.splitting.pattern.char_classes import Groups, NoTransducer
from bpetite.splitting.pattern.regex_parser import parse, sets_of


def of_stages(*stages: str) -> Transducer:
    trees = [parse(stage) for stage in stages]
    groups = Groups(chars for tree in trees for chars in sets_of(tree))
    machine = transducer(Automaton(trees[0], groups))
    for tree in trees[1:]:
        machine = compose(machine, transducer(Automaton(tree, groups)), groups.budget)
    return machine


SPACES = r"\s*\w+|\s*[^\w\s]+"  # attempts of any length that fail together


@pytest.mark.parametrize(
    ("stages", "states", "marks"),
    [
        ((patterns.GPT2,), 12, False), ((patterns.GPT2_POSSESSIVE,), 12, False), ((patterns.CL100K,), 20, True),
        ((patterns.CL100K_POSSESSIVE,), 20, True), (patterns.DEEPSEEK_V3, 24, True), (patterns.STARCODER, 11, False),
        ((SPACES,), 3, False), ((r"[a-z]+|\s+x",), 8, True),
    ],
)  # fmt: skip
def test_the_size_of_a_machine(stages: tuple[str, ...], states: int, marks: bool) -> None:
    machine = of_stages(*stages)
    found = {out for outs in machine.out for out in outs}
    assert len(machine.next) == states
    assert any(out & COMMIT for out in found) == any(out >> MARK & 0xFF for out in found) == marks
    if stages == (patterns.GPT2,):  # it looks one character back
        assert found == {0b0, 0b1, 0b10, 0b11}


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
