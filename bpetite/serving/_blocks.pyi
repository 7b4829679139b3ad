from array import array

from typing_extensions import Self, disjoint_base

from ..engine._special import Specials
from ..engine._surface import Surface
from .edges import Edges

@disjoint_base
class Blocks:
    """A text as blocks between edges, each with its ids, and the open text behind the last edge, with its ids."""

    def __new__(cls) -> Self: ...
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

    def append(self, tokenizer: Surface, text: str, specials: Specials, block: int) -> tuple[int, int, array[int]]:
        """Put a text behind the others.

        Args:
            tokenizer: One whose text goes through a compiled scanner alone.
            text: The text, without lone surrogates.
            specials: The special tokens to recognise.
            block: Bytes that are read at a time.

        Returns:
            The change: where it begins, how many ids are gone, and the new ones, an array of uint32. No list is made of
            these: that would take longer than all the rest.
        """

    def replace(self, edges: Edges, start: int, end: int, text: str, block: int) -> tuple[int, int, array[int]]:
        """Put a text in the place of the characters from start to end; the change, as :meth:`append` gives it.

        Args:
            edges: The :class:`bpetite.serving.edges.Edges` of the text.
            start, end: A part of the text.
            text: The text, without lone surrogates.
            block: Blocks are about as long.
        """
