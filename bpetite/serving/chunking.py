"""A text in chunks of a number of tokens, for retrieval and for models with a limit.

Where a compiled scanner cuts the text it is read once (`_chunks.pyx`). Any other tokenizer encodes the whole text
first, and then each chunk, once or more, to count its tokens.
"""
from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, SupportsIndex

from ..errors import show
from ._limits import is_read_as_it_is, token_limit
from .limits import check_text, edges_of

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

    A chunk ends where one of the text's tokens ends, and between two characters: behind as many tokens of the text as
    have at most ``max_tokens`` when the chunk is encoded alone. Where no such edge is near enough, it ends behind any
    character. The time is that of counting the text once, and with it what chunks share.

    Args:
        text: The text.
        max_tokens: The most tokens of a chunk, 1 or more. What a template would put around it is not counted.
        overlap: Each chunk begins where the last ``overlap`` tokens of the one before begin; later where it would not
            get beyond the end of that one.
        boundaries: Where chunks end if they can: behind a "paragraph" (blank lines), a "line", or the matches of a
            compiled regular expression. The last such place in a chunk counts; where there is none, the chunk ends as
            without. The rest of a text that fits is one chunk.
        allowed_special: As for :meth:`encode`, and so is ``disallowed_special``. A special token is never cut.

    Raises:
        ValueError: ``max_tokens`` is below 1, ``overlap`` not below ``max_tokens``; a disallowed special token is in
            the text. While iterating: a character alone has more tokens than ``max_tokens``.
        TypeError: The text is no str.
        RuntimeError: While iterating: another thread takes a chunk from the same iterator.

    An iterator that has raised is not used again.

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
    found = None
    if boundaries is not None:
        splitter = BOUNDARIES.get(boundaries) if isinstance(boundaries, str) else boundaries
        if splitter is None or not hasattr(splitter, "finditer"):
            raise ValueError(f'boundaries is "paragraph", "line", a compiled regular expression or None, not '
                             f"{show(boundaries)}")
        found = (match.end() for match in splitter.finditer(text))
    settings = allowed_special, disallowed_special
    if is_read_as_it_is(tokenizer._encoder, text):
        from ._chunks import ChunkReader

        return ChunkReader(
            tokenizer._encoder, text, *settings, most, shared, "line" if boundaries == "line" else found, Chunk
        )
    return _Chunks(tokenizer, text, *settings, most, shared, found)


class _Chunks(Iterator[Chunk]):
    """The chunks of a text that must be encoded whole."""

    def __init__(
        self,
        tokenizer: TokenizerBase,
        text: str,
        allowed_special: SpecialSelection,
        disallowed_special: SpecialSelection,
        most: int,
        overlap: int,
        boundaries: Iterator[int] | None,
    ) -> None:
        self.tokenizer, self.text, self.allowed_special = tokenizer, text, allowed_special
        self.most, self.overlap = most, overlap
        tokenizer.count(text, allowed_special=allowed_special, disallowed_special=disallowed_special)
        self.edges, self.ends = edges_of(tokenizer, text, allowed_special)
        self.boundaries = [] if boundaries is None else sorted(boundaries)
        self.start = self.end = 0  # of the chunk before

    def __next__(self) -> Chunk:
        if self.end == len(self.text):
            raise StopIteration
        for start in self.starts():
            end = self.find(start)
            if end is not None:
                break
        else:
            count = self.tokenizer.count(self.text[self.end], allowed_special=self.allowed_special)
            raise ValueError(f"the character {self.text[self.end]!r} at offset {self.end} alone has {count} tokens, "
                             f"more than max_tokens={self.most}")
        if end < len(self.text):
            first, last = bisect_right(self.boundaries, self.end), bisect_right(self.boundaries, end)
            near = (at for at in reversed(self.boundaries[first:last]) if self.count(start, at) <= self.most)
            end = next(near, end)
        self.start, self.end = start, end
        return Chunk(self.text[start:end], start, end, self.count(start, end))

    def starts(self) -> Iterator[int]:
        """Where the next chunk may begin, the best first."""
        if self.overlap and self.end:
            from ..engine.offsets import offsets_of

            part = self.text[self.start : self.end]
            ids = self.tokenizer.encode(part, allowed_special=self.allowed_special)
            first = self.start
            if len(ids) > self.overlap:
                first += offsets_of(self.tokenizer, part, ids, self.allowed_special)[-self.overlap][0]
            if first > self.start:
                yield first
            yield from self.edges[bisect_right(self.edges, first) : bisect_left(self.edges, self.end)]
        yield self.end

    def find(self, start: int) -> int | None:
        """The end of the chunk that begins there, behind the one before."""
        tokens = bisect_right(self.ends, start) + self.most
        last = self.ends[tokens - 1] if tokens <= len(self.ends) else len(self.text)
        first, behind = bisect_right(self.edges, self.end), bisect_right(self.edges, last)
        ends = [at for at in self.edges[first:behind] if bisect_right(self.ends, at) <= tokens]
        if start == self.end:  # where no edge will do, any character
            ends = [*range(start + 1, max(last, start + 1) + 1), *ends]
        return next((end for end in reversed(ends) if self.count(start, end) <= self.most), None)

    def count(self, start: int, end: int) -> int:
        return self.tokenizer.count(self.text[start:end], limit=self.most, allowed_special=self.allowed_special)
