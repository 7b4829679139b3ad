"""From an automaton that finds one match to a machine that cuts a whole text, reading every character once.

Cutting a text by hand with the automaton (automaton.py) means backing up: run it until no thread is left, go back to
the end of the last match it saw, start again there and read once more what lay behind. As long as little lies behind,
this whole procedure is itself a finite machine. Its state is all the procedure remembers: the live threads, and the
groups read since the last place it may have to go back to. Its output at each character says where pre-tokens begin
that were in doubt until now: at this character, one character back, two back. This module finds that machine by plain
search from the start, and merges states that no text can tell apart. GPT-2's pattern needs twelve states and never
looks further back than one character.

What the machine remembers (`Memory`), besides the live threads of the present attempt at a match:

  * whether the attempt has *matched* already, so that failing to match more falls back to a known end;
  * the *word*: groups read since that end, or since the attempt began when nothing has matched yet;
  * whether a *gap* is open: text before the attempt where nothing matched, which becomes a pre-token of its own once
    the next match is certain.

One case is open-ended. After a newline, `\\s*[\\r\\n]+` reads on through spaces that may lead to another newline, and
any number of spaces may have to be given back. The word would grow without end, but what happens when the attempt
fails is known beforehand: the machine starts again after the newline, reads the same spaces and so far cuts nowhere.
So, instead of the word, it remembers the state it would be in by then (`otherwise`) and moves both along. The one thing
that cannot be said by counting back is where the newline was; the machine *marks* that place when the word gets too
long, and *commits* the mark as a cut when the attempt fails. The other open-ended case is an attempt that has matched
nothing yet, as `\\s*\\w+` has not while it reads spaces: the attempts begun at each of these spaces fail or match
together, so the word need not hold them all. One mark is enough for the patterns in use; a pattern that needs more does
not fold, and is left to `regex`.

Sequences of splits. Each later split sees the pieces of the earlier one as texts of their own, so the machine of the
first feeds the machine of the second: every character, once no cut of the first can fall before it any more, and the
end of the text where a cut of the first is. That is again a finite machine, found by the same search (`chain`).
"""
from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import NamedTuple, TypeVar

from .automaton import Automaton, State

__all__ = ["COMMIT", "CUTS", "MARK", "Machine", "Unfoldable", "chain", "fold"]

# An output is a set of bits: bit k says that a pre-token begins k characters before the present one, bit MARK + k that
# the mark is to be set there, COMMIT that the mark set last is a cut after all (in that order: the old mark first).
CUTS = 0xFF
MARK = 8
COMMIT = 1 << 16
MAX_BACK = 3
MAX_STATES = 400
MAX_COPIES = 20_000

S = TypeVar("S", bound=Hashable)


class Unfoldable(ValueError):
    """No machine of this kind, within its limits, cuts as the pattern does."""


class Machine(NamedTuple):
    """A machine over groups: `next[state][group]` and `out[state][group]`; it starts in state 0.

    The last column is the end of the text: its output adds to the cut that is always there, its next state means
    nothing.
    """

    next: list[list[int]]
    out: list[list[int]]


class Memory(NamedTuple):
    """What the machine remembers between two characters."""

    threads: State
    gap: bool = False
    matched: bool = False
    word: tuple[int, ...] = ()
    otherwise: Memory | None = None
    marked: bool = False  # the attempt began at the mark, not where the word begins


def fold(automaton: Automaton) -> Machine:
    """The one-pass machine of a single pattern, with the shortest memory that will do. Raises `Unfoldable`."""
    for back in range(1, MAX_BACK + 1):
        try:
            return Folding(automaton, back).machine()
        except Unfoldable as failure:
            reason = failure
    raise reason


class Folding:
    """Runs the procedure of the module's docstring on memories instead of texts."""

    def __init__(self, automaton: Automaton, back: int) -> None:
        self.automaton = automaton
        self.end = automaton.end
        self.back = back  # how long a word may get
        self.start = Memory(automaton.start)

    def machine(self) -> Machine:
        return explore(self.start, self.end, self.feed)

    def feed(self, memory: Memory, group: int) -> tuple[Memory, int]:
        """Read one character. Returns the new memory and the output, counted from before this character."""
        threads, match = self.automaton.step(memory.threads, group)
        if memory.otherwise is not None:
            return self.feed_both(memory, memory.otherwise, threads, match, group)
        gap, matched, word = memory.gap, memory.matched, memory.word
        out = 0
        if match:
            if gap:
                out |= COMMIT if memory.marked else cut(len(word))  # the gap ends where the attempt began
            if not threads:
                after, more = self.feed(self.start, group)
                return after, out | cut(0) | more
            gap, matched, word = False, True, ()
        elif not threads:
            return self.fail(memory, group)
        word += (group,)
        if self.automaton.sure(threads):
            if gap:
                out |= COMMIT if memory.marked else cut(len(word) - 1)
            gap, matched, word = False, True, ()
        after = Memory(threads, gap, matched, word, None, memory.marked and not matched)
        if len(word) <= self.back:
            return after, out
        if matched:
            return self.speculate(after), out | 1 << (MARK + len(word) - 1)
        if gap and not memory.marked:
            out |= 1 << (MARK + len(word) - 1)
        return self.shorten(after), out

    def fail(self, memory: Memory, group: int) -> tuple[Memory, int]:
        """No thread is left: go back to the last certain place and read again from there."""
        if memory.matched:
            after, out, again = self.start, cut(len(memory.word)), memory.word
        elif memory.word:
            after, out, again = Memory(self.automaton.start, gap=True), 0, memory.word[1:]
        else:  # no match begins with this character: it belongs to a gap
            return Memory(self.automaton.start, gap=group != self.end), 0
        for distance, earlier in zip(range(len(again), 0, -1), again):
            after, more = self.feed(after, earlier)
            out |= further(more, distance)
        after, more = self.feed(after, group)
        return after, join(out, more)

    def speculate(self, memory: Memory) -> Memory:
        """Replace a word that is too long, behind a match, by the memory that reading it again would lead to."""
        otherwise, out = self.start, 0
        for group in memory.word:
            otherwise, more = self.feed(otherwise, group)
            out |= more
        if out or otherwise.otherwise is not None or otherwise.marked:
            raise Unfoldable("cuts that depend on text of unbounded length")
        return Memory(memory.threads, matched=True, otherwise=otherwise)

    def shorten(self, memory: Memory) -> Memory:
        """Drop the first character of a word that is too long, of an attempt that has not matched.

        An attempt begun one character later that has the same threads by now will fail or match with this one. If both
        fail, the next thing to try is what begins after the later one.
        """
        later = self.automaton.start
        for group in memory.word[1:]:
            later, match = self.automaton.step(later, group)
            if match:
                later = ()
        if later != memory.threads:
            raise Unfoldable("an attempt of unbounded length that may still fail")
        return memory._replace(word=memory.word[1:], marked=memory.gap)

    def feed_both(self, memory: Memory, otherwise: Memory, threads: State, match: bool, group: int
                  ) -> tuple[Memory, int]:
        """Read one character while what happens on failure is known as a memory, and its place is marked."""
        if match and threads:
            return Memory(threads, matched=True, word=(group,)), 0
        if match:
            after, out = self.feed(self.start, group)
            return after, out | cut(0)
        otherwise, out = self.feed(otherwise, group)
        if not threads:
            return otherwise, out | COMMIT
        if out or otherwise.otherwise is not None or otherwise.marked:
            raise Unfoldable("cuts that depend on text of unbounded length")
        return Memory(threads, matched=True, otherwise=otherwise), 0


def cut(distance: int) -> int:
    return 1 << distance


def further(out: int, distance: int) -> int:
    """An output of `distance` characters ago, counted from the present one."""
    if out & ~CUTS:
        raise Unfoldable("a mark inside text that is read again")
    out <<= distance
    if out & ~CUTS:
        raise Unfoldable("cuts too far back")
    return out


def join(earlier: int, later: int) -> int:
    """Two outputs, one after the other, as one; only cuts may come before a commit."""
    if earlier >> MARK and later >> MARK:
        raise Unfoldable("two marks in one step")
    return earlier | later


def explore(start: S, end: int, feed: Callable[[S, int], tuple[S, int]]) -> Machine:
    """The machine of all states that can be reached from the start, smallest form."""
    numbers = {start: 0}
    states = [start]
    machine = Machine([], [])
    for state in states:  # grows while we go through it
        row, outs = [], []
        for group in range(end + 1):
            after, out = feed(state, group)
            if group == end:
                after = start
            if after not in numbers:
                if len(states) == MAX_STATES:
                    raise Unfoldable(f"more than {MAX_STATES} states")
                numbers[after] = len(states)
                states.append(after)
            row.append(numbers[after])
            outs.append(out)
        machine.next.append(row)
        machine.out.append(outs)
    return smallest(machine)


def smallest(machine: Machine) -> Machine:
    """Merge states that no text tells apart: split the states by what they put out until nothing splits further."""
    block = [0] * len(machine.next)
    count = 1
    signatures: list[tuple[object, ...]] = [tuple(outs) for outs in machine.out]
    while True:
        numbers: dict[tuple[object, ...], int] = {}
        block = [numbers.setdefault(signature, len(numbers)) for signature in signatures]
        if len(numbers) == count:
            break
        count = len(numbers)
        signatures = [(block[state], *(block[after] for after in row)) for state, row in enumerate(machine.next)]
    first = [block.index(number) for number in range(count)]
    following = [[block[after] for after in machine.next[state]] for state in first]
    return Machine(following, [machine.out[state] for state in first])


def chain(first: Machine, second: Machine) -> Machine:
    """The machine that cuts with `first` and then cuts each piece with `second`. Raises `Unfoldable`."""
    if any(out >> MARK for outs in first.out for out in outs):
        raise Unfoldable("a later split after one that needs a mark")
    end = len(first.next[0]) - 1
    hold = doubts(first)

    def feed(state: tuple[int, tuple[tuple[int, bool], ...], int], group: int):  # type: ignore[no-untyped-def]
        """(state of the first, characters the second has not seen and whether a cut is before each, of the second)"""
        one, waiting, two = state
        out = first.out[one][group]
        after = first.next[one][group]
        queue = [*waiting, (group, group == end)]
        for back in range(len(queue)):
            if out >> back & 1:
                queue[-1 - back] = (queue[-1 - back][0], True)
        keep = 0 if group == end else hold[after]
        result = 0
        for index in range(len(queue) - keep):
            symbol, is_cut = queue[index]
            distance = len(queue) - 1 - index
            if is_cut:
                result = join(result, moved(second.out[two][end] | cut(0), distance))
                two = 0
            if symbol != end:
                result = join(result, moved(second.out[two][symbol], distance))
                two = second.next[two][symbol]
        return (after, tuple(queue[len(queue) - keep :]), two), result

    machine = explore((0, (), 0), end, feed)
    if not restarts(machine):
        raise Unfoldable("a later split cuts inside a piece where the first would not begin anew")
    return machine


def restarts(machine: Machine) -> bool:
    """Whether a scan begun at any cut goes on as the scan that made the cut does.

    Callers rely on it: they read long texts in parts that meet at a cut. It is so for every single pattern, which looks
    for its next match where the last one ended. In a sequence of splits a later one may cut inside a piece of the
    first, which begun there might take something else: in "abcd", (`abc|bcd`, `a|bcd|bc|d`) cuts a|bc|d, but "bcd" is
    one piece. The check runs the machine beside copies of it that were started one, two and more characters ago and at
    the mark: whenever a cut is made where one of them started, it must be in the same state and have cut alike.
    """
    back = max((out & CUTS | out >> MARK & CUTS).bit_length() for outs in machine.out for out in outs)
    start = (0, ((0, False),) * back, (0, False))
    todo, seen = [start], {start}
    while todo:
        if len(seen) > MAX_COPIES:
            return False  # as good as: nobody knows
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
            moved_on = [follow(machine, copy, group, distance) for distance, copy in enumerate(running)]
            mark = (out >> MARK & CUTS).bit_length()
            step = (after, tuple(moved_on[:back]), moved_on[mark - 1] if mark else follow(machine, marked, group, MARK))
            if step not in seen:
                seen.add(step)
                todo.append(step)
    return True


def follow(machine: Machine, copy: tuple[int, bool], group: int, age: int) -> tuple[int, bool]:
    """A copy after one more character: its state, and whether it has cut behind its start."""
    state, has_cut = copy
    return machine.next[state][group], has_cut or bool(machine.out[state][group] & (1 << age) - 1)


def same(machine: Machine, after: int, cuts: int, copy: tuple[int, bool], group: int) -> bool:
    """Whether a copy goes to the state `after` with these cuts, and has not cut before."""
    state, has_cut = copy
    return not has_cut and machine.next[state][group] == after and machine.out[state][group] & CUTS == cuts


def moved(out: int, distance: int) -> int:
    """An output of `distance` characters ago, counted from the present one, marks included."""
    cuts, marks = (out & CUTS) << distance, (out & (CUTS << MARK)) << distance
    if cuts & ~CUTS or marks & ~(CUTS << MARK):
        raise Unfoldable("cuts too far back")
    return cuts | marks | out & COMMIT


def doubts(machine: Machine) -> list[int]:
    """For each state, how many of the characters read last may still get a cut before them."""
    reach = [max(out.bit_length() - 1 for out in outs) for outs in machine.out]
    hold = [max(back, 0) for back in reach]
    for _ in range(MARK):
        hold = [max(hold[s], max(hold[after] for after in machine.next[s][:-1]) - 1) for s in range(len(hold))]
    return hold
