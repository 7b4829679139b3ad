from collections.abc import Mapping
from typing import Self

from typing_extensions import Buffer, disjoint_base

from ..engine.options import SpecialSelection

@disjoint_base
class Specials:
    """Special tokens, ready to be found.

    Args:
        special_tokens: literal -> id; no literal is empty or holds a lone surrogate.
    """

    @property
    def size(self) -> int:
        """How many special tokens there are."""
    @property
    def shortest(self) -> int:
        """The bytes of the shortest literal."""
    @property
    def longest(self) -> int:
        """The bytes of the longest literal."""
    @property
    def literals(self) -> tuple[str, ...]:
        """The literals, sorted by their UTF-8."""
    def __new__(cls, special_tokens: Mapping[str, int]) -> Self: ...
    def __len__(self) -> int: ...
    def cut(self, text: Buffer) -> list[tuple[int, int, int]]:
        """[(start, end, id), ...] of the special tokens in a text, in bytes.

        >>> Specials({"<s>": 7}).cut(b"a<s><s")
        [(1, 4, 7)]
        """

    def first_open(self, text: Buffer, start: int) -> int:
        """The first offset from `start` on from which the rest of a text is the beginning of a special token, which
        more text may complete; or its length.

        >>> Specials({"<s>": 7}).first_open(b"a<s><s", 0)
        4
        """

    def spans(self, text: str) -> list[tuple[int, int, int]]:
        """[(start, end, id), ...] of the special tokens in a text, in characters.

        >>> Specials({"<s>": 7}).spans("é<s><s")
        [(1, 4, 7)]
        """

def choose(
    special_tokens: Mapping[str, int], allowed: SpecialSelection, disallowed: SpecialSelection
) -> tuple[frozenset[str], frozenset[str]]:
    """The literals to recognise and the literals to refuse.

    Args:
        special_tokens: literal -> id of a tokenizer.
        allowed: "all" or a collection of its literals.
        disallowed: "all", which means all that are not allowed, or a collection of its literals.

    Raises:
        ValueError: A name is no special token of the tokenizer.
        TypeError: Something that is neither "all" nor a collection, such as one literal, or None.

    >>> choose({"<s>": 1, "</s>": 2}, {"<s>"}, "all")
    (frozenset({'<s>'}), frozenset({'</s>'}))
    """
