"""Texts within a limit of tokens: cut short, or in chunks, for models with a limit and for retrieval.

The text is encoded, which gives its edges: the ends of its tokens between two characters. Each part is encoded once
more, to count its own tokens. As a rule the bytes of the tokens are the text in UTF-8, so the sizes of the tokens give
their ends. The ends in a text that is rewritten before it is encoded are traced through the rewriting.
"""
from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, SupportsIndex

from ..errors import check_integer, short_repr

if TYPE_CHECKING:
    from ..core._tokenizer_base import TokenizerBase
    from .call_options import Side, SpecialSelection

__all__ = ["Chunk", "Splitter", "chunks", "truncate"]

#: A chunk ends after blank lines, or after a line.
BOUNDARIES = {"paragraph": re.compile(r"\n\s*\n"), "line": re.compile(r"\n")}

FEW = 256  # characters that suffice to estimate the length of a text's tokens
SPARE = 32  # tokens that are read before the kept part: the first ones may differ from the whole text's


class Splitter(Protocol):
    """A compiled regular expression, of ``re`` or of ``regex``."""

    def finditer(self, string: str, /) -> Iterator[Any]:
        """Yield its matches in a text."""


class Chunk(NamedTuple("Chunk", [("text", str), ("start", int), ("end", int), ("tokens", int)])):
    """A part of a text.

    Attributes:
        text: The part.
        start: Its beginning, in characters.
        end: Its end.
        tokens: The number of its tokens by itself.
    """

    __slots__ = ()


class Edges:
    """The edges of a text. Offsets are in bytes of its UTF-8, or in characters where it is traced.

    Args:
        tokenizer: The tokenizer.
        text: The text.
        limit: Little is read after the first ``limit`` tokens; the whole text when None.
        allowed_special: As for :meth:`bpetite.Tokenizer.encode`; the next one likewise.

    Attributes:
        data: The part of the text that has been read: in UTF-8, or the str where it is traced.
        total: Its number of tokens.
    """

    def __init__(
        self, tokenizer: TokenizerBase, text: str, limit: int | None, allowed_special: SpecialSelection,
        disallowed_special: SpecialSelection,
    ) -> None:  # fmt: skip
        most = 4 * len(text) if limit is None else min(limit, 4 * len(text))
        ends, utf8 = tokenizer._token_ends(text, most, allowed_special, disallowed_special)
        self.tokenizer: TokenizerBase = tokenizer
        self.allowed_special: SpecialSelection = allowed_special
        self.total: int = len(ends)
        self.data: bytes | str = utf8
        self._ends: Sequence[int] = ends
        self._traced: set[int] | None = None
        specials = tokenizer._vocab.special_tokens  # of those that share an id, only one has its literal for bytes
        rewritten = tokenizer._cut_in_python or (tokenizer._vocab.normalization is not None and not text.isascii())
        characters = tokenizer._vocab.alphabet is not None  # a token may stand for others, or for a space put before it
        if rewritten or characters or len({*specials.values()}) < len(specials):
            ids = tokenizer.encode(text, allowed_special=allowed_special)
            if characters or tokenizer.decode_bytes(ids) != text.encode():
                self._trace(text, ids)

    def part(self, start: int, end: int | None = None) -> str:
        """A part of the text."""
        data = self.data[start:end]
        return data if isinstance(data, str) else data.decode("utf-8")

    def width(self, part: str) -> int:
        """The length of a part of the text."""
        return len(part) if isinstance(self.data, str) else len(part.encode("utf-8"))

    def count(self, start: int, end: int | None = None) -> int:
        """The number of tokens of a part of the text by itself."""
        return self.tokenizer.count(self.data[start:end], allowed_special=self.allowed_special)

    def tokens_up_to(self, at: int) -> int:
        """The number of tokens that end at an offset or before it."""
        return bisect_right(self._ends, at)

    def edge_near(self, token: int, step: int = -1) -> int:
        """The last edge after at most `token` tokens, or with step=1 the first one after at least so many."""
        while 0 < token < self.total and not self._is_edge(token):
            token += step
        return len(self.data) if token >= self.total else self._ends[token - 1] if token > 0 else 0

    def next_character(self, at: int) -> int:
        """The first place between two characters at an offset or after it."""
        data = self.data
        while isinstance(data, bytes) and at < len(data) and data[at] & 0xC0 == 0x80:
            at += 1
        return at

    def last_edge(self, start: int, floor: int, most: int) -> tuple[int, int] | None:
        """An edge after an offset such that the text from `start` to the edge has at most `most` tokens by itself,
        nearly always the last such edge, found in bounded time; and the number of these tokens."""
        before, left, step = self.tokens_up_to(start), most, 1
        while left and (end := self.edge_near(before + left)) > floor:
            count = self.count(start, end)
            if count <= most:
                return end, count
            left = left - step if left > step else left // 2
            step *= 2
        return None

    def _is_edge(self, token: int) -> bool:
        at = self._ends[token - 1]
        if self._traced is None:
            return self.next_character(at) == at
        return at in self._traced and self._ends[token] > at

    def _trace(self, text: str, ids: list[int]) -> None:
        from .offsets import offsets_of

        spans = offsets_of(self.tokenizer, text, ids, self.allowed_special)
        # a composed mark belongs to its letter: tokens reach to the start of the next one
        starts = (start for start, _ in spans[1:])
        covered = accumulate((end for _, end in spans), max)
        self.data, self.total = text, len(ids)
        self._ends = [*accumulate((*starts, len(text)), max)]
        self._traced = {at for at, end in zip(self._ends, covered, strict=False) if at >= end}


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
    far beyond the cut is neither read nor checked; see ``tok.scanner``.

    Args:
        text: The text.
        max_tokens: The limit, 0 or more.
        truncation_side: The side that loses tokens; "left" gives the end of the text instead. Only the end of a long
            text is read, and as a rule the result begins at the end of one of its tokens.
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
    most = check_integer("max_tokens", max_tokens, 0)
    if truncation_side == "left":
        return _ending(self, text, most, allowed_special, disallowed_special)
    edges = Edges(self, text, most, allowed_special, disallowed_special)
    if edges.total <= most:
        return text
    edge = edges.last_edge(0, 0, most)
    return edges.part(0, edge[0]) if edge is not None else ""


def _ending(
    tokenizer: TokenizerBase,
    text: str,
    most: int,
    allowed_special: SpecialSelection,
    disallowed_special: SpecialSelection,
) -> str:
    """The end of a text that has at most `most` tokens."""
    known = (
        tokenizer._pretokenizer.scanner_kind in ("vector", "tables")
        and not tokenizer._cut_in_python
        and (tokenizer._vocab.normalization is None or text.isascii())
    )
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
    while left and edges.count(start := edges.edge_near(edges.total - left, 1)) > most:
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

    A chunk ends at the end of a token of the text, between two characters; if no such edge is near enough, after any
    character. Its own encoding counts, which may differ from the text's next to a cut. The call encodes the whole text,
    and raises the errors of the text.

    Args:
        text: The text.
        max_tokens: The most tokens of a chunk, 1 or more. The tokens of a template are not counted.
        overlap: Each chunk begins so many tokens of the text, or a few more, before the end of the previous one; later
            if it would not get beyond that end.
        boundaries: Preferred ends of chunks: after a "paragraph" (blank lines), a "line", or the matches of a compiled
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
    most, shared = check_integer("max_tokens", max_tokens, 1), check_integer("overlap", overlap, 0)
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
        first = edges.edge_near(edges.tokens_up_to(end) - shared)
        fits = edges.last_edge(first, end, most) if start < first < end else None
        if fits is not None:
            return first, *fits
        shared //= 2
    return end, *(edges.last_edge(end, end, most) or _last_character(edges, end, most))


def _last_character(edges: Edges, start: int, most: int) -> tuple[int, int]:
    """The next chunk with an end after any character, if no edge fits: 1, 2, 4, ... characters farther."""
    longest, size = None, 1
    while (end := edges.next_character(start + size)) <= len(edges.data) and (count := edges.count(start, end)) <= most:
        longest = end, count
        size *= 2
    if longest is None:
        offset = len(edges.part(0, start))
        raise ValueError(f"the character {edges.part(start, end)!r} at offset {offset} alone has {count} tokens, more "
                         f"than max_tokens={most}")  # fmt: skip
    return longest


def _boundaries(text: str, boundaries: str | Splitter | None) -> Callable[[int, int], int]:
    """A function for the last boundary after one character and up to another, or for the first one."""
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
