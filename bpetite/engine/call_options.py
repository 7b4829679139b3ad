"""The keyword arguments that several methods of the tokenizer share, for type checkers."""
from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any, Literal, SupportsIndex, TypeAlias, TypedDict

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: A text: str, or bytes in UTF-8.
Text: TypeAlias = str | bytes

#: Token ids to decode: ints, or an integer array of one dimension.
Ids: TypeAlias = "Iterable[SupportsIndex] | NDArray[Any]"

#: Special tokens by their literals.
SpecialSelection: TypeAlias = Literal["all"] | Collection[str]

Side: TypeAlias = Literal["left", "right"]
Padding: TypeAlias = Literal["longest", "max_length"]


class BatchOptions(TypedDict, total=False):
    """The options of :meth:`bpetite.Tokenizer.encode_batch`.

    Keys:
        num_threads: Threads to use; one for each usable processor when None, and never more.
        allowed_special: Special tokens to recognise.
        disallowed_special: Special tokens that must not be in a text.
        add_special_tokens: Put the special tokens of the tokenizer's template, if it has one, around each text.
        dropout: The probability of BPE-dropout; True for the probability that the tokenizer's file declares.
        seed: With dropout, decides the draws.
    """

    num_threads: int | None
    allowed_special: SpecialSelection
    disallowed_special: SpecialSelection
    add_special_tokens: bool
    dropout: float | bool | None
    seed: SupportsIndex | None


class RowOptions(BatchOptions, total=False):
    """The options of encoding texts to rows.

    Keys:
        max_length: Tokens a row keeps at most; without it nothing is cut.
        padding_side: The side of the padding, "left" or "right" (the default).
        truncation_side: The side on which a text that is too long loses tokens, "left" or "right" (the default).
        stride: None (the default) drops the tokens that are cut off. A number keeps them in further rows of
            ``max_length`` tokens; each begins with the last ``stride`` tokens of the row before.
        pad_to_multiple_of: The width is rounded up to a multiple of this; 1 by default.
    """

    max_length: int | None
    padding_side: Side
    truncation_side: Side
    stride: int | None
    pad_to_multiple_of: int
