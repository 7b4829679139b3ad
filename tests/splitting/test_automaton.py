"""The automaton of one match. That it matches right is tested in test_pretokenizer.py."""
import pytest

from bpetite.splitting.compile.automaton import Automaton
from bpetite.splitting.pattern.char_classes import Groups
from bpetite.splitting.pattern.regex_parser import parse, sets_of


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
    node = parse(pattern)
    assert Automaton(node, Groups(sets_of(node))).always_matches() is always
