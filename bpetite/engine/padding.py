"""Rows of token ids -> a rectangle and its mask; rows of like length -> batches within a token budget.

Rows come as one flat array with offsets and are moved by NumPy, never id by id.
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = ["PaddedBatch", "Padding", "Side", "pad", "pad_by_length", "surround"]

Side: TypeAlias = Literal["left", "right"]
Padding: TypeAlias = Literal["longest", "max_length"]
Ids: TypeAlias = npt.NDArray[np.uint32]
Offsets: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class PaddedBatch:
    """A rectangle of token ids. Unpacks into its two arrays: ``input_ids, attention_mask = batch``.

    Attributes:
        input_ids: int32[rows, width].
        attention_mask: int8[rows, width]: 1 for a token of the text, 0 for padding.
        rows: int64[rows]: which text each row is of.
    """

    input_ids: npt.NDArray[np.int32]
    attention_mask: npt.NDArray[np.int8]
    rows: npt.NDArray[np.int64]

    def __iter__(self) -> Iterator[npt.NDArray[np.int32] | npt.NDArray[np.int8]]:
        return iter((self.input_ids, self.attention_mask))


def pad(
    ids: Ids,
    offsets: Offsets,
    *,
    pad_id: int | None,
    max_length: int | None = None,
    padding: Padding = "longest",
    side: Side = "right",
    truncation_side: Side = "right",
    stride: int | None = None,
    multiple_of: int = 1,
) -> PaddedBatch:
    """Rows of token ids as a rectangle.

    Args:
        ids: All ids, row after row.
        offsets: Row i is ``ids[offsets[i]:offsets[i + 1]]``.
        pad_id: What fills up a row; None is an error where a row needs it.
        max_length: Tokens a row keeps at most.
        padding: Fill up to the "longest" row, or to "max_length".
        side: Where padding goes.
        truncation_side: Where a row that is too long loses tokens.
        stride: None drops what is too long. A number keeps it in further rows of ``max_length`` tokens, each of which
            begins with the last ``stride`` tokens of the row before.
        multiple_of: The width is rounded up to a multiple of this.

    Raises:
        ValueError: Arguments that contradict each other, padding without ``pad_id``.
        OverflowError: An id of 2^31 or more does not fit int32.

    >>> pad(np.array([1, 2, 3], np.uint32), np.array([0, 1, 3]), pad_id=9).input_ids.tolist()
    [[1, 9], [2, 3]]
    """
    _check(max_length, padding, side, truncation_side, stride, multiple_of)
    starts, lengths, rows = _windows(offsets, max_length, truncation_side, stride)
    highest = max(int(ids.max(initial=0)), pad_id or 0)
    if highest > 0x7FFFFFFF:
        raise OverflowError(f"id {highest} does not fit int32")
    width = int(lengths.max(initial=0))
    if padding == "max_length" and max_length is not None:
        width = max_length
    width = -(-width // multiple_of) * multiple_of
    if pad_id is None and len(lengths) and int(lengths.min()) < width:
        raise ValueError("rows of different length need a pad_token=")
    input_ids = np.full((len(rows), width), pad_id or 0, np.int32)
    columns = np.arange(width)
    inside = columns < lengths[:, None] if side == "right" else columns >= width - lengths[:, None]
    before = np.cumsum(lengths) - lengths
    input_ids[inside] = ids[np.repeat(starts - before, lengths) + np.arange(int(lengths.sum()))]
    return PaddedBatch(input_ids, inside.astype(np.int8), rows)


def pad_by_length(
    ids: Ids,
    offsets: Offsets,
    *,
    max_tokens: int,
    pad_id: int | None,
    max_length: int | None = None,
    side: Side = "right",
    truncation_side: Side = "right",
    stride: int | None = None,
    multiple_of: int = 1,
) -> Iterator[PaddedBatch]:
    """Batches of rows of like length, rows times width of each at most ``max_tokens``.

    Shortest rows first; rows of one length keep their order. The other arguments are those of :func:`pad`.

    Raises:
        ValueError: A row alone is over the budget; the message names it.
    """
    if max_tokens < 1:
        raise ValueError(f"max_tokens must be at least 1, not {max_tokens}")
    _check(max_length, "longest", side, truncation_side, stride, multiple_of)
    starts, lengths, rows = _windows(offsets, max_length, truncation_side, stride)
    widths = -(-lengths // multiple_of) * multiple_of
    if len(widths) and int(widths.max()) > max_tokens:
        worst = int(widths.argmax())
        raise ValueError(
            f"text {int(rows[worst])} has {int(lengths[worst])} tokens, more than max_tokens={max_tokens}: "
            f"give max_length= to cut it"
        )
    order = np.argsort(widths, kind="stable")
    first = 0
    while first < len(order):
        # Widths ascend, so the last row of a batch decides how wide it is.
        last = first + 1
        while last < len(order) and (last + 1 - first) * max(int(widths[order[last]]), 1) <= max_tokens:
            last += 1
        chosen = order[first:last]
        counts = lengths[chosen]
        ends = np.cumsum(counts)
        flat = ids[np.repeat(starts[chosen] - (ends - counts), counts) + np.arange(int(counts.sum()))]
        batch = pad(flat, np.concatenate(([0], ends)), pad_id=pad_id, side=side, multiple_of=multiple_of)
        yield PaddedBatch(batch.input_ids, batch.attention_mask, rows[chosen])
        first = last


def surround(
    ids: Ids,
    offsets: Offsets,
    before: Sequence[int],
    behind: Sequence[int],
    *,
    max_length: int | None = None,
    truncation_side: Side = "right",
    stride: int | None = None,
) -> tuple[Ids, Offsets, Offsets]:
    """Rows cut so that they fit with further ids around them, and those ids around them.

    Args:
        ids: All ids, row after row.
        offsets: Row i is ``ids[offsets[i]:offsets[i + 1]]``.
        before: Ids to put in front of each row.
        behind: Ids to put behind each row.
        max_length: As for :func:`pad`, and so are ``truncation_side`` and ``stride``; what is put around counts.

    Returns:
        The new ids and offsets, and which row given each new row is of.

    >>> surround(np.array([1, 2, 3], np.uint32), np.array([0, 1, 3]), [8], [9], max_length=3)[0].tolist()
    [8, 1, 9, 8, 2, 9]
    """
    around = len(before) + len(behind)
    if max_length is not None and max_length <= around:
        raise ValueError(f"max_length {max_length} leaves no room for text beside {around} special tokens")
    room = None if max_length is None else max_length - around
    starts, lengths, rows = _windows(offsets, room, truncation_side, stride)
    ends = np.cumsum(lengths + around)
    made = np.empty(int(ends[-1]) if len(ends) else 0, np.uint32)
    firsts = ends - lengths - around
    for place, token_id in enumerate(before):
        made[firsts + place] = token_id
    for place, token_id in enumerate(behind):
        made[ends - len(behind) + place] = token_id
    flat = np.arange(int(lengths.sum())) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    made[np.repeat(firsts + len(before), lengths) + flat] = ids[np.repeat(starts, lengths) + flat]
    return made, np.concatenate(([0], ends)), rows


def _windows(
    offsets: Offsets, max_length: int | None, truncation_side: Side, stride: int | None
) -> tuple[Offsets, Offsets, Offsets]:
    """First id, number of ids and text of each row."""
    starts, lengths = offsets[:-1].astype(np.int64), np.diff(offsets).astype(np.int64)
    rows = np.arange(len(lengths), dtype=np.int64)
    if max_length is None:
        return starts, lengths, rows
    if stride is None:
        kept = np.minimum(lengths, max_length)
        return starts + (lengths - kept if truncation_side == "left" else 0), kept, rows
    step = max_length - stride
    windows = np.maximum(-(-(lengths - stride) // step), 1)
    rows = np.repeat(rows, windows)
    number = np.arange(len(rows)) - np.repeat(np.cumsum(windows) - windows, windows)
    if truncation_side == "left":  # whole windows at the end of the text, what is left over in the first row
        ends = np.maximum(lengths[rows] - (windows[rows] - 1 - number) * step, 0)
        begins = np.maximum(ends - max_length, 0)
    else:
        begins = number * step
        ends = np.minimum(begins + max_length, lengths[rows])
    return starts[rows] + begins, ends - begins, rows


def _check(
    max_length: int | None, padding: str, side: str, truncation_side: str, stride: int | None, multiple_of: int
) -> None:
    if max_length is not None and max_length < 1:
        raise ValueError(f"max_length must be at least 1, not {max_length}")
    if padding not in ("longest", "max_length"):
        raise ValueError(f'padding is "longest" or "max_length", not {padding!r}')
    if padding == "max_length" and max_length is None:
        raise ValueError('padding="max_length" needs max_length=')
    if side not in ("left", "right") or truncation_side not in ("left", "right"):
        raise ValueError(f'side and truncation_side are "left" or "right", not {side!r} and {truncation_side!r}')
    if multiple_of < 1:
        raise ValueError(f"multiple_of must be at least 1, not {multiple_of}")
    if stride is not None and (max_length is None or not 0 <= stride < max_length):
        raise ValueError(f"stride must be at least 0 and less than max_length={max_length}, not {stride}")
