"""The steps of pre-tokenization in tokenizer.json that a plain pattern cannot express.

A split pattern is a regular expression or a tuple of steps. A step that is a str cuts: its matches become pre-tokens,
and so does the text between them. The classes here are the other steps. A tokenizer with such a step cuts text in
:mod:`bpetite.engine.pipeline`, any other in the compiled scanner.

Fingerprints hold the ``saved_name`` of a step, and its fields other than their defaults: these names never change.
"""
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from ..patterns import PatternLike, as_setting, as_tuple, unescaped

if TYPE_CHECKING:
    import regex

#: A match becomes a fragment, nothing, a part of the fragment before or after it, one fragment with adjacent matches.
BEHAVIORS = ("isolated", "removed", "merged_with_previous", "merged_with_next", "contiguous")


@dataclass(frozen=True)
class Split:
    """Cut at the matches of a pattern.

    Args:
        pattern: A regular expression.
        behavior: One of :data:`BEHAVIORS`. Only "removed" loses text.
        invert: Treat the text between matches as matches, and matches as the text between.
    """

    saved_name: ClassVar[str] = "Split"
    pattern: str
    behavior: str = "isolated"
    invert: bool = False

    def __post_init__(self) -> None:
        if self.behavior not in BEHAVIORS:
            raise ValueError(f"behavior {self.behavior!r} is not one of {', '.join(BEHAVIORS)}")
        object.__setattr__(self, "pattern", unescaped(self.pattern))


@dataclass(frozen=True)
class PrefixSpace:
    """Put a space before each fragment that does not start with one."""

    saved_name: ClassVar[str] = "PrefixSpace"


#: The parts of a text before which a space is put, unless they begin with one: none, all, the first.
PREFIXES = ("never", "always", "first")


@dataclass(frozen=True)
class Metaspace:
    """Write `space` for each space, put one before the text, and cut before each.

    Args:
        space: A character, "▁" as a rule.
        prefix: One of :data:`PREFIXES`: the parts of a text, between special tokens, before which one is put.
        split: Cut; false leaves the text whole.
    """

    saved_name: ClassVar[str] = "Metaspace"
    space: str = "▁"
    prefix: str = "always"
    split: bool = True

    def __post_init__(self) -> None:
        if self.prefix not in PREFIXES:
            raise ValueError(f"prefix {self.prefix!r} is not one of {', '.join(PREFIXES)}")
        if len(self.space) != 1:
            raise ValueError(f"space {self.space!r} is not one character")

    def has_prefix(self, text: str, *, is_first: bool) -> bool:
        """True if a space is put before a part of a text; `is_first` if the text begins with it."""
        wanted = self.prefix == "always" or (self.prefix == "first" and is_first)
        return wanted and not text.startswith((" ", self.space))


@dataclass(frozen=True)
class Printable:
    """Later steps see the fragments in GPT-2's printable form (:mod:`bpetite.bytelevel`)."""

    saved_name: ClassVar[str] = "Printable"


Step = str | Split | PrefixSpace | Metaspace | Printable
SplitPattern = Step | tuple[Step, ...] | None
#: A split pattern as callers give it, see :func:`bpetite.patterns.resolve`.
SplitPatternLike = SplitPattern | PatternLike


def checked(pattern: Any) -> SplitPattern:
    """Check a split pattern and return its canonical form, which patterns share that cut alike by the same expressions.
    Raises ValueError if a regular expression does not compile, or a step cannot stand in its place."""
    steps = as_tuple(pattern)
    if not all(isinstance(step, Step) for step in steps):
        raise TypeError(f"pattern is a str, a tuple of str and splits, or None, not {pattern!r}")
    if Printable() in steps:
        for step in steps[steps.index(Printable()) + 1 :]:
            if not isinstance(step, str | Split):
                raise ValueError(f"{step!r} cannot come after Printable()")
            if isinstance(step, Split) and step.behavior == "removed":
                raise ValueError(f"{step!r} after Printable() could drop a part of a character")
    for step in steps:
        if isinstance(step, str | Split):
            expression = step if isinstance(step, str) else step.pattern
            if expression != " ":
                regex_of(expression)
    # "isolated" cuts at both ends of each match, inverted or not, as a pattern alone does
    alone = [step.pattern if isinstance(step, Split) and step.behavior == "isolated" else step for step in steps]
    return as_setting([unescaped(step) if isinstance(step, str) else step for step in alone])  # type: ignore[no-any-return]


@lru_cache(maxsize=256)
def regex_of(pattern: str) -> "regex.Pattern[str]":
    from ..splitting.pattern.regex_parser import compile_regex  # here: it imports `regex`, slowly

    return compile_regex(pattern)


class Fragment(NamedTuple):
    """A part of a text, after the steps so far."""

    text: str
    start: int = 0  # the place in the text of the first character that was not inserted
    put_in: int = 0  # characters at the front that were inserted


def apply(step: Step, fragments: list[Fragment], *, beginning: int = 1) -> list[Fragment]:
    """Apply one step other than :class:`Printable` to the fragments of one text. `beginning` is the number of its
    characters that come from the first character of the whole text: 0 after a special token, more than one if the
    normalization put some in.

    >>> [fragment.text for fragment in apply(Split(" ", "merged_with_next"), [Fragment("a b  c")])]
    ['a', ' b', ' ', ' c']
    """
    if isinstance(step, PrefixSpace):
        return [
            fragment if fragment.text.startswith(" ")
            else Fragment(" " + fragment.text, fragment.start, fragment.put_in + 1)
            for fragment in fragments
        ]
    if isinstance(step, Metaspace):
        made = [
            fragment._replace(
                text=step.space * prefix + fragment.text.replace(" ", step.space), put_in=fragment.put_in + prefix
            )
            for fragment in fragments
            for prefix in [step.has_prefix(fragment.text, is_first=fragment.start < beginning)]
        ]
        return apply(Split(re.escape(step.space), "merged_with_next"), made) if step.split else made
    if isinstance(step, Printable):
        raise TypeError("Printable() changes what later steps see, and no fragments")
    split = _split_at(step) if isinstance(step, str) else step
    return [
        Fragment(text[a:b], start + max(a - put_in, 0), max(put_in - a, 0))
        for text, start, put_in in fragments
        for a, b in _cut(text, split)
        if a < b
    ]


_split_at = lru_cache(maxsize=256)(Split)


def _cut(text: str, split: Split) -> list[tuple[int, int]]:
    from ..splitting.pattern.regex_text import matches  # not at the top: plain patterns are only checked here

    spans = matches(regex_of(split.pattern), text)
    parts = [(start, end, match != split.invert) for start, end, match in _matches_and_gaps(text, spans)]
    if split.behavior == "isolated":
        return [(start, end) for start, end, _ in parts]
    if split.behavior == "removed":
        return [(start, end) for start, end, match in parts if not match]
    if split.behavior == "merged_with_next":
        parts.reverse()
    joined: list[tuple[int, int]] = []
    before = False
    for start, end, match in parts:
        join = match == before if split.behavior == "contiguous" else match and not before
        if join and joined:
            joined[-1] = (min(joined[-1][0], start), max(joined[-1][1], end))
        else:
            joined.append((start, end))
        before = match
    if split.behavior == "merged_with_next":
        joined.reverse()
    return joined


def _matches_and_gaps(text: str, spans: Iterator[tuple[int, int]]) -> Iterator[tuple[int, int, bool]]:
    """Yield (start, end, is_match) of the matches and of the text between them, in order."""
    at = 0
    for start, end in spans:
        if start > at:
            yield at, start, False
        yield start, end, True
        at = end
    if at < len(text):
        yield at, len(text), False
