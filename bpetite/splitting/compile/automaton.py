"""A split pattern as a deterministic automaton: leftmost-first, with one character of delay.

compile_pattern.py lists the steps from a pattern to the scanner's tables; this one follows the parser.

Priorities. Backtracking engines such as `regex` try the alternatives of a pattern in order and take the first that
leads to a match: `a|ab` matches only the `a` of "ab", and a greedy repeat tries one more round before it tries to stop.
The classical subset construction loses that order. The thread list of a Pike VM keeps it: the pattern becomes a small
program, a thread is a position in it, and a state of the automaton is the list of all live threads, the preferred one
first, each position at most once, since a second thread at a position can only do what the first one does. When a
thread reaches the end of the pattern, all threads after it in the list are dropped: their matches would have lower
priority. The threads before it live on, and if one of them matches later, that match wins.

Delay. A thread at `(?!\\S)` or at the end of the pattern is not decided when its last character has been read, but when
the next one is known. So a state holds threads as they were after their last character, and a step starts with the next
character: it walks each thread, in order, through all instructions that take no character, up to those that take this
one or to the end of the pattern. A step thus gives two results: the threads that live on, and whether a match ended
*before* this character. The end of the text is one more character, which nothing takes. The look-aheads of split
patterns need no more than one character of delay, and a possessive repeat becomes a look-ahead, too: `x++` is `x+(?!x)`
for a single set x.

Groups. Characters appear only as groups (char_classes.py), so GPT-2's pattern is an automaton of a dozen states over
eleven groups and the end of the text.
"""
from __future__ import annotations

from typing import Any

from ..pattern.char_classes import Budget, Groups
from ..pattern.regex_parser import Alternation, CharSet, End, Look, Node, Repeat, Sequence, sets_of

State = tuple[int, ...]  # positions in the program, the preferred one first

# Instructions: (TAKE, groups, next), (TEST, groups, next), (SPLIT, preferred, other), (JUMP, next), (MATCH,).
TAKE, TEST, SPLIT, JUMP, MATCH = range(5)


class Automaton:
    """Finds the match at the beginning of the text, from the state `start` on.

    `end` is the number of the end of the text, which is read as one more group.
    """

    def __init__(self, node: Node, groups: Groups) -> None:
        self.groups = groups
        self.budget: Budget = groups.budget
        self.end: int = groups.count
        self.members: dict[CharSet, frozenset[int]] = {}
        self.program: list[tuple[Any, ...]] = []
        self.write(node)
        self.program.append((MATCH,))
        self.start: State = (0,)
        self.steps: dict[tuple[State, int], tuple[State, bool]] = {}
        self.certain: dict[State, bool] = {}

    # From the tree to the program. Each part leaves at the instruction after its last one.

    def write(self, node: Node) -> None:
        self.budget.spend(10)
        here = len(self.program)
        if isinstance(node, CharSet):
            self.program.append((TAKE, self.groups_of(node), here + 1))
        elif isinstance(node, Look):
            taken = self.groups_of(node.chars)
            passing = frozenset(range(self.end + 1)) - taken if node.negated else taken
            self.program.append((TEST, passing, here + 1))
        elif isinstance(node, End):
            self.program.append((TEST, frozenset((self.end,)), here + 1))
        elif isinstance(node, Sequence):
            for part in node.parts:
                self.write(part)
        elif isinstance(node, Alternation):
            self.write_choices(node.choices)
        else:
            self.write_repeat(node)

    def groups_of(self, chars: CharSet) -> frozenset[int]:
        if chars not in self.members:
            self.budget.spend(self.end)
            self.members[chars] = self.groups.members(chars)
        return self.members[chars]

    def write_choices(self, choices: tuple[Node, ...]) -> None:
        exits = []
        for choice in choices[:-1]:
            split = len(self.program)
            self.program.append((SPLIT, split + 1, 0))
            self.write(choice)
            exits.append(len(self.program))
            self.program.append((JUMP, 0))
            self.program[split] = (SPLIT, split + 1, len(self.program))
        self.write(choices[-1])
        for at in exits:
            self.program[at] = (JUMP, len(self.program))

    def write_repeat(self, node: Repeat) -> None:
        """`x{2,4}` is xx(x(x)?)?, `x{2,}` is xx(x)*; a possessive repeat ends only where x cannot go on."""
        for _ in range(node.least):
            self.write(node.part)
        splits = []
        if node.most is None:
            loop = len(self.program)
            splits.append(loop)
            self.program.append((SPLIT, loop + 1, 0))
            self.write(node.part)
            self.program.append((JUMP, loop))
        else:
            for _ in range(node.most - node.least):
                splits.append(len(self.program))
                self.program.append((SPLIT, len(self.program) + 1, 0))
                self.write(node.part)
        leave = len(self.program)
        if node.possessive and splits:
            if node.most is not None:
                self.program.append((JUMP, leave + 2))  # after all rounds there was no choice to leave
                leave += 1
            rest = frozenset(range(self.end + 1)) - self.groups_of(next(sets_of(node.part)))
            self.program.append((TEST, rest, leave + 1))
        for at in splits:
            self.program[at] = (SPLIT, at + 1, leave)

    # Running it.

    def step(self, state: State, group: int) -> tuple[State, bool]:
        """Read one character: (the threads that live on, whether a match ended before this character)."""
        self.budget.spend(1 + len(state) // 8)
        step = self.steps.get((state, group))
        if step is None:
            step = self.steps[state, group] = self.walk(state, group)
        return step

    def walk(self, state: State, group: int) -> tuple[State, bool]:
        live: list[int] = []
        match = False
        seen = set()
        stack = list(reversed(state))
        while stack:
            position = stack.pop()
            if position in seen:
                continue
            seen.add(position)
            operation, *rest = self.program[position]
            if operation == TAKE:
                if group in rest[0]:
                    live.append(rest[1])
            elif operation == TEST:
                if group in rest[0]:
                    stack.append(rest[1])
            elif operation == SPLIT:
                stack += (rest[1], rest[0])
            elif operation == JUMP:
                stack.append(rest[0])
            else:
                match = True
                break
        self.budget.spend(len(seen))
        return tuple(live), match

    def always_matches(self) -> bool:
        """True if a match begins at every character, whatever follows it: then no text lies between matches."""
        states = [self.step(self.start, group)[0] for group in range(self.end)]
        return all(state and self.sure(state) for state in states)

    def sure(self, state: State) -> bool:
        """True if some match is certain, whatever the rest of the text is; its end may still be open."""
        known = self.certain.get(state)
        if known is None:
            known = state != self.start and self.cannot_fail(state)
            self.certain[state] = known
        return known

    def cannot_fail(self, state: State) -> bool:
        reached = {state}
        todo = [state]
        while todo:
            here = todo.pop()
            for group in range(self.end + 1):
                after, match = self.step(here, group)
                if match or after in reached:
                    continue
                if not after:
                    return False
                reached.add(after)
                todo.append(after)
        return True
