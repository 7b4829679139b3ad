"""The automaton of one match: priorities, look-ahead, possessive repeats."""
import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from bpetite.splitting.compile.automaton import Automaton
from bpetite.splitting.pattern.char_classes import Groups
from bpetite.splitting.pattern.regex_parser import parse, sets_of


def automaton(pattern: str) -> Automaton:
    node = parse(pattern)
    return Automaton(node, Groups(sets_of(node)))


def match(machine: Automaton, text: str) -> int | None:
    """Where the match ends that begins where the text begins."""
    state, end = machine.start, None
    for at, group in enumerate([*(machine.groups.group_of(ord(char)) for char in text), machine.end]):
        state, matched = machine.step(state, group)
        if matched:
            end = at
        if not state:
            break
    return end


PATTERNS = [
    "a|ab",  # the first that matches, not the longest
    "ab|a",
    "a?ab",
    "(?:a|b)+c?",
    "a{2,3}b?",
    "a+(?!b)",
    "a+(?=b)|b",
    r"\s+(?!\S)|\s+",
    r"\s++$|\s",
    "a++b?",
    "a?+ab",
    "a{1,2}+a|b",
    "(?:a|aab)(?:bb)?",
    r"a+\Z|ab",
    "(a|b{2}){2}",
    "(?i:ab)|B",
]


@given(st.sampled_from(PATTERNS), st.text("abB \n", max_size=8))
def test_it_matches_as_regex_does(pattern: str, text: str) -> None:
    found = regex.match(pattern, text)
    assert match(automaton(pattern), text) == (found.end() if found else None)


def test_a_state_is_a_list_in_order_of_preference() -> None:
    machine = automaton("aa|ab|a")
    a = machine.groups.group_of(ord("a"))
    state, matched = machine.step(machine.start, a)
    assert (len(state), matched) == (3, False)
    state, matched = machine.step(state, a)
    assert (len(state), matched) == (1, True)  # `aa` lives on; `a` ended before this character; `ab` is gone
    assert machine.step(machine.step(machine.start, a)[0], machine.end) == ((), True)


def test_a_certain_match_is_known_before_it_ends() -> None:
    machine = automaton("a++|b+c")
    state, _ = machine.step(machine.start, machine.groups.group_of(ord("a")))
    assert machine.sure(state)
    state, _ = machine.step(machine.start, machine.groups.group_of(ord("b")))
    assert not machine.sure(state)


@pytest.mark.parametrize(
    ("pattern", "always"),
    [
        (r"\s|\S", True),
        (r"\S+|\s+(?!\S)|\s+", True),
        (r"\S+|\s+(?!\S)", False),  # one space before a word
        (r"\s++$|\s|\S", True),
        (r"\S+|\s+\Z", False),
        (r"\p{L}+|\P{L}{1,3}", True),
        (r"\p{L}+|\P{L}{2,3}", False),
        ("a*b|[^b]", True),
        ("a*b|[^ab]", False),
        ("[^\\s\\S]|.", False),  # a newline
        (r"\p{N}+", False),
    ],
)
def test_whether_every_text_is_matches_alone(pattern: str, always: bool) -> None:
    assert automaton(pattern).always_matches() is always
