"""The subset of regular expressions that split patterns use, parsed.

A split pattern is written for the `regex` module. This parser reads the part of that language in which one character of
look-ahead decides every question, so that a finite automaton can run it:

    literals, escapes      a  \\n  \\r  \\x41  \\u2028  \\.
    sets                   [^\\s\\p{L}]  [[:alpha:]]  \\p{L}  \\P{N}  \\pL  \\s  \\S  \\d  \\w  .
    groups                 (...)  (?:...)  (?i:...)
    alternation            a|b
    repeats                ?  *  +  {m}  {m,}  {m,n}  {,n}     of anything
    possessive repeats     ?+  *+  ++  {m,n}+                  of one set or character
    look-ahead             (?!x)  (?=x)                        at one set or character
    the end of the text    $ after an unbounded repeat that takes newlines,  \\Z

Everything else raises `UnsupportedPattern` with the construct and its offset: lazy repeats, look-behind, `\\b`,
back-references, flags other than `i`, set operations, braces and brackets that `regex` would take as characters
because they are no count, property or range, properties that unicode_data.py does not have, and a pattern that can
match nothing.

`regex` matches a few patterns in another way than they read, and the compiled scanner as they read: `[^\\s\\S]` takes
every character there, `(?i:s)|[^bc]+` takes no B, `(?i:\\p{Lu})` takes small letters without a capital, and `(?i:i)`
takes U+0130.

In `regex`, `$` also matches before a newline that ends the text, which takes two characters of look-ahead. After `\\s+`
or `\\s++` that second meaning changes nothing, because the repeat takes the newline and then matches at the very end;
only there is `$` accepted.
"""
from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

import regex

from .unicode_data import class_ranges


def quoted(text: str) -> str:
    """A pattern, or a part of one, in an error message: its repr, of the first 500 characters."""
    return repr(text) if len(text) <= 500 else f"{text[:500]!r}... ({len(text):,} characters)"


def compile_regex(pattern: str, what: str = "split pattern") -> regex.Pattern[str]:
    """A regular expression of a caller or a file, compiled by `regex`, with one error for any fault.

    Raises `ValueError` with the pattern, the reason and the position: it is no regular expression, or it holds a lone
    surrogate, which no file of UTF-8 can hold. `what` is its name in the message.
    """
    try:
        pattern.encode("utf-8")
        return regex.compile(pattern)
    except UnicodeEncodeError as bad:
        raise ValueError(f"{what} {quoted(pattern)}: a lone surrogate at position {bad.start}") from None
    except Exception as bad:  # RecursionError, OverflowError, TypeError, KeyError: `regex` lets many pass
        reason = "groups too deep inside each other" if isinstance(bad, RecursionError) else str(bad)
        raise ValueError(f"{what} {quoted(pattern)}: not a regular expression: {reason}") from None


class UnsupportedPattern(ValueError):
    """The pattern uses something outside the compiled subset.

    `construct` is its text and `offset` its position, in characters from the start of the pattern.
    """

    def __init__(self, pattern: str, construct: str, offset: int, why: str) -> None:
        super().__init__(f"{quoted(construct)} at offset {offset} of the split pattern {quoted(pattern)}: {why}")
        self.pattern = pattern
        self.construct = construct
        self.offset = offset
        self.why = why

    def __reduce__(self) -> tuple[type, tuple[str, str, int, str]]:
        return type(self), (self.pattern, self.construct, self.offset, self.why)


class Item(NamedTuple):
    """One member of a set: the code points first..last, or the class `name` of unicode_data.py."""

    first: int = 0
    last: int = -1
    name: str = ""
    ignore_case: bool = False


class CharSet(NamedTuple):
    """One character: a member of an item whose sign is True, or of the complement of one whose sign is False."""

    items: tuple[tuple[Item, bool], ...]
    negated: bool = False


class Sequence(NamedTuple):
    parts: tuple[Node, ...]


class Alternation(NamedTuple):
    choices: tuple[Node, ...]


class Repeat(NamedTuple):
    part: Node
    least: int
    most: int | None
    possessive: bool


class Look(NamedTuple):
    """The next character is in the set (negated: is not; the end of the text satisfies that too)."""

    chars: CharSet
    negated: bool


class End(NamedTuple):
    """Nothing follows. `dollar` if it is written `$`."""

    dollar: bool = False


Node: TypeAlias = CharSet | Sequence | Alternation | Repeat | Look | End

CONTROLS = {"n": 10, "r": 13, "t": 9, "f": 12, "v": 11, "a": 7}
HEX_DIGITS = {"x": 2, "u": 4, "U": 8}
KNOWN_CLASSES = {"s": "space", "d": "digit", "w": "word"}
MAX_COPIES = 64  # of the body of a counted repeat: {m,n} is written out n times
MAX_DEPTH = 50  # groups inside groups
#: What follows the backslash of a property. `regex` reads a p that anything else follows as the letter.
PROPERTY = re.compile(
    r"[pP](?:([CLMNPSZ])|\{(\^?)([A-Za-z0-9 &_.-]*(?:[:=] *[A-Za-z0-9&_./-][A-Za-z0-9 &_./-]*)?)\})", re.ASCII
)
#: A class of POSIX inside a set, and the name of its property in `regex` if it differs.
POSIX_CLASS = re.compile(r"\[:(\^?)([A-Za-z]+):\]")
POSIX_ONLY = frozenset(("alnum", "digit", "punct", "xdigit"))


def parse(pattern: str) -> Node:
    """Parse one split pattern that `regex` has already accepted. Raises `UnsupportedPattern`."""
    return Parser(pattern).parse()


class Parser:
    """Recursive descent over the pattern; `self.at` is the offset of the next character to read."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.at: int = 0
        self.ignore_case: bool = False
        self.depth: int = 0

    def refuse(self, start: int, why: str) -> UnsupportedPattern:
        return UnsupportedPattern(self.pattern, self.pattern[start : max(self.at, start + 1)], start, why)

    def peek(self, text: str) -> bool:
        return self.pattern.startswith(text, self.at)

    def take(self, text: str) -> bool:
        """True if a text comes next, which is then read."""
        if self.peek(text):
            self.at += len(text)
            return True
        return False

    def parse(self) -> Node:
        node = self.alternation()
        if self.at < len(self.pattern):
            raise self.refuse(self.at, "a closing bracket without its opening one")
        if matches_empty(node):
            raise UnsupportedPattern(self.pattern, self.pattern, 0, "it can match the empty text")
        return node

    def alternation(self) -> Node:
        choices = [self.sequence()]
        while self.take("|"):
            choices.append(self.sequence())
        return choices[0] if len(choices) == 1 else Alternation(tuple(choices))

    def sequence(self) -> Node:
        parts: list[Node] = []
        while self.at < len(self.pattern) and not self.peek("|") and not self.peek(")"):
            start = self.at
            if parts and has_dollar(parts[-1]):
                raise self.refuse(start, "nothing may follow $")
            if self.take("$"):
                if not (parts and takes_newlines_without_bound(parts[-1])):
                    raise self.refuse(start, "supported only after an unbounded repeat of a set that holds newlines")
                parts.append(End(dollar=True))
                continue
            parts.append(self.repeats(self.atom(), start))
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts))

    def repeats(self, part: Node, start: int) -> Node:
        """`part`, which began at `start`, with the repeat that may follow it."""
        bounds = self.bounds()
        if bounds is None:
            return part
        least, most = bounds
        if self.peek("?"):
            self.at += 1
            raise self.refuse(start, "lazy repeats are not supported")
        possessive = self.take("+")
        if possessive and not isinstance(part, CharSet):
            raise self.refuse(start, "a possessive repeat is supported for one character or set only")
        if isinstance(part, (Look, End)) or has_dollar(part) or (most is None and matches_empty(part)):
            raise self.refuse(start, "a repeat of what can be empty is not supported")
        if (least if most is None else most) > MAX_COPIES:
            raise self.refuse(start, f"counts above {MAX_COPIES} are not supported")
        if self.at < len(self.pattern) and self.pattern[self.at] in "?*+{":
            raise self.refuse(start, "a repeat of a repeat is not supported")
        return Repeat(part, least, most, possessive)

    def bounds(self) -> tuple[int, int | None] | None:
        """The least and most copies of a repeat, None for no bound; None if no repeat follows."""
        for sign, bounds in (("?", (0, 1)), ("*", (0, None)), ("+", (1, None))):
            if self.take(sign):
                return bounds
        if not self.peek("{"):
            return None
        start = self.at
        close = self.pattern.find("}", start)
        self.at = close + 1 if close >= 0 else start + 1
        low, comma, high = self.pattern[start + 1 : close].partition(",") if close >= 0 else ("", "", "")
        if not all(c in "0123456789" for c in low + high) or not (low or high):
            raise self.refuse(start, "only {m}, {m,}, {m,n} and {,n} are read as counts")
        return int(low or 0), (int(high) if high else None) if comma else int(low)

    def atom(self) -> Node:
        start = self.at
        char = self.pattern[start]
        if char == "(":
            return self.group()
        if char == "[":
            return self.set()
        if char == "\\":
            if self.take("\\Z"):
                return End()
            item, sign = self.escape()
            return CharSet(((item, sign),))
        self.at += 1
        if char == ".":
            return CharSet(((Item(10, 10), True),), negated=True)
        if char in "^*+?{":
            raise self.refuse(start, "not supported here")
        return CharSet(((self.literal(ord(char)), True),))

    def group(self) -> Node:
        start = self.at
        outer = self.ignore_case
        look: bool | None = None
        if self.take("(?:"):
            pass
        elif self.take("(?i:"):
            self.ignore_case = True
        elif self.take("(?!") or self.take("(?="):
            look = self.pattern[self.at - 1] == "!"
        elif self.peek("(?") or self.peek("(*"):
            self.at += 3
            raise self.refuse(start, "this kind of group is not supported")
        else:
            self.at += 1
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.refuse(start, f"more than {MAX_DEPTH} groups inside each other")
        node = self.alternation()
        self.depth -= 1
        self.ignore_case = outer
        if not self.take(")"):
            raise self.refuse(start, "the group is not closed")
        if look is None:
            return node
        if not isinstance(node, CharSet):
            raise self.refuse(start, "a look-ahead is supported at one character or set only")
        return Look(node, look)

    def literal(self, first: int, last: int | None = None) -> Item:
        return Item(first, first if last is None else last, ignore_case=self.ignore_case)

    def class_named(self, start: int, name: str) -> Item:
        if class_ranges(name) is None:
            raise self.refuse(start, f"bpetite has no data of the class {name!r}")
        return Item(name=name, ignore_case=self.ignore_case)

    def escape(self) -> tuple[Item, bool]:
        """An escape for a character or a class; it means the same inside a set and outside."""
        start = self.at
        self.at += 2
        char = self.pattern[start + 1 : start + 2]
        if char in ("p", "P"):
            match = PROPERTY.match(self.pattern, start + 1)
            if not match:
                raise self.refuse(start, "no property follows; write the letter without the backslash")
            self.at = match.end()
            return self.class_named(start, match[1] or match[3]), (char == "p") != bool(match[2])
        if char.lower() in KNOWN_CLASSES:
            return self.class_named(start, KNOWN_CLASSES[char.lower()]), char.islower()
        return self.literal(self.code_point(start, char)), True

    def code_point(self, start: int, char: str) -> int:
        if char in CONTROLS:
            return CONTROLS[char]
        if char in HEX_DIGITS:
            digits = self.pattern[self.at : self.at + HEX_DIGITS[char]]
            self.at += len(digits)
            return int(digits, 16)
        if char.isalnum() or not char or not char.isascii():
            raise self.refuse(start, "this escape is not supported")
        return ord(char)

    def set(self) -> CharSet:
        start = self.at
        self.at += 1
        negated = self.take("^")
        items: list[tuple[Item, bool]] = []
        first = True
        while first or not self.peek("]"):
            if self.at >= len(self.pattern):
                raise self.refuse(start, "the set is not closed")
            first = False
            items.append(self.member(start))
        self.at += 1
        return CharSet(tuple(items), negated)

    def member(self, start: int) -> tuple[Item, bool]:
        """One member of a set: a character, a range or a class."""
        if posix := POSIX_CLASS.match(self.pattern, self.at):
            self.at = posix.end()
            if self.peek("-") and not self.peek("-]"):
                raise self.refuse(start, "a range has characters on both sides")
            name = posix[2].lower()
            return self.class_named(start, "posix_" * (name in POSIX_ONLY) + name), not posix[1]
        for operator in ("[", "--", "||", "&&", "~~"):
            if self.peek(operator):
                raise self.refuse(start, f"{operator!r} inside a set is not supported; write \\[ for the character")
        low = self.character()
        if low is None:
            item = self.escape()
            if self.peek("-") and not self.peek("-]"):
                raise self.refuse(start, "a range has characters on both sides")
            return item
        if not self.peek("-") or self.peek("-]"):
            return self.literal(low), True
        self.at += 1
        if self.peek("-") or self.peek("["):
            raise self.refuse(start, "a range up to - or [ is not supported; write \\- or \\[ for the character")
        high = self.character()
        if high is None or high < low:
            raise self.refuse(start, "a range has characters on both sides, the lower one first")
        return self.literal(low, high), True

    def character(self) -> int | None:
        """Read the next member if it is a single character; None, with nothing read, if it is a class."""
        start = self.at
        char = self.pattern[start : start + 1]
        if char != "\\":
            self.at += 1
            return ord(char) if char else None
        char = self.pattern[start + 1 : start + 2]
        if char in ("p", "P") or char.lower() in KNOWN_CLASSES:
            return None
        self.at += 2
        return self.code_point(start, char)


def sets_of(node: Node) -> Iterator[CharSet]:
    """Every set that the tree mentions."""
    if isinstance(node, CharSet):
        yield node
    elif isinstance(node, Look):
        yield node.chars
    elif isinstance(node, Repeat):
        yield from sets_of(node.part)
    elif isinstance(node, (Sequence, Alternation)):
        for part in node.parts if isinstance(node, Sequence) else node.choices:
            yield from sets_of(part)


def matches_empty(node: Node) -> bool:
    """True if the node can match without taking a character."""
    if isinstance(node, CharSet):
        return False
    if isinstance(node, Sequence):
        return all(map(matches_empty, node.parts))
    if isinstance(node, Alternation):
        return any(map(matches_empty, node.choices))
    if isinstance(node, Repeat):
        return node.least == 0 or matches_empty(node.part)
    return True


def has_dollar(node: Node) -> bool:
    """True if the node may end with `$`, which nothing may follow: a newline could, after a match before it."""
    if isinstance(node, (Sequence, Alternation)):
        return any(map(has_dollar, node.parts[-1:] if isinstance(node, Sequence) else node.choices))
    return isinstance(node, End) and node.dollar


def takes_newlines_without_bound(node: Node) -> bool:
    """True if the node is `x+` or `x*`, greedy or possessive, for a set x that is known to hold the newline."""
    if not isinstance(node, Repeat) or node.most is not None or not isinstance(node.part, CharSet):
        return False
    chars = node.part
    return not chars.negated and any(
        sign and (item.name == "space" or item.first <= 10 <= item.last) for item, sign in chars.items
    )
