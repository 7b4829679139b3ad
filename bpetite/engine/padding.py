"""Rows of token ids -> a rectangle with its mask; rows of similar length -> batches within a token budget.

Rows come as one flat array with offsets. NumPy moves them, never one id at a time.
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ..core._tokenizer_base import TokenizerBase
from ..errors import show
from .options import BatchOptions, Padding, RowOptions, Side, Text

__all__ = ["Layout", "PaddedBatch", "encode_rows", "pad", "pad_by_length", "windows"]

Ids: TypeAlias = npt.NDArray[np.uint32]
Offsets: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class PaddedBatch:
    """A rectangle of token ids. Unpacks into its two arrays: ``input_ids, attention_mask = batch``.

    Attributes:
        input_ids: int32[rows, width].
        attention_mask: int8[rows, width]: 1 for a token, 0 for padding.
        rows: int64[rows]: the index of the text that each row comes from.
    """

    input_ids: npt.NDArray[np.int32]
    attention_mask: npt.NDArray[np.int8]
    rows: npt.NDArray[np.int64]

    def __iter__(self) -> Iterator[npt.NDArray[np.int32] | npt.NDArray[np.int8]]:
        return iter((self.input_ids, self.attention_mask))


@dataclass(frozen=True)
class Layout:
    """How rows of token ids become rectangles.

    Attributes:
        pad_id: The id that fills up short rows; None if no row may need it.
        before: Special ids at the start of each row. They count in ``max_length`` and are never cut off.
        after: Special ids at the end of each row, likewise.
        max_length: The most tokens a row keeps.
        padding_side: Where padding goes.
        truncation_side: Where a row that is too long loses tokens.
        stride: None drops the tokens that are cut off. A number keeps them in further rows, each of which repeats that
            many tokens of the row before.
        pad_to_multiple_of: The width is rounded up to a multiple of this.

    Raises:
        ValueError: Arguments that contradict each other.
    """

    pad_id: int | None
    before: Sequence[int] = ()
    after: Sequence[int] = ()
    max_length: int | None = None
    padding_side: Side = "right"
    truncation_side: Side = "right"
    stride: int | None = None
    pad_to_multiple_of: int = 1

    def __post_init__(self) -> None:
        most, special, stride = self.max_length, self.special, self.stride
        for name in ("max_length", "stride", "pad_to_multiple_of"):
            number = getattr(self, name)
            if not isinstance(number, int) and (number is not None or name == "pad_to_multiple_of"):
                raise TypeError(f"{name} is an int, not {show(number)}")
        if most is not None and most < 1:
            raise ValueError(f"max_length must be at least 1, not {most}")
        if most is not None and most <= special:
            raise ValueError(f"max_length {most} leaves no room for text beside {special} special tokens")
        for name in ("padding_side", "truncation_side"):
            if getattr(self, name) not in ("left", "right"):
                raise ValueError(f'{name} is "left" or "right", not {getattr(self, name)!r}')
        if self.pad_to_multiple_of < 1:
            raise ValueError(f"pad_to_multiple_of must be at least 1, not {self.pad_to_multiple_of}")
        if stride is not None and (most is None or not 0 <= stride < most - special):
            beside = f" less {special} special tokens" if special else ""
            raise ValueError(f"stride must be at least 0 and less than max_length={most}{beside}, not {stride}")

    @property
    def special(self) -> int:
        """How many special ids each row has."""
        return len(self.before) + len(self.after)

    def rows(self, offsets: Offsets) -> tuple[Offsets, Offsets, Offsets]:
        """For each row the index of its text, its first token among all ids, and how many it has of them."""
        room = None if self.max_length is None else self.max_length - self.special
        rows, begins, ends = windows(np.diff(offsets), room, self.truncation_side, self.stride)
        return rows, offsets[rows] + begins, ends - begins

    def width(self, tokens: Any) -> Any:
        """What as many tokens, special ones included, are filled up to at least."""
        return -(-tokens // self.pad_to_multiple_of) * self.pad_to_multiple_of

    def rectangle(self, ids: Ids, rows: Offsets, starts: Offsets, lengths: Offsets, width: int) -> PaddedBatch:
        """Rows ``before + ids[start:start + length] + after``, filled up to a width."""
        filled = lengths + self.special
        if self.pad_id is None and int(filled.min(initial=width)) < width:
            raise ValueError("rows of different length need a pad_token=")
        offset_in_flat = np.cumsum(lengths) - lengths
        flat = ids[np.repeat(starts - offset_in_flat, lengths) + np.arange(int(lengths.sum()))]
        highest = max(int(flat.max(initial=0)), self.pad_id or 0, *self.before, *self.after)
        if highest > 0x7FFFFFFF:
            raise OverflowError(f"id {highest} does not fit int32")
        input_ids = np.full((len(rows), width), self.pad_id or 0, np.int32)
        first = np.zeros_like(filled) if self.padding_side == "right" else width - filled
        columns = np.arange(width)
        mask = (first[:, None] <= columns) & (columns < (first + filled)[:, None])
        attention_mask = mask.astype(np.int8)
        end_of_text = first + len(self.before) + lengths
        special = [(first + number, token_id) for number, token_id in enumerate(self.before)]
        special += [(end_of_text + number, token_id) for number, token_id in enumerate(self.after)]
        for column, token_id in special:
            input_ids[np.arange(len(rows)), column] = token_id
            mask[np.arange(len(rows)), column] = False
        input_ids[mask] = flat
        return PaddedBatch(input_ids, attention_mask, rows)


def encode_rows(
    tokenizer: TokenizerBase, texts: Iterable[Text], pad_token: str | int | None, options: RowOptions
) -> tuple[Ids, Offsets, Layout]:
    """The ids of texts, their offsets, and the layout that the options ask for.

    What ``add_special_tokens`` adds is a part of that, since it is never cut off.
    """
    unknown = options.keys() - RowOptions.__annotations__.keys()
    if unknown:
        known = ", ".join(sorted(RowOptions.__annotations__))
        raise TypeError(f"no option is called {min(unknown)!r}: there are {known}")
    rows: dict[str, Any] = dict(options)
    around = tokenizer._vocab.around if rows.pop("add_special_tokens", False) else ((), ())
    batch = {name: rows.pop(name) for name in BatchOptions.__annotations__ if name in rows}
    layout = Layout(tokenizer._vocab.pad_id(pad_token), *around, **rows)
    return *tokenizer.encode_batch_to_numpy(texts, **batch), layout


def pad(ids: Ids, offsets: Offsets, layout: Layout, padding: Padding = "longest") -> PaddedBatch:
    """Lay out rows of token ids as a rectangle.

    Args:
        ids: All ids, row after row.
        offsets: Row i is ``ids[offsets[i]:offsets[i + 1]]``.
        layout: How.
        padding: Fill up to the "longest" row, or to "max_length".

    Raises:
        ValueError: Arguments that contradict each other, padding without a ``pad_id``.
        OverflowError: An id of 2^31 or more does not fit int32.

    >>> ids, offsets = np.array([1, 2, 3], np.uint32), np.array([0, 1, 3])
    >>> pad(ids, offsets, Layout(9)).input_ids.tolist()
    [[1, 9], [2, 3]]
    >>> pad(ids, offsets, Layout(9, before=[7], max_length=2, stride=0)).input_ids.tolist()
    [[7, 1], [7, 2], [7, 3]]
    """
    if padding not in ("longest", "max_length"):
        raise ValueError(f'padding is "longest" or "max_length", not {padding!r}')
    most = layout.max_length
    if padding == "max_length" and most is None:
        raise ValueError('padding="max_length" needs max_length=')
    rows, starts, lengths = layout.rows(offsets)
    longest = int((lengths + layout.special).max(initial=0)) if padding == "longest" else most
    return layout.rectangle(ids, rows, starts, lengths, layout.width(longest))


def pad_by_length(ids: Ids, offsets: Offsets, layout: Layout, max_tokens: int) -> Iterator[PaddedBatch]:
    """Yield batches of rows of similar length; rows times width of each is at most ``max_tokens``.

    The shortest rows come first; rows of equal width keep their order. The other arguments are those of :func:`pad`.

    Raises:
        ValueError: One row alone exceeds the budget; the message names it.
    """
    if not isinstance(max_tokens, int):
        raise TypeError(f"max_tokens is an int, not {show(max_tokens)}")
    if max_tokens < 1:
        raise ValueError(f"max_tokens must be at least 1, not {max_tokens}")
    rows, starts, lengths = layout.rows(offsets)
    widths = layout.width(lengths + layout.special)
    if len(widths) and int(widths.max()) > max_tokens:
        worst = int(widths.argmax())
        raise ValueError(
            f"text {int(rows[worst])} has {int(lengths[worst]) + layout.special} tokens, more than "
            f"max_tokens={max_tokens}: cut it with max_length="
        )
    order = np.argsort(widths, kind="stable")
    first = 0
    while first < len(order):
        # Widths ascend, so the last row of a batch sets its width.
        last = first + 1
        while last < len(order) and (last + 1 - first) * max(int(widths[order[last]]), 1) <= max_tokens:
            last += 1
        chosen = order[first:last]
        yield layout.rectangle(ids, rows[chosen], starts[chosen], lengths[chosen], int(widths[chosen[-1]]))
        first = last


def windows(
    lengths: Offsets, size: int | None, truncation_side: Side = "right", stride: int | None = None
) -> tuple[Offsets, Offsets, Offsets]:
    """Cut texts to at most ``size`` tokens each.

    Args:
        lengths: Tokens of each text.
        size: Tokens of a window at most; None cuts nothing.
        truncation_side: Where a text that is too long loses tokens.
        stride: None gives one window a text. A number below ``size`` covers the text with windows that overlap by that
            many tokens, in the order of the text; the one at ``truncation_side`` may be short.

    Returns:
        For each window the index of its text, and its first token and end there: three arrays int64[windows].

    >>> [one.tolist() for one in windows(np.array([2, 5]), 3, stride=1)]
    [[0, 1, 1], [0, 0, 2], [2, 3, 5]]
    """
    texts = np.arange(len(lengths), dtype=np.int64)
    if size is None or stride is None:
        kept = lengths if size is None else np.minimum(lengths, size)
        begins = lengths - kept if truncation_side == "left" else np.zeros_like(kept)
        return texts, begins, begins + kept
    step = size - stride
    counts = np.maximum(-(-(lengths - stride) // step), 1)
    texts = np.repeat(texts, counts)
    number = np.arange(len(texts)) - np.repeat(np.cumsum(counts) - counts, counts)
    if truncation_side == "left":
        ends = lengths[texts] - (counts[texts] - 1 - number) * step
        return texts, np.maximum(ends - size, 0), ends
    begins = number * step
    return texts, begins, np.minimum(begins + size, lengths[texts])
