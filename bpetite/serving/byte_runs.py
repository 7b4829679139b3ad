"""Encoding data of which parts are no text."""
from __future__ import annotations

import re
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
    invalid: Literal["error", "bytes"] = "error",
    allowed_special: SpecialSelection = "all",
    disallowed_special: SpecialSelection = (),
    num_threads: int | None = 1,
) -> list[int]:
    """Token ids of data that need not be text. With ``invalid="bytes"`` :meth:`decode_bytes` gives the data back,
    whatever it is (but for normalization, which rewrites text).

    Args:
        data: Bytes.
        invalid: What becomes of bytes that are not UTF-8: "error", as in :meth:`encode`; or "bytes": each run of them,
            as Python's decoder finds them, is a pre-token, and the text on either side is encoded alone.
        allowed_special: As for :meth:`encode`, and so are ``disallowed_special`` and ``num_threads``.

    Raises:
        UnicodeDecodeError: The data is not UTF-8, and ``invalid`` is "error"; with the offset.
        ValueError: As for :meth:`encode`; ``invalid`` is another value.

    >>> tok = Tokenizer.train("ab ab ab", 258)
    >>> tok.encode_bytes(b"ab\\xff\\xfeab", invalid="bytes")
    [256, 255, 254, 256]
    """
    if not isinstance(data, bytes):
        raise TypeError(f"data is bytes, not {show(data)}; encode takes a str")
    if invalid not in ("error", "bytes"):
        raise ValueError(f'invalid is "error" or "bytes", not {show(invalid)}')
    parts = _ESCAPED.split(data.decode("utf-8", "surrogateescape")) if invalid == "bytes" else []
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
                ids += tokenizer._encode_pretoken(run)
            else:
                ids += tokenizer.encode(run, allowed_special=allowed_special, disallowed_special=disallowed_special,
                                        num_threads=num_threads)  # fmt: skip
        except ValueError as error:
            raise ValueError(f"data[{start}:{end}]: {error}") from None
        start = end
    return ids
