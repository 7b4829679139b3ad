"""The tokens of two tokenizers side by side: which of them cover the same bytes of a text."""
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ..engine.offsets import byte_offsets_of
from ..errors import short_repr

if TYPE_CHECKING:
    from ..engine.call_options import Text
    from ..tokenizer import Tokenizer


def align(a: Tokenizer, b: Tokenizer, text: Text) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The finest groups of tokens of two tokenizers that cover the same bytes of a text, in time linear in its length.

    A group ends where no token of either covers bytes on both sides. Where a tokenizer drops a part of the text, a
    group may have tokens of the other alone.

    Args:
        a: A tokenizer.
        b: Another one.
        text: Ordinary text, as :meth:`bpetite.Tokenizer.encode_ordinary` reads it.

    Returns:
        Two int64 arrays of the ends of the groups, counted in tokens: group ``k`` has the tokens ``ends[k - 1]`` up to
        ``ends[k]`` of each, from 0 for the first.

    Raises:
        TypeError: The text is neither str nor bytes.
        ValueError: A byte has no token.

    >>> from bpetite import Tokenizer
    >>> a, b = Tokenizer.train("ab ab ab", 258), Tokenizer.train("ba ba ba", 258)
    >>> a.encode_batch(["ab", " ", "b", "a"]), b.encode_batch(["a", "b", " ba"])
    ([[256], [32], [98], [97]], [[97], [98], [257]])
    >>> [ends.tolist() for ends in align(a, b, "ab ba")]
    [[1, 4], [2, 3]]
    """
    if not isinstance(text, str | bytes):
        raise TypeError(f"a text is str or UTF-8 bytes, not {short_repr(text)}")
    size = len(text.encode("utf-8") if isinstance(text, str) else text)
    done_a, across_a = _tokens_at(a, text, size)
    done_b, across_b = _tokens_at(b, text, size)
    cuts = np.flatnonzero((across_a == 0) & (across_b == 0))
    ends = np.stack((done_a[cuts], done_b[cuts]))
    is_new = np.diff(ends, prepend=0).any(axis=0)  # bytes that both leave out make no group
    return ends[0, is_new], ends[1, is_new]


def _tokens_at(tokenizer: Tokenizer, text: Text, size: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """For each position between the bytes of a text, from 0 to its size: the tokens that end up to there, and those
    that cover bytes on both sides."""
    starts, ends = byte_offsets_of(tokenizer, text, tokenizer.encode_ordinary(text), ()).T
    done = np.bincount(ends, minlength=size + 1).cumsum()
    begun_before = np.bincount(starts + 1, minlength=size + 2)[: size + 1].cumsum()
    return done, begun_before - done
