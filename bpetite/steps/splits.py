"""Steps of pre-tokenization beyond cutting at a pattern: what tokenizer.json knows and a plain pattern cannot say.

A split pattern is a regular expression or a tuple of steps. A step that is a str cuts (its matches become pieces, and
so does what lies between them); the classes here are the other steps. A tokenizer with such a step takes its
pre-tokens through :mod:`bpetite.engine.pipeline`, one that has none through the compiled scanner.
"""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import regex

__all__ = ["BEHAVIORS", "Piece", "PrefixSpace", "Printable", "Split", "SplitPattern", "Step"]

#: What becomes of a match: a piece of its own, dropped, part of the piece before or behind, one piece with the matches
#: next to it.
BEHAVIORS = ("isolated", "removed", "merged_with_previous", "merged_with_next", "contiguous")


@dataclass(frozen=True)
class Split:
    """Cut at the matches of a pattern.

    Args:
        pattern: A regular expression.
        behavior: One of :data:`BEHAVIORS`. "removed" is the one step that loses text.
        invert: Take what lies between matches for the matches, and the other way round.
    """

    pattern: str
    behavior: str = "isolated"
    invert: bool = False

    def __post_init__(self) -> None:
        if self.behavior not in BEHAVIORS:
            raise ValueError(f"behavior {self.behavior!r} is not one of {', '.join(BEHAVIORS)}")


@dataclass(frozen=True)
class PrefixSpace:
    """Put a space in front of each piece that does not start with one."""


@dataclass(frozen=True)
class Printable:
    """The steps from here on see the pieces in GPT-2's printable form (:mod:`bpetite.bytelevel`)."""


Step = str | Split | PrefixSpace | Printable
SplitPattern = Step | tuple[Step, ...] | None


def steps(pattern: SplitPattern) -> tuple[Step, ...]:
    """The steps of a pattern."""
    if pattern is None:
        return ()
    return pattern if isinstance(pattern, tuple) else (pattern,)


def check(pattern: Any) -> None:
    """Raise TypeError unless this is a split pattern, ValueError unless its regular expressions compile."""
    found = steps(pattern)
    if not all(isinstance(step, str | Split | PrefixSpace | Printable) for step in found):
        raise TypeError(f"pattern is a str, a tuple of str and splits, or None, not {pattern!r}")
    if Printable() in found:
        for step in found[found.index(Printable()) + 1 :]:
            if not isinstance(step, str | Split):
                raise ValueError(f"{step!r} cannot come after Printable()")
            if isinstance(step, Split) and step.behavior == "removed":
                raise ValueError(f"{step!r} after Printable() could drop a part of a character")
    for step in found:
        if isinstance(step, Split):
            compiled(step.pattern)


@lru_cache(maxsize=256)
def compiled(pattern: str) -> regex.Pattern[str]:
    try:
        return regex.compile(pattern)
    except regex.error as bad:
        raise ValueError(f"split pattern {pattern!r}: {bad}") from None


class Piece(NamedTuple):
    """A piece of a text.

    Args:
        text: The piece.
        start: Where in the text its first character that comes from there stands.
        put_in: How many characters at its front do not come from there.
    """

    text: str
    start: int = 0
    put_in: int = 0


def apply(step: Step, pieces: list[Piece]) -> list[Piece]:
    """The pieces that a step makes of pieces.

    Args:
        step: Any step but :class:`Printable`.
        pieces: Pieces of one text.

    >>> [piece.text for piece in apply(Split(" ", "merged_with_next"), [Piece("a b  c")])]
    ['a', ' b', ' ', ' c']
    """
    if isinstance(step, PrefixSpace):
        return [
            piece if piece.text.startswith(" ") else Piece(" " + piece.text, piece.start, piece.put_in + 1)
            for piece in pieces
        ]
    assert not isinstance(step, Printable)  # the caller keeps it to itself
    split = Split(step) if isinstance(step, str) else step
    return [
        Piece(text[a:b], start + max(a - put_in, 0), max(put_in - a, 0))
        for text, start, put_in in pieces
        for a, b in _cut(text, split)
        if a < b
    ]


def _cut(text: str, split: Split) -> list[tuple[int, int]]:
    segments = [(start, end, match != split.invert) for start, end, match in _segments(text, split.pattern)]
    if split.behavior == "isolated":
        return [(start, end) for start, end, _ in segments]
    if split.behavior == "removed":
        return [(start, end) for start, end, match in segments if not match]
    if split.behavior == "merged_with_next":
        segments.reverse()
    joined: list[tuple[int, int]] = []
    before = False
    for start, end, match in segments:
        join = match == before if split.behavior == "contiguous" else match and not before
        if join and joined:
            joined[-1] = (min(joined[-1][0], start), max(joined[-1][1], end))
        else:
            joined.append((start, end))
        before = match
    if split.behavior == "merged_with_next":
        joined.reverse()
    return joined


def _segments(text: str, pattern: str) -> Iterator[tuple[int, int, bool]]:
    """(start, end, is it a match), of which an empty match next to the one before is none."""
    at = 0
    last = -1
    for found in compiled(pattern).finditer(text):
        start, end = found.span()
        if start == end == last:
            continue
        if start > at:
            yield at, start, False
        yield start, end, True
        at = last = end
    if at < len(text):
        yield at, len(text), False


def to_json(pattern: SplitPattern) -> Any:
    """A pattern as a JSON value: strings as they are, steps as objects."""
    if pattern is None or isinstance(pattern, str):
        return pattern
    made: list[Any] = []
    for step in steps(pattern):
        if isinstance(step, Split):
            made.append({"split": step.pattern, "behavior": step.behavior, "invert": step.invert})
        else:
            made.append(step if isinstance(step, str) else {"step": type(step).__name__})
    return made


def from_json(found: Any) -> SplitPattern:
    """The pattern that :func:`to_json` wrote.

    Raises:
        ValueError: A value that it never writes.
    """
    if found is None or isinstance(found, str):
        return found
    if not isinstance(found, list):
        raise ValueError(f"pattern must be a string, an array or null, not {found!r}")
    made: list[Step] = []
    for step in found:
        if isinstance(step, str):
            made.append(step)
        elif step == {"step": "PrefixSpace"}:
            made.append(PrefixSpace())
        elif step == {"step": "Printable"}:
            made.append(Printable())
        elif (
            isinstance(step, dict)
            and step.keys() == {"split", "behavior", "invert"}
            and isinstance(step["split"], str)
            and type(step["invert"]) is bool
        ):
            made.append(Split(step["split"], step["behavior"], step["invert"]))
        else:
            raise ValueError(f"pattern has the unknown step {step!r}")
    return tuple(made)
