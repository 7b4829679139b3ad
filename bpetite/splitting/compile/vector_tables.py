"""The scanner's tables for processors with AVX-512 (scan_avx512.h).

There one instruction looks up 64 indices in a table of 128 bytes, a *page*. A function of a code and a state takes as
many pages as its distinct rows need: codes that do the same in every state share a row, and a page has room for
128 // states rows.
"""
from collections.abc import Sequence
from typing import NamedTuple

ASCII = 128
CODES = 256
PAGE = 128
MAX_PAGES = 8


class Paged(NamedTuple):
    """A function of a code and a state: ``values[page[code] * 128 + row[code] + state]``."""

    row: bytes
    page: bytes
    values: bytes
    pages: int
    ascii_pages: int  # pages with rows of ASCII codes: they come first


class VectorTables(NamedTuple):
    """The transducer and its subset automaton in pages."""

    transition: Paged  # (code, state) -> transition: a number for each pair of a next state and an output
    next: bytes  # transition -> state
    out: bytes  # transition -> output
    subset: Paged  # (code, set of states) -> set; the sets of one state have that state's number
    all_states: int  # the set of all states, from which the subset automaton starts


def vector_tables(following: bytes, outputs: bytes, states: int) -> VectorTables | None:
    """The transducer in pages, or None if it does not fit. IN: next states and outputs by code and state."""
    if states >= PAGE:
        return None
    starts = range(0, len(following), states)
    transitions = list(dict.fromkeys(zip(following, outputs, strict=True)))
    if len(transitions) > PAGE:
        return None
    number = {transition: at for at, transition in enumerate(transitions)}
    numbers = bytes(number[transition] for transition in zip(following, outputs, strict=True))
    transition = in_pages([numbers[at : at + states] for at in starts])
    if transition is None:
        return None
    moves = [following[at : at + states] for at in starts]
    subset = in_pages(subset_rows(moves, room_in_pages(moves)))
    if subset is None:
        return None
    after, out = (bytes(column).ljust(PAGE, b"\0") for column in zip(*transitions, strict=True))
    return VectorTables(transition, after, out, subset, states)


def in_pages(rows: Sequence[bytes]) -> Paged | None:
    """Rows by code, laid out in pages; None if they do not fit."""
    distinct = list(dict.fromkeys(rows))
    width = len(rows[0])
    rows_per_page = PAGE // width
    if len(rows) > CODES or not rows_per_page or pages_for(len(distinct), rows_per_page) > MAX_PAGES:
        return None
    pages = [distinct[at : at + rows_per_page] for at in range(0, len(distinct), rows_per_page)]
    index = {row: divmod(at, rows_per_page) for at, row in enumerate(distinct)}
    page = bytes(index[row][0] for row in rows).ljust(CODES, b"\0")
    offset = bytes(index[row][1] * width for row in rows).ljust(CODES, b"\0")
    values = b"".join(b"".join(page).ljust(PAGE, b"\0") for page in pages)
    return Paged(offset, page, values, len(pages), max(page[:ASCII]) + 1)


def pages_for(rows: int, rows_per_page: int) -> int:
    return -(-rows // rows_per_page)


def room_in_pages(moves: Sequence[bytes]) -> int:
    """The most sets of states for which the subset automaton fits into pages."""
    distinct, room = len(set(moves)), len(moves[0]) + 1
    while room < PAGE and pages_for(distinct, PAGE // (room + 1)) <= MAX_PAGES:
        room += 1
    return room


def subset_rows(moves: Sequence[bytes], room: int) -> list[bytes]:
    """The subset automaton, the states that the transducer can be in after the text read so far: for each code the next
    sets by set. IN: `moves`, for each code the next states by state; more `room` for sets than there are states.

    The sets of one state come first, with the numbers of the states; then the set of all states; then as many sets
    reached from it as have room. A set without room is replaced by a larger one that has a number, which is less
    precise but never wrong.
    """
    states = len(moves[0])
    distinct = list(dict.fromkeys(moves))
    sets = [frozenset((state,)) for state in range(states)] + [frozenset(range(states))]
    at = states
    while at < len(sets):
        for move in distinct:
            after = frozenset(move[state] for state in sets[at])
            if after not in sets and len(sets) < room:
                sets.append(after)
        at += 1
    number = {one: at for at, one in reversed(list(enumerate(sets)))}
    larger = sorted(sets[states:], key=len)

    def step(move: bytes, one: frozenset[int]) -> int:
        after = frozenset(move[state] for state in one)
        return number[after if after in number else next(some for some in larger if after <= some)]

    rows = {move: bytes(step(move, one) for one in sets) for move in distinct}
    return [rows[move] for move in moves]
