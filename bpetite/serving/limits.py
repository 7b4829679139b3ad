"""Texts within a limit of tokens: cut short, or in chunks, for models with a limit and for retrieval.

The text is encoded, which gives the ends of its tokens (edges.py), and each part once more, to count its own tokens.
"""
from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, SupportsIndex

from ..errors import short_repr, token_limit
from .edges import Edges

if TYPE_CHECKING:
    from ..core._tokenizer_base import TokenizerBase
    from ..engine.options import Side, SpecialSelection

__all__ = ["Chunk", "Splitter", "chunks", "truncate"]

#: A chunk ends behind blank lines, or behind a line.
BOUNDARIES = {"paragraph": re.compile(r"\n\s*\n"), "line": re.compile(r"\n")}

FEW = 256  # characters that suffice to estimate the length of a text's tokens
SPARE = 32  # tokens that are read before the kept part: the first ones may differ from those of the whole text


class Splitter(Protocol):
    """A compiled regular expression, of ``re`` or of ``regex``."""

    def finditer(self, string: str, /) -> Iterator[Any]:
        """Yield its matches in a text."""


class Chunk(NamedTuple):
    """A part of a text.

    Attributes:
        text: The part.
        start: Its beginning, in characters.
        end: Its end.
        tokens: The number of its tokens by itself.
    """

    text: str
    start: int
    end: int
    tokens: int


def truncate(
    self: TokenizerBase,
    text: str,
    max_tokens: SupportsIndex,
    *,
    truncation_side: Side = "right",
    allowed_special: SpecialSelection = "all",
    disallowed_special: SpecialSelection = (),
) -> str:
    """The beginning of a text that has at most ``max_tokens`` tokens; the text itself if the whole text has.

    It ends at the end of a token of the text, between two characters. Its own encoding counts, which may differ from
    the text's next to the cut; the tokens of a template are not counted. If a compiled scanner cuts the text, the part
    far behind the cut is neither read nor checked; see ``tok.scanner``.

    Args:
        text: The text.
        max_tokens: The limit, 0 or more.
        truncation_side: The side that loses tokens; "left" gives the end of the text instead. Only the end of a long
            text is read, and the result begins at the end of one of its tokens.
        allowed_special: As for :meth:`encode`, and so is ``disallowed_special``. A special token is kept or cut off as
            a whole.

    Raises:
        ValueError: The limit is negative; a disallowed special token is in the part that was read.
        TypeError: The text is no str.

    >>> tok = Tokenizer.train("ab ab ab", 258)
    >>> tok.truncate("ab ab ab", 2), tok.truncate("ab ab abc", 2, truncation_side="left")
    ('ab ab', ' abc')
    """
    _check_text(text)
    if truncation_side not in ("left", "right"):
        raise ValueError(f'truncation_side is "left" or "right", not {truncation_side!r}')
    most = token_limit(max_tokens, "max_tokens")
    if truncation_side == "left":
        return _end(self, text, most, allowed_special, disallowed_special)
    edges = Edges(self, text, most, allowed_special, disallowed_special)
    if edges.total <= most:
        return text
    found = edges.last(0, 0, most)
    return edges.part(0, found[0]) if found is not None else ""


def _end(
    tokenizer: TokenizerBase,
    text: str,
    most: int,
    allowed_special: SpecialSelection,
    disallowed_special: SpecialSelection,
) -> str:
    """The end of a text that has at most `most` tokens."""
    known = tokenizer.scanner in ("vector", "tables") and (tokenizer.normalization is None or text.isascii())
    size = FEW + most // 4 if known else len(text)
    while True:
        part = text[-size:] if size < len(text) else text
        try:
            edges = Edges(tokenizer, part, None, allowed_special, disallowed_special)
        except ValueError:  # in a part of the text: this raises it with the offset in all of it
            tokenizer.count(text, allowed_special=allowed_special, disallowed_special=disallowed_special)
            raise
        if part is text or edges.total >= most + SPARE:
            break
        size = max(size + size // 4, size * (most + most // 8 + 2 * SPARE) // max(edges.total, 1))
    if edges.total <= most:
        return text
    left, step = most, 1
    while left and edges.count(start := edges.edge(edges.total - left, 1)) > most:
        left = left - step if left > step else left // 2
        step *= 2
    return edges.part(start) if left else ""


def chunks(
    self: TokenizerBase,
    text: str,
    max_tokens: SupportsIndex,
    *,
    overlap: SupportsIndex = 0,
    boundaries: Literal["paragraph", "line"] | Splitter | None = None,
    allowed_special: SpecialSelection = "all",
    disallowed_special: SpecialSelection = (),
) -> Iterator[Chunk]:
    """Yield the chunks of a text, each of at most ``max_tokens`` tokens, which together cover it in order.

    A chunk ends at the end of a token of the text, between two characters; if no such edge is near enough, behind any
    character. Its own encoding counts, which may differ from the text's next to a cut. The call encodes the whole text,
    and raises the errors of the text.

    Args:
        text: The text.
        max_tokens: The most tokens of a chunk, 1 or more. The tokens of a template are not counted.
        overlap: Each chunk begins so many tokens of the text, or a few more, before the end of the previous one; later
            if it would not get beyond that end.
        boundaries: Preferred ends of chunks: behind a "paragraph" (blank lines), a "line", or the matches of a compiled
            regular expression. The last such place in a chunk counts; a chunk without one ends as usual. The rest of a
            text that fits is one chunk.
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
    _check_text(text)
    most, shared = token_limit(max_tokens, "max_tokens"), token_limit(overlap, "overlap")
    if most < 1:
        raise ValueError(f"max_tokens is 1 or more, not {most}")
    if shared >= most:
        raise ValueError(f"overlap is less than max_tokens={most}, not {shared}")
    last_boundary = _boundaries(text, boundaries)
    return _chunks(Edges(self, text, None, allowed_special, disallowed_special), most, shared, last_boundary)


def _chunks(edges: Edges, most: int, overlap: int, last_boundary: Callable[[int, int], int]) -> Iterator[Chunk]:
    start = end = 0  # of the chunk before
    done = 0  # its end, in characters
    while end < len(edges.data):
        before = end
        start, end, count = _next_chunk(edges, start, end, most, overlap)
        part = edges.part(start, end)
        first = done - len(edges.part(start, before)) if start < before else done
        last = first + len(part)
        at = last_boundary(done, last) if end < len(edges.data) else last
        while done < at < last:
            shorter = part[: at - first]
            tokens = edges.count(start, start + edges.width(shorter))
            if tokens <= most:
                end, part, count, last = start + edges.width(shorter), shorter, tokens, at
            else:  # rarely, and soon given up
                at = last_boundary(done, done + (at - done) // 2)
        done = last
        yield Chunk(part, first, last, count)


def _next_chunk(edges: Edges, start: int, end: int, most: int, overlap: int) -> tuple[int, int, int]:
    """The next chunk and its number of tokens; a smaller overlap if it would not get beyond the previous end."""
    shared = overlap if end else 0
    while shared:
        first = edges.edge(edges.tokens(end) - shared)
        found = edges.last(first, end, most) if start < first < end else None
        if found is not None:
            return first, *found
        shared //= 2
    return end, *(edges.last(end, end, most) or _last_character(edges, end, most))


def _last_character(edges: Edges, start: int, most: int) -> tuple[int, int]:
    """The next chunk with an end behind any character, if no edge fits: 1, 2, 4, ... characters farther."""
    found, size = None, 1
    while (end := edges.character(start + size)) <= len(edges.data) and (count := edges.count(start, end)) <= most:
        found = end, count
        size *= 2
    if found is None:
        offset = len(edges.part(0, start))
        raise ValueError(f"the character {edges.part(start, end)!r} at offset {offset} alone has {count} tokens, more "
                         f"than max_tokens={most}")  # fmt: skip
    return found


def _boundaries(text: str, boundaries: str | Splitter | None) -> Callable[[int, int], int]:
    """A function for the last boundary behind one character and up to another, or the first of these."""
    if boundaries is None:
        return lambda low, high: low
    splitter = BOUNDARIES.get(boundaries) if isinstance(boundaries, str) else boundaries
    if splitter is None or not hasattr(splitter, "finditer"):
        raise ValueError(f'boundaries is "paragraph", "line", a compiled regular expression or None, not '
                         f"{short_repr(boundaries)}")  # fmt: skip
    if boundaries == "line":  # most texts have many: none but the last is looked for
        return lambda low, high: max(text.rfind("\n", low, high) + 1, low)
    ends = sorted(match.end() for match in splitter.finditer(text))
    return lambda low, high: max([low, *ends[(at := bisect_right(ends, high)) - 1 : at]])


def _check_text(text: object) -> None:
    if not isinstance(text, str):
        hint = "; decode it first" if isinstance(text, bytes) else ""
        raise TypeError(f"text is a str, not {short_repr(text)}{hint}")
