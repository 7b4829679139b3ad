"""A split pattern, compiled to the tables that the scanner runs (_scan.pyx).

The scanner does not read groups but *codes* of one byte: an ASCII character is its own code, the groups of other
characters are numbered from 128, one code stands for the later bytes of a character and changes nothing, one for the
end of the text. The step of the machine is then one look-up by code and state.
"""
from __future__ import annotations

from typing import NamedTuple

import regex

from .automaton import Automaton, sets_of
from .char_classes import Groups
from .regex_parser import UnsupportedPattern, parse
from .transducer import COMMIT, CUTS, MARK, Machine, Unfoldable, chain, fold
from .vector_tables import Wide, widen

__all__ = ["Tables", "Unfoldable", "UnsupportedPattern", "compile_pattern"]

ASCII = 128
MAX_CODES = 256
MAX_STATES = 255
CUT_BITS, MARK_BIT, COMMIT_BIT = 4, 4, 5  # of an output byte; bpetite/splitting/scan_blocks.h says the same


class Tables(NamedTuple):
    """What a scanner needs. Bytes by code and state are `table[code * states + state]`."""

    next: bytes
    out: bytes
    column: bytes  # code -> column: codes with one column do the same in every state
    forget: bytes  # by two columns: 1 + the state after both, whatever it was before; 0 where it depends on that
    stage: bytes  # code point // 64 -> page number, 16 bits each
    pages: bytes  # page number * 64 + code point % 64 -> code
    states: int
    columns: int
    kinds: int  # all bits that occur in an output
    mark_back: int  # how many characters back the mark is set
    stay: int  # the code of a character's later bytes
    end: int  # the code of the end of the text
    wide: Wide | None  # the same machine for 64 places of the text at once


def compile_pattern(patterns: tuple[str, ...]) -> Tables:
    """Tables for splits that are applied one inside the pieces of the other.

    Raises `UnsupportedPattern` for what the parser does not know and `Unfoldable` for what no small machine can do.
    """
    trees = [parse(pattern) for pattern in patterns]
    groups = Groups(chars for tree in trees for chars in sets_of(tree))
    machine = fold(Automaton(trees[0], groups))
    for tree in trees[1:]:
        machine = chain(machine, fold(Automaton(tree, groups)))
    return lay_out(machine, groups)


def lay_out(machine: Machine, groups: Groups) -> Tables:
    """The machine's tables by code and state, and the map from code points to codes."""
    states = len(machine.next)
    beyond = sorted({group for start, group in zip(groups.starts, groups.groups) if start >= ASCII}
                    | {groups.group_of(ASCII)})
    stay, end = ASCII + len(beyond), ASCII + len(beyond) + 1
    if end >= MAX_CODES or states > MAX_STATES:
        raise Unfoldable(f"{len(beyond)} groups and {states} states are too many")
    codes = [0] * groups.count
    for code, group in enumerate(beyond, ASCII):
        codes[group] = code

    columns = bytes((*map(groups.group_of, range(ASCII)), *beyond, groups.count, groups.count + 1))
    back = mark_back(machine)
    following, outputs = bytearray(), bytearray()
    for group in columns[:-2]:
        following += bytes(row[group] for row in machine.next)
        outputs += bytes(output_byte(row[group], back) for row in machine.out)
    following += bytes(range(states)) + bytes(states)
    outputs += bytes(states) + bytes(output_byte(row[groups.count], back) for row in machine.out)
    kinds = 0
    for output in set(outputs):
        kinds |= output
    stage, pages = groups.two_stage(codes)
    return Tables(bytes(following), bytes(outputs), columns, forgetful_pairs(machine, groups.count),
                  stage.tobytes(), pages, states, groups.count + 2, kinds, back, stay, end,
                  widen(bytes(following), bytes(outputs), states))


def forgetful_pairs(machine: Machine, count: int) -> bytes:
    """For two groups, 1 + the state after reading both if every state leads there, else 0.

    The last two rows and columns are the end of the text and the later bytes of a character: never known.
    """
    after = [frozenset(row[group] for row in machine.next) for group in range(count)]
    table = bytearray((count + 2) ** 2)
    for first in range(count):
        for second in range(count):
            states = {machine.next[state][second] for state in after[first]}
            if len(states) == 1:
                table[first * (count + 2) + second] = 1 + states.pop()
    return bytes(table)


def mark_back(machine: Machine) -> int:
    """How many characters back the machine sets its mark: always the same, or it does not fit the scanner."""
    backs = {
        (out & (CUTS << MARK)).bit_length() - 1 - MARK for outs in machine.out for out in outs if out & (CUTS << MARK)
    }
    if len(backs) > 1 or any(back >= CUT_BITS for back in backs):
        raise Unfoldable("marks at more than one distance")
    return backs.pop() if backs else 0


def output_byte(out: int, back: int) -> int:
    """An output as the scanner reads it."""
    cuts = out & CUTS
    if cuts >> CUT_BITS:
        raise Unfoldable("cuts too far back")
    return cuts | bool(out >> (MARK + back) & 1) << MARK_BIT | bool(out & COMMIT) << COMMIT_BIT


def check(pattern: str) -> None:
    """Raise `ValueError` with the place where `regex` itself refuses the pattern."""
    try:
        regex.compile(pattern)
    except regex.error as error:
        raise ValueError(f"the split pattern {pattern!r} is not a regular expression: {error}") from error
