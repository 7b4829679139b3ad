from array import array
from typing import Self

from typing_extensions import disjoint_base

from ..core._special import Specials
from .edges import Edges
from .growing_text import Change

@disjoint_base
class Blocks:
    """A text as blocks between edges, each with its ids, and the open text behind the last edge, with its ids.

    Args:
        encoder: The tokenizer's.
        specials: The special tokens to recognise.
        kind: The class of a change: a named tuple of start, removed, ids.
    """

    def __new__(cls, encoder: object, specials: Specials | None, kind: type[Change]) -> Self: ...
    def copy(self) -> Blocks:
        """Blocks of its own, with the same content; the two share what stands."""

    def text(self) -> str:
        """The text; joined anew each time."""

    def ids(self) -> list[array[int]]:
        """The ids of each block and of the open text, arrays of uint32."""

    def __len__(self) -> int: ...
    def characters(self) -> int:
        """The length of the text."""

    def slice(self, start: int, end: int) -> str:
        """The characters from start to end."""

    def append(self, text: str, block: int) -> Change:
        """Put a text behind the others, where a compiled scanner alone cuts it.

        Args:
            text: The text.
            block: Blocks are about as long.

        Returns:
            The change, without ids that are the same at either end.

        Raises:
            ValueError: A byte has no token.
            UnicodeEncodeError: There is a lone surrogate; its position is not the one in this text.
        """

    def replace(self, edges: Edges, start: int, end: int, text: str, block: int) -> Change:
        """Put a text in the place of the characters from start to end; the change, as :meth:`append` gives it.

        Args:
            edges: The :class:`bpetite.serving.edges.Edges` of the text.
            start, end: A part of the text.
            text: The text, without lone surrogates.
            block: Blocks are about as long.
        """
