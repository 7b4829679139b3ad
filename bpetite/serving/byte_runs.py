"""Encoding data of which parts are no text."""
from __future__ import annotations

import re
from array import array
from typing import TYPE_CHECKING, Literal

from ..errors import show

if TYPE_CHECKING:
    from ..core._tokenizer_base import TokenizerBase
    from ..engine.options import SpecialSelection

__all__ = ["encode_bytes"]

#: What Python's decoder makes of bytes that are not UTF-8: no valid text has such a character.
_ESCAPED = re.compile("([\udc80-\udcff]+)")


def encode_bytes(
    tokenizer: TokenizerBase,
    data: bytes,
    *,
    errors: Literal["strict", "bytes"] = "strict",
    allowed_special: SpecialSelection = "all",
    disallowed_special: SpecialSelection = (),
    num_threads: int | None = 1,
) -> list[int]:
    """Token ids of data that need not be text. With ``errors="bytes"`` :meth:`bpetite.Tokenizer.decode_bytes` gives
    the data back, whatever it is (but for normalization, which rewrites text).

    Args:
        tokenizer: The tokenizer.
        data: Bytes.
        errors: What becomes of bytes that are not UTF-8: "strict" raises, as :meth:`bpetite.Tokenizer.encode` does;
            with "bytes" each run of them, as Python's decoder finds them, is a pre-token, and the text on either side
            is encoded alone.
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
        raise TypeError(f"data is bytes, not {show(data)}; encode takes a str")
    if errors not in ("strict", "bytes"):
        raise ValueError(f'errors is "strict" or "bytes", not {show(errors)}')
    parts = _ESCAPED.split(data.decode("utf-8", "surrogateescape")) if errors == "bytes" else []
    if len(parts) < 2:
        return tokenizer.encode(data, allowed_special=allowed_special, disallowed_special=disallowed_special,
                                num_threads=num_threads)  # fmt: skip
    ids: list[int] = []
    start = 0
    for number, part in enumerate(parts):
        run = part.encode("utf-8", "surrogateescape")
        end = start + len(run)
        try:
            if number % 2:
                ids += tokenizer._encode_items([(run, array("q", [len(run)]))])
            else:
                ids += tokenizer.encode(run, allowed_special=allowed_special, disallowed_special=disallowed_special,
                                        num_threads=num_threads)  # fmt: skip
        except ValueError as error:
            raise ValueError(f"data[{start}:{end}]: {error}") from None
        start = end
    return ids
