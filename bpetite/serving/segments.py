"""Texts in segments: trusted to hold special tokens, untrusted, or bytes that are no text."""
from __future__ import annotations

import re
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Literal

from ..engine import streaming
from ..errors import short_repr

if TYPE_CHECKING:
    from ..engine.call_options import SpecialSelection
    from ..tokenizer import Tokenizer

#: The characters that Python's decoder gives for bytes that are not UTF-8: no valid text has one.
ESCAPED = re.compile("([\udc80-\udcff]+)")


def encode_segments(
    tokenizer: Tokenizer,
    segments: Iterable[tuple[str, bool]],
    *,
    seams: Literal["join", "cut"] = "join",
    allowed_special: SpecialSelection = "all",
    disallowed_special: SpecialSelection = (),
) -> list[int]:
    """Token ids of a text in segments, with special tokens recognised in trusted ones only.

    A special token that untrusted text spells, or that a seam between two segments runs through, is ordinary text. It
    is found where a segment writes it, whatever a normalization makes of the text.

    Args:
        segments: Pairs (text, is it trusted): the text of a template is, the text of users is not.
        seams: "join" encodes the segments as one text, so that tokens reach over seams as in
            :meth:`bpetite.Tokenizer.encode`; "cut" encodes each by itself.
        allowed_special: The special tokens to recognise in trusted segments, as for :meth:`bpetite.Tokenizer.encode`.
        disallowed_special: Special tokens that must not be in any segment.

    Raises:
        ValueError: A disallowed special token is in a segment; a byte has no token; ``seams`` is neither.
        TypeError: A segment is no pair of a str and a bool.
        UnicodeEncodeError: A str holds a lone surrogate.

    >>> from bpetite import Tokenizer, serving
    >>> tok = Tokenizer.train("ab ab ab", 258)
    >>> serving.encode_segments(tok, [("<|endoftext|>a", True), ("b<|endoftext|>", False)])[:4]
    [258, 256, 60, 124]
    """
    if seams not in ("join", "cut"):
        raise ValueError(f'seams is "join" or "cut", not {short_repr(seams)}')
    specials, refused = streaming.chosen_specials(tokenizer, allowed_special, disallowed_special)
    pairs = [*segments]
    for number, pair in enumerate(pairs):
        if type(pair) is not tuple or len(pair) != 2 or type(pair[0]) is not str or type(pair[1]) is not bool:
            raise TypeError(
                f"segment {number} is a pair (text, is it trusted) of a str and a bool, not {short_repr(pair)}"
            )
        if refused is not None:
            refused.refuse(pair[0])
    if seams == "join":
        return streaming.encode_joined(tokenizer, pairs, specials)
    ids: list[int] = []
    for text, trusted in pairs:
        ids += tokenizer.encode(text, allowed_special=allowed_special if trusted else ())
    return ids


def encode_bytes(
    tokenizer: Tokenizer,
    data: bytes,
    *,
    errors: Literal["strict", "bytes"] = "strict",
    allowed_special: SpecialSelection = "all",
    disallowed_special: SpecialSelection = (),
    num_threads: int | None = 1,
) -> list[int]:
    """Token ids of data that need not be text. With ``errors="bytes"`` :meth:`bpetite.Tokenizer.decode_bytes` gives
    any data back, unless the tokenizer normalizes text.

    Args:
        data: Bytes.
        errors: The treatment of bytes that are not UTF-8: "strict" raises, as :meth:`bpetite.Tokenizer.encode` does;
            with "bytes" each run of them that Python's decoder finds is a pre-token, and the text on either side is
            encoded alone.
        allowed_special: As for :meth:`bpetite.Tokenizer.encode`, and so are ``disallowed_special`` and
            ``num_threads``.

    Raises:
        UnicodeDecodeError: The data is not UTF-8, and ``errors`` is "strict"; with the offset.
        ValueError: As for :meth:`bpetite.Tokenizer.encode`; ``errors`` is another value.

    >>> from bpetite import Tokenizer, serving
    >>> tok = Tokenizer.train("ab ab ab", 258)
    >>> serving.encode_bytes(tok, b"ab\\xff\\xfeab", errors="bytes")
    [256, 255, 254, 256]
    """
    if not isinstance(data, bytes):
        raise TypeError(f"data is bytes, not {short_repr(data)}; encode takes a str")
    if errors not in ("strict", "bytes"):
        raise ValueError(f'errors is "strict" or "bytes", not {short_repr(errors)}')
    encode = partial(tokenizer.encode, allowed_special=allowed_special, disallowed_special=disallowed_special,
                     num_threads=num_threads)  # fmt: skip
    parts = ESCAPED.split(data.decode("utf-8", "surrogateescape")) if errors == "bytes" else []
    if len(parts) < 2:
        return encode(data)
    ids: list[int] = []
    start = 0
    for number, part in enumerate(parts):
        run = part.encode("utf-8", "surrogateescape")
        end = start + len(run)
        try:
            if number % 2:
                ids += streaming.encode_pretoken(tokenizer, run)
            else:
                ids += encode(run)
        except ValueError as error:
            raise ValueError(f"data[{start}:{end}]: {error}") from None
        start = end
    return ids
