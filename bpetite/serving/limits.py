"""Texts within a limit of tokens."""
from __future__ import annotations

from typing import TYPE_CHECKING, SupportsIndex

from ..errors import show, token_limit
from .edges import START, Edges, Position

if TYPE_CHECKING:
    from ..core._tokenizer_base import TokenizerBase
    from ..engine.options import Side, SpecialSelection

__all__ = ["check_text", "last_edge", "truncate"]

FEW = 256  #: characters that tell how long the tokens of a text are
SPARE = 32  #: tokens that are read before those that are kept: the first ones are not those of the whole text


def truncate(
    tokenizer: TokenizerBase,
    text: str,
    max_tokens: SupportsIndex,
    *,
    truncation_side: Side = "right",
    allowed_special: SpecialSelection = "all",
    disallowed_special: SpecialSelection = (),
) -> str:
    """The beginning of a text that has at most ``max_tokens`` tokens; the text itself where all of it has.

    It ends where one of the text's tokens ends, and between two characters. What counts is its own encoding, which may
    differ from the text's next to the cut; nothing that a template would add is counted. Where a compiled scanner cuts
    the text, what lies far behind the cut is not read, nor checked; see ``tok.scanner``.

    Args:
        text: The text.
        max_tokens: The limit, 0 or more.
        truncation_side: Where the text loses tokens; "left" gives the end of the text instead. Of a long one only the
            end is read, and what is kept begins where a token of that ends.
        allowed_special: As for :meth:`encode`, and so is ``disallowed_special``. A special token is kept or cut off as
            a whole.

    Raises:
        ValueError: The limit is negative; a disallowed special token is in what has been read.
        TypeError: The text is no str.

    >>> tok = Tokenizer.train("ab ab ab", 258)
    >>> tok.truncate("ab ab ab", 2), tok.truncate("ab ab abc", 2, truncation_side="left")
    ('ab ab', ' abc')
    """
    check_text(text)
    if truncation_side not in ("left", "right"):
        raise ValueError(f'truncation_side is "left" or "right", not {truncation_side!r}')
    most = token_limit(max_tokens, "max_tokens")
    if truncation_side == "left":
        return _end(tokenizer, text, most, allowed_special, disallowed_special)
    ids, data = tokenizer._first_ids(text, most, allowed_special, disallowed_special)
    if len(ids) <= most:
        return text
    edges = Edges(tokenizer, text, ids, data, allowed_special)
    found = last_edge(edges, START, 0, most)
    return edges.part(0, found[0].at) if found is not None else ""


def last_edge(edges: Edges, start: Position, floor: int, most: int) -> tuple[Position, int] | None:
    """An edge behind an offset such that the text from `start` to there has at most `most` tokens by itself: the last
    one nearly always, and never one that takes long to find. With it, how many it has."""
    token, step = start.token + most, 1
    while token > start.token:
        end = edges.before(start, token)
        if end.at <= floor:
            break
        count = edges.count(start.at, end.at)
        if count <= most:
            return end, count
        if end.token <= start.token + 1:
            break
        token = max(end.token - step, start.token + 1)
        step *= 2
    return None


def _end(
    tokenizer: TokenizerBase,
    text: str,
    most: int,
    allowed_special: SpecialSelection,
    disallowed_special: SpecialSelection,
) -> str:
    """The end of a text that has at most `most` tokens."""
    known = tokenizer.scanner in ("vector", "tables") and (tokenizer.normalization is None or text.isascii())
    size = FEW + most // 4 if known else len(text)
    while True:
        part = text[-size:] if size < len(text) else text
        try:
            ids, data = tokenizer._first_ids(part, len(part) * 4, allowed_special, disallowed_special)
        except ValueError:  # in a part of the text: this raises it with the offset in all of it
            tokenizer.count(text, allowed_special=allowed_special, disallowed_special=disallowed_special)
            raise
        if part is text or len(ids) >= most + SPARE:
            break
        size = max(size + size // 4, size * (most + most // 16 + 2 * SPARE) // max(len(ids), 1))
    if len(ids) <= most:
        return text
    edges = Edges(tokenizer, part, ids, data, allowed_special)
    token, step = len(ids) - most, 1
    while token < len(ids):
        start = edges.after(token)
        if edges.count(start, len(edges.data)) <= most:
            return edges.part(start, len(edges.data))
        token += step
        step *= 2
    return ""


def check_text(text: object) -> None:
    """Raise TypeError for what is no str."""
    if not isinstance(text, str):
        hint = "; decode it first" if isinstance(text, bytes) else ""
        raise TypeError(f"text is a str, not {show(text)}{hint}")
