"""Texts within a limit of tokens: cut short, or in chunks, for models with a limit and for retrieval.

The text is encoded, which gives its edges: the ends of its tokens between two characters. Each part is encoded once
more, to count its own tokens.
"""
from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, SupportsIndex

from ..errors import check_integer, short_repr

if TYPE_CHECKING:
    from array import array

    import numpy as np
    import numpy.typing as npt

    from ..core._tokenizer_base import TokenizerBase
    from .call_options import Side, SpecialSelection

    Places = npt.NDArray[np.int64]

#: A chunk ends after blank lines, or after a line.
BOUNDARIES = {"paragraph": re.compile(r"\n\s*\n"), "line": re.compile(r"\n")}


class Splitter(Protocol):
    """A compiled regular expression, of ``re`` or of ``regex``."""

    def finditer(self, string: str, /) -> Iterator[Any]: ...


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


class Edges:
    """The edges of a text, with its start and end. With a `limit`, little is read after so many tokens."""

    def __init__(
        self, tokenizer: TokenizerBase, text: str, limit: int | None, allowed_special: SpecialSelection,
        disallowed_special: SpecialSelection,
    ) -> None:  # fmt: skip
        most = 4 * len(text) if limit is None else min(limit, 4 * len(text))
        ends, data = tokenizer._token_ends(text, most, allowed_special, disallowed_special)
        specials = tokenizer._vocab.special_tokens  # if they share an id, only one of them has its literal for bytes
        rewritten = tokenizer._pipeline is not None  # a token may stand for other text, and text be left out
        normalized = tokenizer._vocab.normalization is not None and not text.isascii()
        found = None
        if rewritten or normalized or len({*specials.values()}) < len(specials):
            ids = tokenizer.encode(text, allowed_special=allowed_special)
            if rewritten or tokenizer.decode_bytes(ids) != text.encode():
                found = _traced_edges(tokenizer, text, ids, allowed_special)
        at, tokens = found or _edges_of_bytes(ends, data)
        self.tokenizer: TokenizerBase = tokenizer
        self.text: str = text
        self.allowed_special: SpecialSelection = allowed_special
        #: int64[n]: the edges in characters, ascending. bisect reads a memoryview faster than an array.
        self.at: memoryview = at.data
        self.tokens: memoryview = tokens.data  # int64[n]: the number of tokens before each edge
        self.total: int = self.tokens[-1]  # tokens that were read

    def count(self, start: int, end: int | None = None) -> int:
        """The number of tokens of a part of the text by itself."""
        return self.tokenizer.count(self.text[start:end], allowed_special=self.allowed_special)

    def tokens_before(self, at: int) -> int:
        """The number of tokens before the last edge at a place or before it."""
        return self.tokens[bisect_right(self.at, at) - 1]

    def last_after(self, tokens: int) -> int:
        """The last edge after at most so many tokens."""
        return self.at[bisect_right(self.tokens, max(tokens, 0)) - 1]

    def first_after(self, tokens: int) -> int:
        """The first edge after at least so many tokens."""
        return self.at[bisect_left(self.tokens, tokens)]

    def last_that_fits(self, start: int, floor: int, most: int) -> tuple[int, int] | None:
        """An edge after `floor` such that the text from `start` to the edge has at most `most` tokens by itself, nearly
        always the last such edge, found in bounded time; and the number of these tokens."""
        before, left, step = self.tokens_before(start), most, 1
        while left and (end := self.last_after(before + left)) > floor:
            count = self.count(start, end)
            if count <= most:
                return end, count
            left = left - step if left > step else left // 2
            step *= 2
        return None


def _edges_of_bytes(found: array[int], data: bytes) -> tuple[Places, Places]:
    """(edges in characters, tokens before each) from the ends of tokens in a text in UTF-8."""
    import numpy as np  # here and below: encoding to lists does without

    ends = np.asarray(found)
    if data.isascii():
        return np.append(0, ends), np.arange(len(ends) + 1)
    begins = np.append(np.frombuffer(data, np.uint8) & 0xC0 != 0x80, True)
    at = np.cumsum(np.add.reduceat(begins[:-1], np.append(0, ends[:-1]), dtype=np.int64))
    return _chosen(at, begins[ends])


def _traced_edges(
    tokenizer: TokenizerBase, text: str, ids: list[int], allowed_special: SpecialSelection
) -> tuple[Places, Places]:
    """(edges in characters, tokens before each) of a text that is rewritten."""
    import numpy as np

    from .offsets import offsets_of

    if not ids:
        return np.array([0, len(text)]), np.array([0, 0])
    spans = np.array(offsets_of(tokenizer, text, ids, allowed_special))
    # a composed mark belongs to its letter: tokens reach to the start of the next one
    at = np.maximum.accumulate(np.append(spans[1:, 0], len(text)))
    last = np.append(at[1:] > at[:-1], True)
    return _chosen(at, last & (at >= np.maximum.accumulate(spans[:, 1])))


def _chosen(at: Places, are_edges: npt.NDArray[np.bool_]) -> tuple[Places, Places]:
    import numpy as np

    return np.append(0, at[are_edges]), np.append(0, np.flatnonzero(are_edges) + 1)


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
        truncation_side: The side that loses tokens; "left" reads the whole text, and gives its end.
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
    right = truncation_side == "right"
    edges = Edges(self, text, most if right else None, allowed_special, disallowed_special)
    if edges.total <= most:
        return text
    if right:
        found = edges.last_that_fits(0, 0, most)
        return text[: found[0]] if found is not None else ""
    left, step = most, 1
    while left and edges.count(start := edges.first_after(edges.total - left)) > most:
        left = left - step if left > step else left // 2
        step *= 2
    return text[start:] if left else ""


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
        overlap: Each chunk repeats at least the last ``overlap`` tokens of the previous one; fewer if it could not
            advance otherwise.
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
    start = end = 0
    while end < len(edges.text):
        done = end
        start, end, count = _next_chunk(edges, start, done, most, overlap)
        at = last_boundary(done, end) if end < len(edges.text) else end
        while done < at < end:
            tokens = edges.count(start, at)
            if tokens <= most:
                end, count = at, tokens
            else:  # rarely, and soon given up
                at = last_boundary(done, done + (at - done) // 2)
        yield Chunk(edges.text[start:end], start, end, count)


def _next_chunk(edges: Edges, start: int, end: int, most: int, overlap: int) -> tuple[int, int, int]:
    """The chunk after another, and its number of tokens; a smaller overlap if it would not get beyond that one."""
    shared = overlap if end else 0
    while shared:
        first = edges.last_after(edges.tokens_before(end) - shared)
        fits = edges.last_that_fits(first, end, most) if start < first < end else None
        if fits is not None:
            return first, *fits
        shared //= 2
    return end, *(edges.last_that_fits(end, end, most) or _last_character(edges, end, most))


def _last_character(edges: Edges, start: int, most: int) -> tuple[int, int]:
    """The next chunk with an end after any character, if no edge fits: 1, 2, 4, ... characters farther."""
    longest, size = None, 1
    while (end := start + size) <= len(edges.text) and (count := edges.count(start, end)) <= most:
        longest = end, count
        size *= 2
    if longest is None:
        raise ValueError(f"the character {edges.text[start:end]!r} at offset {start} alone has {count} tokens, more "
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
