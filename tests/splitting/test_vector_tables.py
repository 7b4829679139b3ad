"""The transducer in pages against its tables by code and state, and the subset automaton against the states in it."""
import random

import pytest
from splits import COMPILED

from bpetite.patterns import as_tuple
from bpetite.splitting.compile.compile_pattern import compile_pattern
from bpetite.splitting.compile.vector_tables import Paged, vector_tables


def look(function: Paged, code: int, state: int) -> int:
    assert function.row[code] + state < 128
    return function.values[function.page[code] * 128 + function.row[code] + state]


@pytest.mark.parametrize("name", COMPILED)
def test_every_transition_is_the_transducer_s(name: str) -> None:
    tables = compile_pattern(as_tuple(COMPILED[name]))
    assert tables.vector is not None
    for at, (following, output) in enumerate(zip(tables.next, tables.out, strict=True)):
        step = look(tables.vector.transition, *divmod(at, tables.states))
        assert (tables.vector.next[step], tables.vector.out[step]) == (following, output)
    for function in (tables.vector.transition, tables.vector.subset):
        assert len(function.values) == 128 * function.pages <= 1024
        assert max(function.page[:128]) < function.ascii_pages <= function.pages


@pytest.mark.parametrize("name", COMPILED)
def test_a_set_holds_every_state_the_text_may_be_in(name: str) -> None:
    tables = compile_pattern(as_tuple(COMPILED[name]))
    assert tables.vector is not None
    codes = len(tables.next) // tables.states
    choose = random.Random(name)
    members: dict[int, set[int]] = {}
    for _ in range(400):
        states, one = set(range(tables.states)), tables.vector.all_states
        for code in choose.choices([*range(128), *[9, 10, 32, 39, 48, 65, 97, 108] * 8, *range(128, codes)], k=12):
            states = {tables.next[code * tables.states + state] for state in states}
            one = look(tables.vector.subset, code, one)
            if one < tables.states:
                assert states == {one}
            elif one != tables.vector.all_states:
                members.setdefault(one, set()).update(states)
    assert all(len(states) < tables.states for states in members.values())


@pytest.mark.parametrize("name", COMPILED)
def test_every_transition_in_rows_is_the_transducer_s(name: str) -> None:
    tables = compile_pattern(as_tuple(COMPILED[name]))
    assert tables.vector is not None
    rows, states = tables.vector.rows, tables.states
    if rows is None:
        assert states > 31 or len(set(tables.out)) > 8
        return
    assert (len(rows.classes), len(rows.out)) == (144, 16)
    assert len(rows.transition) == len(rows.subset) == 32 * -(-rows.size // 4) * 4
    assert max(rows.classes[:128]) < rows.ascii_size <= rows.size
    for at, (following, output) in enumerate(zip(tables.next, tables.out, strict=True)):
        code, state = divmod(at, states)
        step = rows.transition[rows.classes[code] * 32 + state]
        assert (step & 31, rows.out[step >> 5]) == (following, output)


def test_the_patterns_in_use_fit_in_rows() -> None:
    fits = {name for name in COMPILED if (vector := compile_pattern(as_tuple(COMPILED[name])).vector) and vector.rows}
    assert {"gpt2", "cl100k", "llama3", "qwen2", "deepseek-v3"} - fits == set()


@pytest.mark.parametrize("name", COMPILED)
def test_a_set_in_rows_holds_every_state_the_text_may_be_in(name: str) -> None:
    tables = compile_pattern(as_tuple(COMPILED[name]))
    assert tables.vector is not None
    rows, codes = tables.vector.rows, len(tables.next) // tables.states
    if rows is None:
        return
    choose = random.Random(name)
    for _ in range(400):
        states, one = set(range(tables.states)), tables.vector.all_states
        for code in choose.choices([*range(128), *[9, 10, 32, 39, 48, 65, 97, 108] * 8, *range(128, codes)], k=12):
            states = {tables.next[code * tables.states + state] for state in states}
            one = rows.subset[rows.classes[code] * 32 + one]
            assert one >= tables.states or states == {one}


def test_what_does_not_fit_has_no_rows() -> None:
    for states, outputs in ((32, bytes(32 * 3)), (4, bytes(range(9)) + bytes(3))):
        vector = vector_tables(bytes(states * 3), outputs, states)
        assert vector is not None
        assert vector.rows is None
    vector = vector_tables(bytes(31 * 3), bytes(range(8)) + bytes(31 * 3 - 8), 31)
    assert vector is not None
    assert vector.rows is not None


@pytest.mark.parametrize("name", ["gpt2", "cl100k", "o200k", "llama3", "qwen2", "deepseek-v3"])
def test_a_word_and_a_space_are_enough_to_know_the_state(name: str) -> None:
    tables = compile_pattern(as_tuple(COMPILED[name]))
    assert tables.vector is not None
    one = tables.vector.all_states
    for code in b"en the":
        one = look(tables.vector.subset, code, one)
    assert one < tables.states


def test_what_does_not_fit_has_no_pages() -> None:
    assert vector_tables(bytes(200 * 3), bytes(200 * 3), 200) is None
    # 129 different steps
    assert vector_tables(bytes(range(100)) * 2, bytes(100) + bytes([1] * 100), 100) is None
    # two rows that need a page each, nine times
    rows = [bytes([row] * 100) for row in range(9)]
    assert vector_tables(b"".join(rows), bytes(900), 100) is None


def test_a_transducer_of_one_state() -> None:
    vector = vector_tables(bytes(130), bytes([1] * 130), 1)
    assert vector is not None
    assert vector.transition.pages == 1
    assert vector.out[look(vector.transition, 97, 0)] == 1
    assert look(vector.subset, 97, vector.all_states) == 0
