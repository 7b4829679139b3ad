"""A text cut into tokens, to look at: a page for the browser, a picture for a notebook.

>>> from bpetite import Tokenizer
>>> shown = view(Tokenizer.train("ab ab ab", 258), "ab ab <|endoftext|>")
>>> shown.tokens, shown.page().startswith("<!doctype html>")
([4], True)
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..tokenizer import Tokenizer
from .cells import lay_out, token_ends
from .results import Side, TokenView
from .settings import default_names

__all__ = ["WINDOW", "view"]

#: Characters that a page shows by default: a browser lays out some 15,000 tokens at once without a pause.
WINDOW = 50_000


def view(
    tokenizer: Tokenizer,
    text: str | bytes,
    other: Tokenizer | None = None,
    *,
    ordinary: bool = False,
    title: str = "Tokens",
    names: Sequence[str] | None = None,
    start: int = 0,
    characters: int = WINDOW,
) -> TokenView:
    """Show how a tokenizer cuts a text.

    Args:
        tokenizer: Encodes the text; with ``other``, it is on the left.
        text: ``str``, or UTF-8 ``bytes``.
        other: A second tokenizer, shown beside the first.
        ordinary: Recognise no special tokens.
        title: The title of the page.
        names: The names of the tokenizers.
        start: The first character of the window.
        characters: The number of characters that it shows.

    Raises:
        ValueError: A byte has no token; the window is empty; there are too few or too many names.
        UnicodeError: Text with a lone surrogate, bytes that are not UTF-8.
    """
    if start < 0 or characters < 1:
        raise ValueError(f"a window starts at 0 or later and is not empty: {characters} characters from {start}")
    tokenizers = [tokenizer] if other is None else [tokenizer, other]
    if names is None:
        names = default_names(*tokenizers)
    if len(names) != len(tokenizers):
        raise ValueError(f"{len(names)} names for {len(tokenizers)} tokenizers: {names!r}")
    options: dict[str, Any] = {"allowed_special": ()} if ordinary else {}
    ids = [one.encode_to_numpy(text, **options) for one in tokenizers]
    data = [one.decode_bytes(found) for one, found in zip(tokenizers, ids, strict=True)]
    ends = [token_ends(one, found) for one, found in zip(tokenizers, ids, strict=True)]
    aligned = len(set(data)) == 1
    if aligned:
        edges = [_shared_edges(ends, data[0])] * len(tokenizers)
    else:
        edges = [_shared_edges([one], own) for one, own in zip(ends, data, strict=True)]
    whole = data[0].decode("utf-8")
    wanted = [len(whole[:at].encode("utf-8")) for at in (start, start + characters)]
    sides, bounds = [], []
    for number, one in enumerate(tokenizers):
        # From the last edge before the window to the first one after it.
        low = int(edges[number][np.searchsorted(edges[number], wanted[0], "right") - 1])
        high = int(edges[number][min(int(np.searchsorted(edges[number], wanted[1])), len(edges[number]) - 1)])
        first, last = np.searchsorted(ends[number], [low, high], "right")
        different, counts = np.unique(ids[number], return_counts=True)
        specials = int(counts[np.isin(different, list(one.special_tokens.values()))].sum())
        cells = lay_out(one, ids[number][first:last].tolist())
        sides.append(Side(names[number], len(ids[number]), len(different), specials, cells, low))
        bounds.append((low, high))
    first, last = (len(data[0][:at].decode("utf-8")) for at in bounds[0])
    line = data[0].count(b"\n", 0, bounds[0][0]) + 1
    return TokenView(title, tuple(sides), len(whole), len(data[0]), first, last, line, aligned)


def _shared_edges(ends: list[npt.NDArray[np.int64]], data: bytes) -> npt.NDArray[np.int64]:
    """Positions at which all tokenizers have an edge and no character is cut, ascending; 0 and the end among them."""
    edges = ends[0]
    for more in ends[1:]:
        edges = np.intersect1d(edges, more, assume_unique=True)
    text = np.frombuffer(data + b" ", dtype=np.uint8)
    return np.append(0, edges[text[edges] & 0xC0 != 0x80])
