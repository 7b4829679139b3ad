"""The scanner's tables for machines that look up 64 bytes at once (bpetite/splitting/scan_avx512.h).

Such a machine has one instruction that looks up 64 indices in a table of 128 bytes, a *page*. A function of a code and
a state takes as many pages as its different rows need: codes that do the same in every state share a row, and a page
has room for 128 // states rows.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["Wide", "widen"]

ASCII = 128
CODES = 256
PAGE = 128
MAX_PAGES = 8


class Paged(NamedTuple):
    """A function of a code and a state: ``steps[page[code] * 128 + place[code] + state]``."""

    place: bytes
    page: bytes
    steps: bytes
    pages: int
    ascii_pages: int  # pages with rows of ASCII codes: they come first


class Wide(NamedTuple):
    """What a scanner needs to run 64 lanes."""

    run: Paged  # (code, state) -> step, a number for what the machine does
    following: bytes  # step -> state
    output: bytes  # step -> output byte
    find: Paged  # (code, set of states) -> set; the numbers of the states stand for sets of one
    every: int  # the set of all states


def widen(following: bytes, outputs: bytes, states: int) -> Wide | None:
    """The same machine in pages, or None where it does not fit.

    Args:
        following: By code and state, see `bpetite.splitting.scanner_tables.Tables.next`.
        outputs: The same of the outputs.
        states: How many there are.
    """
    if states >= PAGE:
        return None
    starts = range(0, len(following), states)
    steps = list(dict.fromkeys(zip(following, outputs, strict=True)))
    number = {step: at for at, step in enumerate(steps)}
    rows = [bytes(map(number.__getitem__, zip(following[at : at + states], outputs[at : at + states], strict=True)))
            for at in starts] if len(steps) <= PAGE else []
    run = in_pages(rows)
    moves = [following[at : at + states] for at in starts]
    find = None if run is None else in_pages(sets_of_states(moves))
    if run is None or find is None:
        return None
    return Wide(run, bytes(state for state, _ in steps).ljust(PAGE, b"\0"),
                bytes(output for _, output in steps).ljust(PAGE, b"\0"), find, states)


def in_pages(rows: Sequence[bytes]) -> Paged | None:
    """Rows by code, laid out in pages; None where there are none or they do not fit."""
    different = {row: at for at, row in enumerate(dict.fromkeys(rows))}
    if not different or len(rows) > CODES:
        return None
    width = len(rows[0])
    each = PAGE // width
    pages = -(-len(different) // each) if each else CODES
    if pages > MAX_PAGES:
        return None
    steps = b"".join(
        b"".join(list(different)[at : at + each]).ljust(PAGE, b"\0") for at in range(0, len(different), each)
    )
    place = bytes(different[row] % each * width for row in rows)
    page = bytes(different[row] // each for row in rows)
    return Paged(place.ljust(CODES, b"\0"), page.ljust(CODES, b"\0"), steps, pages, max(page[:ASCII]) + 1)


def sets_of_states(moves: Sequence[bytes]) -> list[bytes]:
    """The steps of a machine whose states are sets of states, by code: where a text may be that is not known so far.

    The sets of one state come first, numbered as the states; then that of all; then those that are reached from it,
    as many as have room. A set that has none is taken for a larger one that has: so much less is known, and nothing
    wrong.
    """
    states = len(moves[0])
    different = list(dict.fromkeys(moves))
    room = next(size for size in range(PAGE, states, -1) if -(-len(different) // (PAGE // size)) <= MAX_PAGES
                or size == states + 1)
    sets = [frozenset((state,)) for state in range(states)] + [frozenset(range(states))]
    at = states
    while at < len(sets):
        for move in different:
            after = frozenset(move[state] for state in sets[at])
            if after not in sets and len(sets) < room:
                sets.append(after)
        at += 1
    number = {one: at for at, one in reversed(list(enumerate(sets)))}
    larger = sorted(sets[states:], key=len)

    def step(move: bytes, one: frozenset[int]) -> int:
        after = frozenset(move[state] for state in one)
        return number[after if after in number else next(some for some in larger if after <= some)]

    stepped = {move: bytes(step(move, one) for one in sets) for move in different}
    return [stepped[move] for move in moves]
