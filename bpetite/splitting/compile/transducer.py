"""From an automaton that finds one match to a Mealy transducer that cuts a whole text, reading every character once.

Cutting a text with the automaton (automaton.py) means backtracking: run it until no thread is left, go back to the end
of the last match, start again there and read the characters after it once more. As long as they are few, this whole
procedure is itself a finite machine. Its state is the memory of the procedure: the live threads, and the groups read
since the last position that it may have to go back to. Its output at each character gives the beginnings of pre-tokens
that are certain now: at this character, one character back, two back. This module finds that transducer by search from
the initial state, and minimises it. GPT-2's pattern needs twelve states and never looks back more than one character.

What the transducer remembers (`Memory`), besides the live threads of the present attempt at a match:

  * whether the attempt has *matched* already, so that failing to match more falls back to a known end;
  * the *tail*: groups read since that end, or since the attempt began when nothing has matched yet;
  * whether a *gap* is open: text before the attempt where nothing matched, which becomes a pre-token of its own once
    the next match is certain.

One case is open-ended. After a newline, `\\s*[\\r\\n]+` reads on through spaces that may lead to another newline, and
any number of spaces may have to be given back. The tail would grow without end, but the effect of a failed attempt is
known beforehand: the transducer starts again after the newline, reads the same spaces and so far cuts nowhere. So,
instead of the tail, it remembers its state in that case (`otherwise`) and advances the two states together. Only the
position of the newline cannot be found by counting back; the transducer *marks* it when the tail gets too long, and
*commits* the mark as a cut when the attempt fails. The other open-ended case is an attempt that has matched nothing
yet, such as `\\s*\\w+` while it reads spaces: the attempts begun at each of these spaces fail or match together, so the
tail need not hold them all. One mark is enough for the patterns in use; a pattern that needs more has no transducer
here, and is left to `regex`.

Sequences of splits. A later split sees the parts of the earlier one as texts of their own. So the first transducer
feeds the second: every character, once no cut of the first can fall before it any more, and the end of the text at
each cut of the first. The same search finds their composition (`compose`).
"""
from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import NamedTuple, TypeVar

from ..pattern.char_classes import Budget, NoTransducer
from .automaton import Automaton, State

# An output is a set of bits: bit k says that a pre-token begins k characters before the present one, bit MARK + k that
# the mark is to be set there, COMMIT that the mark set last is a cut (in that order: the old mark first).
CUTS = 0xFF
MARK = 8
COMMIT = 1 << 16
MAX_BACK = 3
MAX_STATES = 400

S = TypeVar("S", bound=Hashable)


class Transducer(NamedTuple):
    """A Mealy transducer over groups: `next[state][group]` and `out[state][group]`; it starts in state 0.

    The last column is the end of the text: its output adds to the cut at the end, its next state is unused.
    """

    next: list[list[int]]
    out: list[list[int]]


class Memory(NamedTuple):
    """The memory of the transducer between two characters."""

    threads: State
    gap: bool = False
    matched: bool = False
    tail: tuple[int, ...] = ()
    otherwise: Memory | None = None
    marked: bool = False  # the attempt began at the mark, not where the tail begins


def transducer(automaton: Automaton) -> Transducer:
    """The transducer of a single pattern, with the shortest tails that will do. Raises `NoTransducer`."""
    for back in range(1, MAX_BACK):
        try:
            return Construction(automaton, back).transducer()
        except NoTransducer:
            pass  # longer tails may do
    return Construction(automaton, MAX_BACK).transducer()


class Construction:
    """Runs the procedure of the module's docstring on memories instead of texts."""

    def __init__(self, automaton: Automaton, back: int) -> None:
        self.automaton = automaton
        self.back = back  # the longest tail
        self.start: Memory = Memory(automaton.start)

    def transducer(self) -> Transducer:
        return explore(self.start, self.automaton.end, self.step, self.automaton.budget)

    def step(self, memory: Memory, group: int) -> tuple[Memory, int]:
        """Read one character. Returns the new memory and the output, counted from before this character."""
        threads, match = self.automaton.step(memory.threads, group)
        if memory.otherwise is not None:
            return self.step_both(memory.otherwise, threads, match, group)
        gap, matched, tail = memory.gap, memory.matched, memory.tail
        out = 0
        if match:
            if gap:
                out |= COMMIT if memory.marked else cut(len(tail))  # the gap ends where the attempt began
            if not threads:
                after, more = self.step(self.start, group)
                return after, out | cut(0) | more
            gap, matched, tail = False, True, ()
        elif not threads:
            return self.fail(memory, group)
        tail += (group,)
        if self.automaton.sure(threads):
            if gap:
                out |= COMMIT if memory.marked else cut(len(tail) - 1)
            gap, matched, tail = False, True, ()
        after = Memory(threads, gap, matched, tail, None, memory.marked and not matched)
        if len(tail) <= self.back:
            return after, out
        if matched:
            return self.speculate(after), out | 1 << (MARK + len(tail) - 1)
        if gap and not memory.marked:
            out |= 1 << (MARK + len(tail) - 1)
        return self.shorten(after), out

    def fail(self, memory: Memory, group: int) -> tuple[Memory, int]:
        """No thread is left: go back to the last certain position and read again from there."""
        if memory.matched:
            after, out, again = self.start, cut(len(memory.tail)), memory.tail
        elif memory.tail:
            after, out, again = Memory(self.automaton.start, gap=True), 0, memory.tail[1:]
        else:  # no match begins with this character: it belongs to a gap
            return Memory(self.automaton.start, gap=group != self.automaton.end), 0
        for distance, earlier in zip(range(len(again), 0, -1), again):
            after, more = self.step(after, earlier)
            if more & ~CUTS:
                raise NoTransducer("a mark inside text that is read again")
            out |= delayed(more, distance)
        after, more = self.step(after, group)
        return after, join(out, more)

    def speculate(self, memory: Memory) -> Memory:
        """Replace a tail that is too long, after a match, by the memory that reading it again would lead to."""
        otherwise, out = self.start, 0
        for group in memory.tail:
            otherwise, more = self.step(otherwise, group)
            out |= more
        return attempt_with_fallback(memory.threads, otherwise, out)

    def step_both(self, otherwise: Memory, threads: State, match: bool, group: int) -> tuple[Memory, int]:
        """Read one character while the fallback is known as a memory, and its position is marked."""
        if match and threads:
            return Memory(threads, matched=True, tail=(group,)), 0
        if match:
            after, out = self.step(self.start, group)
            return after, out | cut(0)
        otherwise, out = self.step(otherwise, group)
        if not threads:
            return otherwise, out | COMMIT
        return attempt_with_fallback(threads, otherwise, out), 0

    def shorten(self, memory: Memory) -> Memory:
        """Drop the first character of a tail that is too long, of an attempt that has not matched.

        An attempt begun one character later that has the same threads by now will fail or match with this one. If both
        fail, the next attempt is the one that begins after the later one.
        """
        later = self.automaton.start
        for group in memory.tail[1:]:
            later, match = self.automaton.step(later, group)
            if match:
                later = ()
        if later != memory.threads:
            raise NoTransducer("an attempt of unbounded length that may still fail")
        return memory._replace(tail=memory.tail[1:], marked=memory.gap)


def attempt_with_fallback(threads: State, otherwise: Memory, out: int) -> Memory:
    """An attempt that has matched, and its failure: by now the memory `otherwise`, without a cut."""
    if out or otherwise.otherwise is not None or otherwise.marked:
        raise NoTransducer("cuts that depend on text of unbounded length")
    return Memory(threads, matched=True, otherwise=otherwise)


def cut(distance: int) -> int:
    return 1 << distance


def delayed(out: int, distance: int) -> int:
    """An output of `distance` characters ago, counted from the present one."""
    cuts, marks = (out & CUTS) << distance, (out & (CUTS << MARK)) << distance
    if cuts & ~CUTS or marks & ~(CUTS << MARK):
        raise NoTransducer("cuts too far back")
    return cuts | marks | out & COMMIT


def join(earlier: int, later: int) -> int:
    """Two outputs, one after the other, as one; only cuts may come before a commit."""
    if earlier >> MARK and later >> MARK:
        raise NoTransducer("two marks in one step")
    return earlier | later


def explore(start: S, end: int, step: Callable[[S, int], tuple[S, int]], budget: Budget) -> Transducer:
    """The minimal transducer of all states that can be reached from the start."""
    numbers = {start: 0}
    states = [start]
    machine = Transducer([], [])
    for state in states:  # grows during the loop
        row, outs = [], []
        budget.spend(end)
        for group in range(end + 1):
            after, out = step(state, group)
            if group == end:
                after = start
            if after not in numbers:
                if len(states) == MAX_STATES:
                    raise NoTransducer(f"more than {MAX_STATES} states")
                numbers[after] = len(states)
                states.append(after)
            row.append(numbers[after])
            outs.append(out)
        machine.next.append(row)
        machine.out.append(outs)
    return minimised(machine, budget)


def minimised(machine: Transducer, budget: Budget) -> Transducer:
    """Merge equivalent states (Moore's algorithm): split them by their outputs until no block splits further."""
    count = 0
    signatures: list[tuple[object, ...]] = [tuple(outs) for outs in machine.out]
    while True:
        budget.spend(sum(map(len, machine.next)))
        numbers: dict[tuple[object, ...], int] = {}
        block = [numbers.setdefault(signature, len(numbers)) for signature in signatures]
        if len(numbers) == count:
            break
        count = len(numbers)
        signatures = [(block[state], *(block[after] for after in row)) for state, row in enumerate(machine.next)]
    first = [block.index(number) for number in range(count)]
    following = [[block[after] for after in machine.next[state]] for state in first]
    return Transducer(following, [machine.out[state] for state in first])


def compose(first: Transducer, second: Transducer, budget: Budget) -> Transducer:
    """The transducer that cuts with `first` and then cuts each part with `second`. Raises `NoTransducer`."""
    if any(out >> MARK for outs in first.out for out in outs):
        raise NoTransducer("a later split after one that needs a mark")
    end = len(first.next[0]) - 1
    undecided = undecided_characters(first)

    def step(state: tuple[int, tuple[tuple[int, bool], ...], int], group: int):  # type: ignore[no-untyped-def]
        """A state: the state of the first, the characters that the second has not seen, each with a cut before it or
        not, and the state of the second."""
        one, waiting, two = state
        out = first.out[one][group]
        after = first.next[one][group]
        queue = [*waiting, (group, group == end)]
        for back in range(len(queue)):
            if out >> back & 1:
                queue[-1 - back] = (queue[-1 - back][0], True)
        ready = len(queue) - (0 if group == end else undecided[after])
        result = 0
        for index in range(ready):
            symbol, is_cut = queue[index]
            distance = len(queue) - 1 - index
            if is_cut:
                result = join(result, delayed(second.out[two][end] | cut(0), distance))
                two = 0
            if symbol != end:
                result = join(result, delayed(second.out[two][symbol], distance))
                two = second.next[two][symbol]
        return (after, tuple(queue[ready:]), two), result

    machine = explore((0, (), 0), end, step, budget)
    if not restarts(machine, budget):
        raise NoTransducer("a later split cuts inside a part where the first would not begin anew")
    return machine


def undecided_characters(machine: Transducer) -> list[int]:
    """For each state, the number of last characters that may still get a cut before them."""
    reach = [max(0, max(out.bit_length() - 1 for out in outs)) for outs in machine.out]
    for _ in range(MARK):
        reach = [max(own, max(reach[after] for after in row[:-1]) - 1) for own, row in zip(reach, machine.next)]
    return reach


def restarts(machine: Transducer, budget: Budget) -> bool:
    """True if a scan that starts at any cut continues like the scan that made the cut.

    Callers rely on it: they read long texts in parts that meet at a cut. It holds for every single pattern, which looks
    for its next match at the end of the last one. In a sequence of splits a later one may cut inside a part of the
    first, which might take other text from there: in "abcd", (`abc|bcd`, `a|bcd|bc|d`) cuts a|bc|d, but "bcd" is one
    part. The check runs the transducer and copies of it that started one, two and more characters ago and at the mark:
    a copy that started at a cut must be in the same state and have the same cuts.
    """
    back = max((out & CUTS | out >> MARK & CUTS).bit_length() for outs in machine.out for out in outs)
    start = (0, ((0, False),) * back, (0, False))
    todo, seen = [start], {start}
    while todo:
        budget.spend((2 + back) * len(machine.next[0]))
        state, copies, marked = todo.pop()
        for group in range(len(machine.next[0]) - 1):
            out, after = machine.out[state][group], machine.next[state][group]
            cuts = out & CUTS
            running = [(0, False), *copies]  # running[k] was started k characters before this one
            for distance in range(back):
                if cuts >> distance & 1 and not same(machine, after, cuts % (1 << distance), running[distance], group):
                    return False
            if out & COMMIT and not same(machine, after, cuts, marked, group):
                return False
            advanced = [advance(machine, copy, group, distance) for distance, copy in enumerate(running)]
            mark = (out >> MARK & CUTS).bit_length()
            at_mark = advanced[mark - 1] if mark else advance(machine, marked, group, MARK)
            step = (after, tuple(advanced[:back]), at_mark)
            if step not in seen:
                seen.add(step)
                todo.append(step)
    return True


def advance(machine: Transducer, copy: tuple[int, bool], group: int, age: int) -> tuple[int, bool]:
    """A copy after one more character: its state, and True if it has cut after its start."""
    state, has_cut = copy
    return machine.next[state][group], has_cut or bool(machine.out[state][group] & (1 << age) - 1)


def same(machine: Transducer, after: int, cuts: int, copy: tuple[int, bool], group: int) -> bool:
    """True if a copy goes to the state `after` with these cuts, and has not cut before."""
    state, has_cut = copy
    return not has_cut and machine.next[state][group] == after and machine.out[state][group] & CUTS == cuts
