from collections.abc import Iterator
from typing import Any, Literal, Self, SupportsIndex

from typing_extensions import disjoint_base

from ..engine.options import SpecialSelection
from .chunking import Chunk

@disjoint_base
class ChunkReader:
    """An iterator over the chunks of a text.

    Args:
        encoder: Must read the text as it is, see `_limits.is_read_as_it_is`.
        text: The text.
        allowed_special: The special tokens to recognise.
        disallowed_special: Those that must not be in the text.
        max_tokens: The most tokens of a chunk.
        overlap: Tokens that a chunk shares with the one before.
        boundaries: An iterator over the offsets, in characters and ascending, where chunks are to end; "line" for the
            ends of lines, which are looked for from the end of a chunk backwards; or None.
        kind: The class of a chunk: a named tuple of text, start, end, tokens.
    """

    def __new__(
        cls,
        encoder: Any,
        text: str,
        allowed_special: SpecialSelection,
        disallowed_special: SpecialSelection,
        max_tokens: SupportsIndex,
        overlap: SupportsIndex,
        boundaries: Iterator[int] | Literal["line"] | None,
        kind: type[Chunk],
    ) -> Self: ...
    def __iter__(self) -> Self: ...
    def __next__(self) -> Chunk: ...
