"""Encodings of a text drawn at random. The function is a method of :class:`bpetite.Tokenizer`."""
from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING, SupportsIndex

from ..errors import not_a_text, show

if TYPE_CHECKING:
    from ..core._tokenizer_base import TokenizerBase
    from .options import SpecialSelection, Text

__all__ = ["sample"]


def sample(
    tokenizer: TokenizerBase,
    text: Text,
    n: SupportsIndex,
    *,
    dropout: float = 0.1,
    seed: SupportsIndex | None = None,
    num_threads: int | None = None,
    allowed_special: SpecialSelection = "all",
    disallowed_special: SpecialSelection = (),
    add_special_tokens: bool = False,
) -> list[list[int]]:
    """Encodings of a text with BPE-dropout, drawn independently; the first is that of :meth:`encode` with that seed.

    Args:
        text: str, or bytes in UTF-8.
        n: How many encodings to draw.
        dropout: The probability, as for :meth:`encode`; True for that which the tokenizer's file declares.
        seed, allowed_special, disallowed_special, add_special_tokens: As for :meth:`encode`.
        num_threads: As for :meth:`encode_batch`.

    Raises:
        ValueError: As for :meth:`encode`; ``n`` is negative.

    >>> tok = Tokenizer.train("ab ab ab", 258)
    >>> tok.sample("ab ab", 3, dropout=0.5, seed=1)
    [[256, 32, 256], [256, 32, 256], [97, 98, 32, 97, 98]]
    """
    if not isinstance(text, str | bytes):
        raise not_a_text(text)
    try:
        count = index(n)
    except TypeError:
        raise TypeError(f"n is an int, not {show(n)}") from None
    if count < 0:
        raise ValueError(f"n must be 0 or more, not {count}")
    return tokenizer.encode_batch(
        [text] * count, num_threads=num_threads, allowed_special=allowed_special, disallowed_special=disallowed_special,
        add_special_tokens=add_special_tokens, dropout=dropout, seed=seed,
    )  # fmt: skip
