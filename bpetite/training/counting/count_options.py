"""Options that decide the pre-tokens of a text. Counts carry them."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict

from ... import patterns
from ...patterns import Pattern, PatternLike
from ...vocabulary.special_literals import check_literal

if TYPE_CHECKING:
    from typing_extensions import Unpack

#: Special tokens of a training: literals, or literal -> id.
Specials: TypeAlias = Sequence[str] | Mapping[str, int]


class CountOptions(TypedDict, total=False):
    """Options that decide the pre-tokens of a text.

    Keys:
        pattern: The split pattern, see :func:`bpetite.patterns.resolve`; None for no pre-tokenization.
        special_tokens: Literals that cut the text and are in no pre-token.
        normalization: "NFC", "NFD", "NFKC", "NFKD" or None; applied to the text between special tokens.
    """

    pattern: PatternLike
    special_tokens: Sequence[str] | Mapping[str, int]
    normalization: str | None


COUNT_DEFAULTS: CountOptions = {
    "pattern": "gpt2", "special_tokens": ("<|endoftext|>",), "normalization": None,
}  # fmt: skip


@dataclass(frozen=True)
class Cutting:
    """The options of counting, as :meth:`of` checks them."""

    pattern: Pattern
    special_tokens: tuple[str, ...]
    normalization: str | None

    @classmethod
    def of(cls, **options: Unpack[CountOptions]) -> Cutting:
        """Check the options; those that are not given have their defaults.

        Raises:
            TypeError: A value of the wrong type.
            ValueError: An unknown pattern or normalization, or no literal of a special token.

        >>> Cutting.of(special_tokens=["<s>", "<s>"]).special_tokens
        ('<s>',)
        """
        from ...steps import normalizers

        given: Any = {**COUNT_DEFAULTS, **options}
        form = given["normalization"]
        if form is not None and form not in normalizers.FORMS:
            raise ValueError(f"normalization {form!r} is not one of {', '.join(normalizers.FORMS)} or None")
        return cls(patterns.resolve(given["pattern"]), distinct_literals(given["special_tokens"]), form)

    def difference(self, other: Cutting) -> str | None:
        """The first option that differs; None where both cut alike. The order of special tokens does not matter."""
        for name, value in vars(self).items():
            others = getattr(other, name)
            if set(value) != set(others) if name == "special_tokens" else value != others:
                return name
        return None


def distinct_literals(special_tokens: Specials) -> tuple[str, ...]:
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


def refuse_unknown(given: Mapping[str, Any], kind: type) -> None:
    """Raise TypeError for a keyword argument that is no key of a TypedDict of options."""
    known = kind.__annotations__
    for name in given:
        if name not in known:
            raise TypeError(f"unexpected keyword argument {name!r}; the options are {', '.join(known)}")
