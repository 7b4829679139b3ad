"""Texts of which some parts are trusted to hold special tokens, and others are not."""
from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal

from ..errors import show
from ._segments import checked, encode_joined

if TYPE_CHECKING:
    from ..core._tokenizer_base import TokenizerBase
    from ..engine.options import SpecialSelection

__all__ = ["encode_segments"]


def encode_segments(
    tokenizer: TokenizerBase,
    segments: Iterable[tuple[str, bool]],
    *,
    seams: Literal["join", "cut"] = "join",
    allowed_special: SpecialSelection = "all",
    disallowed_special: SpecialSelection = (),
) -> list[int]:
    """Token ids of a text in segments, with special tokens recognised in trusted ones only.

    A special token that untrusted text spells, or that a seam between two segments runs through, is ordinary text.

    Args:
        segments: Pairs (text, is it trusted): a template's own text is, what users write is not.
        seams: "join" encodes the segments as one text, so that tokens reach over seams as in :meth:`encode`; "cut"
            encodes each by itself.
        allowed_special: The special tokens to recognise in trusted segments, as for :meth:`encode`.
        disallowed_special: Those that must not be in any segment.

    Raises:
        ValueError: A disallowed special token is in a segment; a byte has no token; ``seams`` is neither.
        TypeError: A segment is no pair of a str and a bool.
        UnicodeEncodeError: A str holds a lone surrogate.

    >>> tok = Tokenizer.train("ab ab ab", 258)
    >>> tok.encode_segments([("<|endoftext|>a", True), ("b<|endoftext|>", False)])[:4]
    [258, 256, 60, 124]
    """
    if seams not in ("join", "cut"):
        raise ValueError(f'seams is "join" or "cut", not {show(seams)}')
    pairs = checked(segments)
    if seams == "join":
        tokenizer.encode_ordinary("")  # makes what lists are made of
        return encode_joined(tokenizer._encoder, tokenizer._lists, pairs, allowed_special, disallowed_special)
    ids: list[int] = []
    for text, trusted in pairs:
        allowed = allowed_special if trusted else ()
        ids += tokenizer.encode(text, allowed_special=allowed, disallowed_special=disallowed_special)
    return ids
