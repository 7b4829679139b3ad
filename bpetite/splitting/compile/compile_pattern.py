"""A split pattern, compiled to the tables that the scanner runs (_scan.pyx).

The whole way from a pattern to these tables:

    regex_parser.py     the pattern's text -> a tree
    unicode_data.py     the classes of characters that a pattern can name
    char_classes.py     its character sets -> groups of code points
    automaton.py        tree and groups -> a deterministic automaton that finds one match
    transducer.py       the automaton -> a Mealy transducer that cuts a whole text in one pass
    compile_pattern.py  the transducer -> tables by code and state (this module)
    vector_tables.py    the same for processors with byte shuffles
    scanner_tables.py   what comes out, and the tables of the named patterns, which ship with the package

The scanner does not read groups but *codes* of one byte: an ASCII character is its own code, the groups of other
characters are numbered from 128, one code stands for the continuation bytes of a character and changes nothing, one for
the end of the text. A step is then one look-up by code and state.
"""
from __future__ import annotations

from ..pattern.char_classes import Budget, Groups, NoTransducer
from ..pattern.regex_parser import parse, sets_of
from ..scan._scan import COMMIT_BIT, MARK_BIT
from .automaton import Automaton
from .scanner_tables import ScannerTables
from .transducer import COMMIT, CUTS, MARK, Transducer, compose, transducer
from .vector_tables import vector_tables

ASCII = 128
MAX_CODES = 256
MAX_STATES = 255


def compile_pattern(patterns: tuple[str, ...]) -> ScannerTables:
    """Tables for a sequence of splits, each inside the parts of the previous one.

    Raises `UnsupportedPattern` for syntax that the parser does not know, and `NoTransducer` if no small transducer cuts
    as the pattern does, or none is found within the steps of its `Budget`.
    """
    trees = [parse(pattern) for pattern in patterns]
    groups = Groups(chars for tree in trees for chars in sets_of(tree))
    automata = [Automaton(tree, groups) for tree in trees]
    combined, *later = map(transducer, automata)
    for one in later:
        combined = compose(combined, one, groups.budget)
    return lay_out(combined, groups, all(automaton.always_matches() for automaton in automata))


def lay_out(machine: Transducer, groups: Groups, gapless: bool) -> ScannerTables:
    """The transducer's tables by code and state, and the map from code points to codes."""
    states = len(machine.next)
    beyond = sorted({group for start, group in zip(groups.starts, groups.groups) if start >= ASCII}
                    | {groups.group_of(ASCII)})
    continuation, end = ASCII + len(beyond), ASCII + len(beyond) + 1
    if end >= MAX_CODES or states > MAX_STATES:
        raise NoTransducer(f"{len(beyond)} groups and {states} states are too many")
    codes = [0] * groups.count
    for code, group in enumerate(beyond, ASCII):
        codes[group] = code

    read = (*map(groups.group_of, range(ASCII)), *beyond)
    back = mark_back(machine)
    moves = {group: bytes(row[group] for row in machine.next) for group in {*read}}
    cuts = {group: bytes(output_byte(row[group], back) for row in machine.out) for group in {*read, groups.count}}
    following = b"".join(map(moves.__getitem__, read)) + bytes(range(states)) + bytes(states)
    outputs = b"".join(map(cuts.__getitem__, read)) + bytes(states) + cuts[groups.count]
    rows = [(following[at : at + states], outputs[at : at + states]) for at in range(0, len(following), states)]
    columns = {row: at for at, row in enumerate(dict.fromkeys(rows))}
    used_bits = 0
    for output in set(outputs):
        used_bits |= output
    page_of, pages = groups.pages(codes)
    return ScannerTables(
        following, outputs, bytes(map(columns.__getitem__, rows)),
        synchronizing_pairs([move for move, _ in columns], groups.budget), page_of.tobytes(), pages,
        states, len(columns), used_bits, back, continuation, end, gapless, vector_tables(following, outputs, states),
    )  # fmt: skip


def synchronizing_pairs(moves: list[bytes], budget: Budget) -> bytes:
    """For two columns, 1 + the state after reading both if every state leads there, else 0. IN: the `moves` of each
    column, the next state by state."""
    table = bytearray()
    for first in moves:
        between = {*first}
        budget.spend(len(moves) * len(between))
        for second in moves:
            states = {second[state] for state in between}
            table.append(1 + states.pop() if len(states) == 1 else 0)
    return bytes(table)


def mark_back(machine: Transducer) -> int:
    """The distance of the mark in characters. The scanner knows only one."""
    marks = {out >> MARK & CUTS for outs in machine.out for out in outs} - {0}
    backs = {mark.bit_length() - 1 for mark in marks}
    if len(backs) > 1 or any(back >= MARK_BIT for back in backs):
        raise NoTransducer("marks at more than one distance")
    return backs.pop() if backs else 0


def output_byte(out: int, back: int) -> int:
    """An output as the scanner reads it."""
    cuts = out & CUTS
    if cuts >> MARK_BIT:
        raise NoTransducer("cuts too far back")
    byte: int = cuts | bool(out >> (MARK + back) & 1) << MARK_BIT | bool(out & COMMIT) << COMMIT_BIT
    return byte
