"""Patterns that `regex` matches in another way than they read. They are left to `regex`, whose answer counts.

All were found in version 2026.11.15:

  * A negated set with a property and its complement, such as `[^\\s\\S]`, takes every character instead of none.
  * Before `regex` tries a match at a character, it looks whether any match can begin with it. That test ignores case
    if one of these first characters does, and then a negated set excludes too much: in "BbBb", `(?i:s)|[^bc]+` matches
    nothing, though `[^bc]+` matches "B".
  * Where case is ignored, the meaning of a property alone changes next to other single characters, which `regex` makes
    one set: `(?i:\\p{Lu})` matches U+0138, a small letter without a capital, and `(?i:\\p{Lu}|x)` does not.
"""
from __future__ import annotations

from .char_classes import LIMIT, Groups
from .regex_parser import (
    Alternation,
    CharSet,
    Look,
    Node,
    Repeat,
    Sequence,
    UnsupportedPattern,
    matches_empty,
    quoted,
    sets_of,
)

__all__ = ["check"]

SURROGATES = (0xD800, 0xE000)  # no text holds them
NOTHING = r"\p{Cs}"  # only surrogates
CLASS_IGNORING_CASE = ("(?i:[", r"(?i:\p", r"(?i:\w", r"(?i:\s", r"(?i:\d")
ANY = "."  # with it among the first characters `regex` makes no test


def check(pattern: str, tree: Node, groups: Groups) -> None:
    """Raise `UnsupportedPattern` if this is such a pattern."""
    if any(chars.negated and not groups.members(chars) for chars in sets_of(tree)):
        raise UnsupportedPattern(pattern, pattern, 0, "`regex` reads a set that excludes all characters as any of them")
    for source in (item.source for item in groups.items if item.source.startswith(CLASS_IGNORING_CASE)):
        if groups.ranges(source) != groups.ranges(f"(?i:{source}|{NOTHING})"):
            raise UnsupportedPattern(pattern, pattern, 0, f"the meaning of {quoted(source)} depends on its neighbours")
    first = first_sets(tree)
    items = [item for chars in first for item in chars.items]
    if (
        not any(item.source.startswith("(?i:") for item, _ in items)
        or (all(sign for _, sign in items) and not any(chars.negated for chars in first))
        or any(item.source.removeprefix("(?i:")[:1] == ANY for item, _ in items)
    ):
        return
    tested = groups.ranges("|".join(f"(?i:{written(chars)})" for chars in first))
    begin = frozenset().union(*map(groups.members, first))
    passing = sorted([*tested, SURROGATES])
    at = 0
    for start, stop, group in zip(groups.starts, [*groups.starts[1:], LIMIT], groups.groups):
        while group in begin and start < stop:
            while passing[at][1] <= start and at + 1 < len(passing):
                at += 1
            if not passing[at][0] <= start < passing[at][1]:
                raise UnsupportedPattern(
                    pattern, pattern, 0, f"`regex` finds no match that begins with U+{start:04X}, because of (?i:...)"
                )
            start = passing[at][1]


def first_sets(node: Node) -> list[CharSet]:
    """The sets of the first character of a match."""
    if isinstance(node, CharSet):
        return [node]
    if isinstance(node, Look):
        return [] if node.negated else [node.chars]
    if isinstance(node, Repeat):
        return first_sets(node.part)
    if isinstance(node, Alternation):
        return [chars for choice in node.choices for chars in first_sets(choice)]
    sets: list[CharSet] = []
    for part in node.parts if isinstance(node, Sequence) else ():
        sets += first_sets(part)
        if not matches_empty(part) or (isinstance(part, Look) and not part.negated):
            break
    return sets


def written(chars: CharSet) -> str:
    """The set as a regular expression."""
    members = ""
    for item, sign in chars.items:
        if not item.source:
            members += f"\\U{item.first:08x}-\\U{item.last:08x}"
        elif sign:
            members += item.source
        else:
            at = item.source.index("\\") + 1
            members += item.source[:at] + item.source[at].upper() + item.source[at + 1 :]
    if members.startswith("(?i:"):  # one item, which may be a set
        return members
    return f"[{'^' if chars.negated else ''}{members}]"
