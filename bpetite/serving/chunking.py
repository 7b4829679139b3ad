"""A text in chunks of a number of tokens, for retrieval and for models with a limit.

The text is encoded once, which says where tokens end, and each chunk once more, to count its own tokens.
"""
from __future__ import annotations

import re
import sys
from bisect import bisect_right
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, SupportsIndex

from ..errors import show, token_limit
from .edges import START, Edges, Position
from .limits import check_text, last_edge

if TYPE_CHECKING:
    from ..core._tokenizer_base import TokenizerBase
    from ..engine.options import SpecialSelection

__all__ = ["Chunk", "chunks"]

#: A chunk ends behind blank lines, or behind a line.
BOUNDARIES = {"paragraph": re.compile(r"\n\s*\n"), "line": re.compile(r"\n")}


class Match(Protocol):
    """A match of a compiled regular expression."""

    def end(self) -> int:
        """Where it ends, in characters."""


class Splitter(Protocol):
    """A compiled regular expression, of ``re`` or of ``regex``."""

    def finditer(self, string: str, /) -> Iterator[Match]:
        """Yield its matches in a text."""


class Chunk(NamedTuple):
    """A part of a text.

    Attributes:
        text: The part.
        start: Where it begins, in characters.
        end: Where it ends.
        tokens: How many tokens it has by itself.
    """

    text: str
    start: int
    end: int
    tokens: int


def chunks(
    tokenizer: TokenizerBase,
    text: str,
    max_tokens: SupportsIndex,
    *,
    overlap: SupportsIndex = 0,
    boundaries: Literal["paragraph", "line"] | Splitter | None = None,
    allowed_special: SpecialSelection = "all",
    disallowed_special: SpecialSelection = (),
) -> Iterator[Chunk]:
    """Yield the chunks of a text, each of at most ``max_tokens`` tokens, which together cover it in order.

    A chunk ends where one of the text's tokens ends, and between two characters; where no such edge is near enough,
    behind any character. What counts is its own encoding, which may differ from the text's next to a cut. The whole
    text is encoded at the call, so what is raised for a text is raised there.

    Args:
        text: The text.
        max_tokens: The most tokens of a chunk, 1 or more. What a template would put around it is not counted.
        overlap: Each chunk begins so many tokens of the text, or a few more, before the end of the one before; later
            where it would not get beyond that end.
        boundaries: Where chunks end if they can: behind a "paragraph" (blank lines), a "line", or the matches of a
            compiled regular expression. The last such place in a chunk counts; where there is none, the chunk ends as
            without. The rest of a text that fits is one chunk.
        allowed_special: As for :meth:`encode`, and so is ``disallowed_special``. A special token is never cut.

    Raises:
        ValueError: ``max_tokens`` is below 1, ``overlap`` not below ``max_tokens``; a disallowed special token is in
            the text. While iterating: a character alone has more tokens than ``max_tokens``.
        TypeError: The text is no str.

    >>> tok = Tokenizer.train("ab ab ab", 258)
    >>> [chunk.text for chunk in tok.chunks("ab ab\\nab ab", 3)]
    ['ab ab\\n', 'ab ab']
    >>> next(tok.chunks("ab ab ab", 2))
    Chunk(text='ab ab', start=0, end=5, tokens=2)
    """
    check_text(text)
    most, shared = token_limit(max_tokens, "max_tokens"), token_limit(overlap, "overlap")
    if most < 1:
        raise ValueError(f"max_tokens is 1 or more, not {most}")
    if shared >= most:
        raise ValueError(f"overlap is less than max_tokens={most}, not {shared}")
    last_boundary = None if boundaries is None else _find_boundaries(text, boundaries)
    ids, data = tokenizer._first_ids(text, sys.maxsize >> 2, allowed_special, disallowed_special)
    return _chunks(Edges(tokenizer, text, ids, data, allowed_special), most, shared, last_boundary)


def _find_boundaries(text: str, boundaries: str | Splitter) -> Callable[[int, int], int]:
    """A function that gives the last boundary behind one character and up to another, or the first one of these."""
    splitter = BOUNDARIES.get(boundaries) if isinstance(boundaries, str) else boundaries
    if splitter is None or not hasattr(splitter, "finditer"):
        raise ValueError(
            f'boundaries is "paragraph", "line", a compiled regular expression or None, not {show(boundaries)}'
        )
    if boundaries == "line":  # most texts have many: none but the last is looked for
        return lambda low, high: max(text.rfind("\n", low, high) + 1, low)
    ends = sorted(match.end() for match in splitter.finditer(text))
    return lambda low, high: max([low, *ends[(at := bisect_right(ends, high)) - 1 : at]])


def _chunks(
    edges: Edges, most: int, overlap: int, last_boundary: Callable[[int, int], int] | None
) -> Iterator[Chunk]:
    start = end = START  # of the chunk before
    done = 0  # its end, in characters
    while end.at < len(edges.data):
        before = end.at
        start, end, count = _next_chunk(edges, start, end, most, overlap)
        part = edges.part(start.at, end.at)
        first = done - len(edges.part(start.at, before)) if start.at < before else done
        last = first + len(part)
        if last_boundary is not None and end.at < len(edges.data):
            at = last_boundary(done, last)
            while done < at < last:
                end = edges.position(start.at + edges.width(part[: at - first]))
                tokens = edges.count(start.at, end.at)
                if tokens <= most:
                    part, count, last = part[: at - first], tokens, at
                else:  # rarely, and soon given up
                    at = last_boundary(done, done + (at - done) // 2)
        done = last
        yield Chunk(part, first, last, count)


def _next_chunk(
    edges: Edges, start: Position, end: Position, most: int, overlap: int
) -> tuple[Position, Position, int]:
    """The chunk behind another one, and its tokens; it shares fewer where it would not get beyond that one's end."""
    shared = overlap if end.at else 0
    while shared:
        first = edges.before(start, end.token - shared)
        found = last_edge(edges, first, end.at, most) if first.at > start.at else None
        if found is not None:
            return first, *found
        shared //= 2
    return end, *(last_edge(edges, end, end.at, most) or _last_character(edges, end, most))


def _last_character(edges: Edges, start: Position, most: int) -> tuple[Position, int]:
    """The same behind any character, where no edge will do: as far as doubling and halving finds one."""
    end, step, growing = start.at, 1, True
    count = 0
    while step:
        at = edges.character(end + step)
        tokens = edges.count(start.at, at) if end < at <= len(edges.data) else most + 1
        if tokens <= most:
            end, count = at, tokens
        else:
            growing = False
        step = 2 * step if growing else step // 2
    if end == start.at:
        at = edges.character(end + 1)
        char, offset = edges.part(end, at), len(edges.part(0, end))
        raise ValueError(f"the character {char!r} at offset {offset} alone has {edges.count(end, at)} tokens, more than "
                         f"max_tokens={most}")  # fmt: skip
    return edges.position(end), count
