"""Maps the characters of a normalized text back to the given text, so that token offsets point into the latter."""
from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterable
from functools import partial
from itertools import pairwise
from typing import Literal

from ..steps.normalizers import normalize
from ._special import choose
from ._surface import Surface

__all__ = ["Origin", "offsets_of", "trace"]


class Origin:
    """A normalized text; its character i comes from the characters ``starts[i]:ends[i]`` of the given text."""

    def __init__(self) -> None:
        self.text = ""
        self.starts: list[int] = []
        self.ends: list[int] = []


def offsets_of(
    tokenizer: Surface, text: str | bytes, ids: list[int], allowed_special: Literal["all"] | Collection[str]
) -> list[tuple[int, int]]:
    """(start, end) in characters of the text for each of its tokens.

    Args:
        tokenizer: What has encoded the text.
        text: The text.
        ids: Its token ids.
        allowed_special: The special tokens that were recognised.
    """
    given = text if isinstance(text, str) else text.decode("utf-8")
    if tokenizer._pipeline is not None:
        allowed, _ = choose(tokenizer.special_tokens, allowed_special, ())
        origin = tokenizer._pipeline.trace(given, tuple(sorted(allowed)))
    elif isinstance(tokenizer.normalization, str):
        specials = tokenizer._special_spans(given, allowed_special, ())
        origin = trace(given, specials, tokenizer.normalization, tokenizer.unicode)
    else:
        return tokenizer._char_spans(ids, given.encode("utf-8"))
    spans = tokenizer._char_spans(ids, origin.text.encode("utf-8"))
    return [(origin.starts[start], origin.ends[end - 1]) for start, end in spans]


def trace(text: str, specials: Iterable[tuple[int, int]], form: str, unicode: str | None = None) -> Origin:
    """Normalize what lies between special tokens, and record where each character comes from.

    Args:
        text: The given text.
        specials: (start, end) of the special tokens in it, in characters, ascending; they stay as they are.
        form: "NFC", "NFD", "NFKC" or "NFKD".
        unicode: The version of Unicode, see :func:`bpetite.steps.normalizers.normalize`.

    >>> origin = trace("cafe\\u0301", [], "NFC")
    >>> origin.text, origin.starts, origin.ends
    ('café', [0, 1, 2, 3], [1, 2, 3, 5])
    """
    origin = Origin()
    parts: list[str] = []

    def add(normalized: str, start: int, end: int) -> None:
        parts.append(normalized)
        origin.starts.extend([start] * len(normalized))
        origin.ends.extend([end] * len(normalized))

    done = 0
    for start, end in [*specials, (len(text), len(text))]:
        for first, last in pairwise(_cuts(text[done:start], form, unicode)):
            add(normalize(form, text[done + first : done + last], unicode), done + first, done + last)
        for at in range(start, end):
            add(text[at], at, at + 1)
        done = end
    origin.text = "".join(parts)
    return origin


def _cuts(stretch: str, form: str, unicode: str | None) -> list[int]:
    """Where a stretch can be cut so that its normalized pieces join to the normalized whole; both ends included."""
    if not stretch:
        return []
    if unicodedata.is_normalized(form, stretch):  # type: ignore[arg-type]
        return list(range(len(stretch) + 1))
    normal = partial(normalize, form, unicode=unicode)
    cuts = [0]
    for at in range(1, len(stretch)):
        if unicodedata.combining(stretch[at]):
            continue
        before, after = stretch[cuts[-1] : at], stretch[at]
        if normal(before + after) == normal(before) + normal(after):
            cuts.append(at)
    cuts.append(len(stretch))
    joined = "".join(normal(stretch[start:end]) for start, end in pairwise(cuts))
    return cuts if joined == normal(stretch) else [0, len(stretch)]
