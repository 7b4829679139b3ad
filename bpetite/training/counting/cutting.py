"""The way a text is cut into pre-tokens: the options that counts carry."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypedDict

from ... import patterns
from ...patterns import Pattern, PatternLike
from ...vocabulary.special_literals import check_literal

#: Special tokens of a training: literals, or literal -> id.
SpecialLiterals: TypeAlias = Sequence[str] | Mapping[str, int]


#: The defaults of counting and of training.
PATTERN = "gpt2"
SPECIAL_TOKENS = ("<|endoftext|>",)


class CountOptions(TypedDict, total=False):
    """The options of :meth:`Cutting.of`, for functions that also have others."""

    pattern: PatternLike
    special_tokens: SpecialLiterals
    normalization: str | None


@dataclass(frozen=True)
class Cutting:
    """The way a text is cut into pre-tokens, as :meth:`of` checks it."""

    pattern: Pattern
    special_tokens: tuple[str, ...]
    normalization: str | None

    @classmethod
    def of(
        cls,
        *,
        pattern: PatternLike = PATTERN,
        special_tokens: SpecialLiterals = SPECIAL_TOKENS,
        normalization: str | None = None,
    ) -> Cutting:
        """Check the options.

        Raises:
            TypeError: A value of the wrong type.
            ValueError: An unknown pattern or normalization, or no literal of a special token.

        >>> Cutting.of(special_tokens=["<s>", "<s>"]).special_tokens
        ('<s>',)
        """
        from ...steps.normalizers import FORMS

        if normalization is not None and normalization not in FORMS:
            raise ValueError(f"normalization {normalization!r} is not one of {', '.join(FORMS)} or None")
        return cls(patterns.resolve(pattern), distinct_literals(special_tokens), normalization)

    def difference(self, other: Cutting) -> str | None:
        """The first option that differs; None where both cut alike. The order of special tokens does not matter."""
        for name, value in vars(self).items():
            others = getattr(other, name)
            if set(value) != set(others) if name == "special_tokens" else value != others:
                return name
        return None


def distinct_literals(special_tokens: SpecialLiterals) -> tuple[str, ...]:
    """The literals without repeats.

    Raises:
        TypeError, ValueError: One of them is no literal; the message names it.
    """
    if isinstance(special_tokens, (str, bytes)) or not hasattr(special_tokens, "__iter__"):
        raise TypeError(f"special_tokens is a list of str or a dict of ids, not {special_tokens!r}")
    literals = tuple(dict.fromkeys(special_tokens))
    for literal in literals:
        check_literal(literal)
    return literals
