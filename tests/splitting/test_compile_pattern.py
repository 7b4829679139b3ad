"""The tables that the scanner runs."""
from bpetite import patterns
from bpetite.splitting.compile.compile_pattern import compile_pattern


def test_gpt2_takes_little_memory() -> None:
    tables = compile_pattern((patterns.GPT2,))
    assert sum(map(len, (tables.next, tables.out, tables.column, tables.synchronized))) <= 64 << 10
    assert len(tables.next) == len(tables.out) == (tables.end + 1) * tables.states


def test_codes() -> None:
    tables = compile_pattern((patterns.GPT2,))
    assert tables.continuation >= 128
    assert tables.end == tables.continuation + 1
    states = bytes(range(tables.states))
    assert tables.next[tables.continuation * tables.states :][: tables.states] == states  # later bytes change nothing
    assert not any(tables.out[tables.continuation * tables.states :][: tables.states])


def test_a_letter_and_a_space_are_a_synchronizing_word() -> None:
    tables = compile_pattern((patterns.GPT2,))
    letter, space = tables.column[ord("x")], tables.column[ord(" ")]
    known = tables.synchronized[letter * tables.columns + space]
    assert known
    for state in range(tables.states):
        after = tables.next[ord("x") * tables.states + state]
        assert tables.next[ord(" ") * tables.states + after] == known - 1


def test_two_digits_are_no_synchronizing_word_where_digits_go_by_three() -> None:
    tables = compile_pattern((patterns.CL100K,))
    digit = tables.column[ord("7")]
    assert tables.synchronized[digit * tables.columns + digit] == 0
