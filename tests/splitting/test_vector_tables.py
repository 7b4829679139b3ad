"""The transducer in pages against its tables by code and state, and the subset automaton against the states in it."""
import random

import pytest
from splits import COMPILED

from bpetite.patterns import as_tuple
from bpetite.splitting.compile.compile_pattern import compile_pattern
from bpetite.splitting.compile.scanner_tables import ScannerTables
from bpetite.splitting.compile.vector_tables import Paged, VectorTables, vector_tables


def look(function: Paged, code: int, state: int) -> int:
    assert function.row[code] + state < 128
    return function.values[function.page[code] * 128 + function.row[code] + state]


def made(name: str) -> tuple[ScannerTables, VectorTables]:
    tables = compile_pattern(as_tuple(COMPILED[name]))
    assert tables.vector is not None
    return tables, tables.vector


@pytest.mark.parametrize("name", COMPILED)
def test_every_transition_is_the_transducer_s(name: str) -> None:
    tables, vector = made(name)
    for at, found in enumerate(zip(tables.next, tables.out, strict=True)):
        code, state = divmod(at, tables.states)
        step = look(vector.transition, code, state)
        assert (vector.next[step], vector.out[step]) == found
    for function in (vector.transition, vector.subset):
        assert len(function.values) == 128 * function.pages <= 1024
        assert max(function.page[:128]) < function.ascii_pages <= function.pages


@pytest.mark.parametrize("name", COMPILED)
def test_a_set_holds_every_state_the_text_may_be_in(name: str) -> None:
    tables, vector = made(name)
    codes = len(tables.next) // tables.states
    choose = random.Random(name)
    members: dict[int, set[int]] = {}
    for _ in range(400):
        states, one = set(range(tables.states)), vector.all_states
        for code in choose.choices([*range(128), *[9, 10, 32, 39, 48, 65, 97, 108] * 8, *range(128, codes)], k=12):
            states = {tables.next[code * tables.states + state] for state in states}
            one = look(vector.subset, code, one)
            assert one >= tables.states or states == {one}
            if one not in (vector.all_states, *range(tables.states)):
                members.setdefault(one, set()).update(states)
    assert all(len(states) < tables.states for states in members.values())


@pytest.mark.parametrize("name", ["gpt2", "cl100k", "o200k", "llama3", "qwen2", "deepseek-v3"])
def test_a_word_and_a_space_are_enough_to_know_the_state(name: str) -> None:
    tables, vector = made(name)
    one = vector.all_states
    for code in b"en the":
        one = look(vector.subset, code, one)
    assert one < tables.states
    letter, space, digit = (tables.column[code] for code in b"x 7")
    known = tables.synchronized[letter * tables.columns + space]
    after = {tables.next[ord("x") * tables.states + state] for state in range(tables.states)}
    assert {tables.next[ord(" ") * tables.states + state] for state in after} == {known - 1}
    if name == "cl100k":  # digits go by three there
        assert tables.synchronized[digit * tables.columns + digit] == 0


def test_gpt2_takes_little_memory() -> None:
    tables, _ = made("gpt2")
    assert sum(map(len, (tables.next, tables.out, tables.column, tables.synchronized))) <= 64 << 10


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
