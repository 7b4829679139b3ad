"""Limits of tokens: how many texts have, whether one fits, and what of it fits.

Where a compiled scanner cuts the text, no more of it is read than a limit asks for, and nothing is encoded twice
(`_limits.pyx`, on `core/_reader.pyx`). Any other tokenizer is asked about one part of the text after the other, which
is exact for whatever it does, and slow.
"""
from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate
from typing import TYPE_CHECKING, SupportsIndex

from ..core._tokenizer_base import TokenizerBase
from ..engine.options import Side, SpecialSelection, Text
from ..errors import show
from ._limits import count_texts, is_read_as_it_is, longest_prefix, longest_suffix, token_limit

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["check_text", "count_batch", "edges_of", "fits", "truncate"]


def count_batch(
    tokenizer: TokenizerBase,
    texts: Iterable[Text],
    *,
    num_threads: int | None = None,
    allowed_special: SpecialSelection = "all",
    disallowed_special: SpecialSelection = (),
) -> NDArray[np.int64]:
    """How many tokens each text has; no ids are made of them.

    Args:
        texts: As for :meth:`encode_batch`, and so are the other arguments and what is raised.

    Returns:
        int64[n].

    >>> Tokenizer.train("ab ab ab", 258).count_batch(["ab", "ab ab", ""])
    array([1, 2, 0])
    """
    return count_texts(tokenizer._encoder, texts, allowed_special, disallowed_special, num_threads)


def fits(
    tokenizer: TokenizerBase,
    text: Text,
    max_tokens: SupportsIndex,
    *,
    allowed_special: SpecialSelection = "all",
    disallowed_special: SpecialSelection = (),
) -> bool:
    """Whether a text has at most ``max_tokens`` tokens. Reads no more of it than :meth:`count` with a limit does.

    Args:
        text: As for :meth:`encode`, and so are ``allowed_special`` and ``disallowed_special``.
        max_tokens: The limit, 0 or more. What a template would put around the text is not counted.

    Raises:
        ValueError: The limit is negative; what :meth:`encode` raises, for what has been read.

    >>> tok = Tokenizer.train("ab ab ab", 258)
    >>> tok.fits("ab ab", 2), tok.fits("ab" * 10**6, 2)
    (True, False)
    """
    most = token_limit(max_tokens, "max_tokens")
    return most >= tokenizer.count(
        text, limit=most, allowed_special=allowed_special, disallowed_special=disallowed_special
    )


def truncate(
    tokenizer: TokenizerBase,
    text: str,
    max_tokens: SupportsIndex,
    *,
    truncation_side: Side = "right",
    allowed_special: SpecialSelection = "all",
    disallowed_special: SpecialSelection = (),
) -> str:
    """The longest beginning of a text that has at most ``max_tokens`` tokens; the text itself where all of it has.

    It ends where one of the text's own tokens ends, and between two characters. What counts is its own encoding, which
    may differ from the text's next to the cut; nothing that a template would add is counted. Where a compiled scanner
    cuts the text, what lies far behind the cut is not read, nor checked for lone surrogates.

    Args:
        text: The text.
        max_tokens: The limit, 0 or more.
        truncation_side: Where the text loses tokens; "left" gives the longest end of the text instead.
        allowed_special: As for :meth:`encode`, and so is ``disallowed_special``. A special token is kept or cut off as
            a whole.

    Raises:
        ValueError: The limit is negative; a disallowed special token is in the text.
        TypeError: The text is no str.

    >>> tok = Tokenizer.train("ab ab ab", 258)
    >>> tok.truncate("ab ab ab", 2), tok.truncate("ab ab abc", 2, truncation_side="left")
    ('ab ab', ' abc')
    """
    check_text(text)
    if truncation_side not in ("left", "right"):
        raise ValueError(f'truncation_side is "left" or "right", not {truncation_side!r}')
    right = truncation_side == "right"
    encoder = tokenizer._encoder
    if is_read_as_it_is(encoder, text):
        find = longest_prefix if right else longest_suffix
        cut = find(encoder, text, allowed_special, disallowed_special, max_tokens)
        return text[:cut] if right else text[cut:]
    if fits(tokenizer, text, max_tokens, allowed_special=allowed_special, disallowed_special=disallowed_special):
        return text
    edges, _ = edges_of(tokenizer, text, allowed_special)
    parts = (text[:cut] for cut in reversed(edges)) if right else (text[cut:] for cut in edges)
    return next(part for part in parts if fits(tokenizer, part, max_tokens, allowed_special=allowed_special))


def check_text(text: object) -> None:
    """Raise TypeError for what is no str."""
    if not isinstance(text, str):
        hint = "; decode it first" if isinstance(text, bytes) else ""
        raise TypeError(f"text is a str, not {show(text)}{hint}")


def edges_of(tokenizer: TokenizerBase, text: str, allowed_special: SpecialSelection) -> tuple[list[int], list[int]]:
    """Where tokens of a text end between two of its characters, both ends of the text included; and for each token the
    end of the characters that it and those before it cover."""
    from ..engine.offsets import offsets_of

    spans = offsets_of(tokenizer, text, tokenizer.encode(text, allowed_special=allowed_special), allowed_special)
    # a mark that was composed belongs to its letter: tokens reach to where another one starts
    starts = sorted({start for start, _ in spans})
    after = dict(zip(starts, [*starts[1:], len(text)], strict=False))
    ends = list(accumulate((max(end, after[start]) for start, end in spans), max))
    edges = {0, len(text)}
    edges.update(reached for reached, (start, _) in zip(ends, spans[1:]) if start >= reached)
    return sorted(edges), ends
