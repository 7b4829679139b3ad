"""The scanner's tables for processors with byte shuffles.

With AVX-512 (scan_avx512.h) one instruction looks up 64 indices in a table of 128 bytes, a *page*. A function of a code
and a state takes as many pages as its distinct rows need: codes that do the same in every state share a row, and a page
has room for 128 // states rows.

Others (scan_lanes.h) look up each byte in a table of sixteen. There the codes of one row are a *class*, and the row of
a class is one such table, or two where there are more than sixteen states.
"""
from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["VectorTables", "vector_tables"]

ASCII = 128
CODES = 256
PAGE = 128
MAX_PAGES = 8
ROW_CODES = 144  # codes that have a class: nine tables of sixteen
ROW = 32  # states, and sets of states, that a class has entries for
MAX_OUTPUTS = 8  # a state and an output's number share a byte
MAX_CLASSES = 32  # with more, four parallel look-ups are as fast


class Paged(NamedTuple):
    """A function of a code and a state: ``values[page[code] * 128 + row[code] + state]``."""

    row: bytes
    page: bytes
    values: bytes
    pages: int
    ascii_pages: int  # pages with rows of ASCII codes: they come first


class Rows(NamedTuple):
    """The transducer and its subset automaton in rows of 32 bytes by class; classes of ASCII codes come first."""

    classes: bytes  # code -> class, 144
    transition: bytes  # class * 32 + state -> next state | 32 * number of the output; a multiple of four classes
    subset: bytes  # class * 32 + set -> set; the sets of one state have that state's number
    out: bytes  # number of an output -> output, 16
    size: int  # classes
    ascii_size: int


class VectorTables(NamedTuple):
    """The transducer and its subset automaton in pages."""

    transition: Paged  # (code, state) -> transition: a number for each pair of a next state and an output
    next: bytes  # transition -> state
    out: bytes  # transition -> output
    subset: Paged  # (code, set of states) -> set; the sets of one state have that state's number
    all_states: int  # the set of all states, from which the subset automaton starts; in rows too
    rows: Rows | None


def vector_tables(following: bytes, outputs: bytes, states: int) -> VectorTables | None:
    """The transducer in pages, or None if it does not fit.

    Args:
        following: The next state by code and state, as in `ScannerTables.next`.
        outputs: The output by code and state.
        states: The number of states.
    """
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
    return VectorTables(transition, after, out, subset, states, in_rows(moves, outputs))


def in_rows(moves: Sequence[bytes], outputs: bytes) -> Rows | None:
    """The transducer in rows, or None if it does not fit: the next states by state, for each code, and the outputs."""
    states, kinds = len(moves[0]), list(dict.fromkeys(outputs))
    if states >= ROW or len(moves) > ROW_CODES or len(kinds) > MAX_OUTPUTS:
        return None
    number = {output: at * ROW for at, output in enumerate(kinds)}
    steps = [
        bytes(after | number[output] for after, output in zip(move, outputs[at * states :]))
        for at, move in enumerate(moves)
    ]
    classes = {step: at for at, step in enumerate(dict.fromkeys(steps))}
    if len(classes) > MAX_CLASSES:
        return None
    class_of = bytes(map(classes.__getitem__, steps)).ljust(ROW_CODES, b"\0")
    subset = {class_of[at]: row for at, row in enumerate(subset_rows(moves, ROW))}
    return Rows(
        class_of, table(list(classes)), table([subset[at] for at in range(len(classes))]),
        bytes(kinds).ljust(16, b"\0"),
        len(classes), max(class_of[:ASCII]) + 1,
    )  # fmt: skip


def table(rows: list[bytes]) -> bytes:
    """Rows one after the other, and zeros up to a multiple of four, which are looked up at once."""
    return b"".join(row.ljust(ROW, b"\0") for row in rows).ljust(-(-len(rows) // 4) * 4 * ROW, b"\0")


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
    """The subset automaton by code: the states that the transducer can be in after the text read so far.

    Args:
        moves: The next states by state, for each code.
        room: The most sets; more than there are states.

    Returns:
        The next sets by set, for each code. The sets of one state come first, with the numbers of the states; then the
        set of all states; then as many sets reached from it as have room. A set without room is replaced by a larger
        one that has a number, which is less precise but never wrong.
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
