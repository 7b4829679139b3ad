"""Rows of token ids -> a rectangle with its mask; rows of similar length -> batches within a token budget.

Rows come as one flat array with offsets. NumPy moves them, never one id at a time.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from ..core._tokenizer_base import TokenizerBase
from ..errors import check_integer
from .call_options import Padding, RowOptions, Side, Text

if TYPE_CHECKING:
    from typing_extensions import Unpack

Integers: TypeAlias = npt.NDArray[np.int64]
Width = TypeVar("Width", int, Integers)


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


class Rows:
    """The rows of texts, before padding; for the options see :meth:`bpetite.Tokenizer.encode_padded`."""

    def __init__(
        self, tokenizer: TokenizerBase, texts: Iterable[Text], pad_token: str | int | None, options: RowOptions
    ) -> None:
        if unknown := options.keys() - RowOptions.__annotations__.keys():
            known = ", ".join(sorted(RowOptions.__annotations__))
            raise TypeError(f"no option is called {min(unknown)!r}: there are {known}")
        given: dict[str, Any] = dict(options)
        with_special = given.pop("add_special_tokens", False)
        self.around: tuple[Sequence[int], Sequence[int]] = tokenizer._vocab.around if with_special else ((), ())
        self.special: int = sum(map(len, self.around))
        self.pad_id: int | None = tokenizer._vocab.pad_id(pad_token)
        self.multiple: int = check_integer("pad_to_multiple_of", given.pop("pad_to_multiple_of", 1), 1)
        self.max_length: int | None = given.pop("max_length", None)
        self.stride: int | None = given.pop("stride", None)
        self.room: int | None = None  # for tokens of the text
        self.padding_side: Side = given.pop("padding_side", "right")
        self.truncation_side: Side = given.pop("truncation_side", "right")
        for name, side in (("padding_side", self.padding_side), ("truncation_side", self.truncation_side)):
            if side not in ("left", "right"):
                raise ValueError(f'{name} is "left" or "right", not {side!r}')
        if self.max_length is not None:
            self.max_length = check_integer("max_length", self.max_length, 1)
            self.room = self.max_length - self.special
            if self.room < 1:
                raise ValueError(
                    f"max_length {self.max_length} leaves no room for text beside {self.special} special tokens"
                )
        if self.stride is not None:
            self.stride = check_integer("stride", self.stride, 0)
            if self.room is None or self.stride >= self.room:
                less = f" less {self.special} special tokens" if self.special else ""
                raise ValueError(f"stride must be less than max_length={self.max_length}{less}, not {self.stride}")
        #: Gives the ids of all texts, and their offsets; called once everything has been checked.
        self.encode: Callable[[], tuple[npt.NDArray[np.uint32], Integers]] = partial(
            tokenizer.encode_batch_to_numpy, texts, **given
        )

    def padded(self, padding: Padding) -> PaddedBatch:
        """All rows as one rectangle."""
        if padding not in ("longest", "max_length"):
            raise ValueError(f'padding is "longest" or "max_length", not {padding!r}')
        if padding == "max_length" and self.max_length is None:
            raise ValueError('padding="max_length" needs max_length=')
        ids, texts, starts, lengths = self._cut()
        width = self.max_length if padding == "max_length" else None
        if width is None:
            width = int((lengths + self.special).max(initial=0))
        return self._rectangle(ids, texts, starts, lengths, self._rounded_up(width))

    def batches(self, max_tokens: int) -> Iterator[PaddedBatch]:
        """Rectangles of at most so many tokens, as :func:`padded_batches` gives them."""
        ids, texts, starts, lengths = self._cut()
        widths = self._rounded_up(lengths + self.special)
        if len(widths) and int(widths.max()) > max_tokens:
            worst = int(widths.argmax())
            raise ValueError(f"text {int(texts[worst])} has {int(lengths[worst]) + self.special} tokens, more than "
                             f"max_tokens={max_tokens}: cut it with max_length=")  # fmt: skip
        order = np.argsort(widths, kind="stable")  # rows of equal width keep their order
        first = 0
        for last in range(1, len(order) + 1):
            # Widths ascend, so the last row of a batch sets its width.
            if last == len(order) or (last + 1 - first) * max(int(widths[order[last]]), 1) > max_tokens:
                rows = order[first:last]
                yield self._rectangle(ids, texts[rows], starts[rows], lengths[rows], int(widths[rows[-1]]))
                first = last

    def _cut(self) -> tuple[npt.NDArray[np.uint32], Integers, Integers, Integers]:
        """All ids; for each row the index of its text, its first token among the ids, and its number of tokens."""
        ids, offsets = self.encode()
        size, stride = self.room, self.stride
        lengths = np.diff(offsets)
        texts = np.arange(len(lengths), dtype=np.int64)
        if size is None or stride is None:
            kept = lengths if size is None else np.minimum(lengths, size)
            return ids, texts, offsets[1:] - kept if self.truncation_side == "left" else offsets[:-1], kept
        step = size - stride
        counts = np.maximum(-(-(lengths - stride) // step), 1)
        texts = np.repeat(texts, counts)
        number = np.arange(len(texts)) - np.repeat(np.cumsum(counts) - counts, counts)
        if self.truncation_side == "left":
            ends = lengths[texts] - (counts[texts] - 1 - number) * step
            begins = np.maximum(ends - size, 0)
        else:
            begins = number * step
            ends = np.minimum(begins + size, lengths[texts])
        return ids, texts, offsets[texts] + begins, ends - begins

    def _rounded_up(self, width: Width) -> Width:
        return -(-width // self.multiple) * self.multiple

    def _rectangle(
        self, ids: npt.NDArray[np.uint32], texts: Integers, starts: Integers, lengths: Integers, width: int
    ) -> PaddedBatch:
        (before, after), pad_id = self.around, self.pad_id
        filled = lengths + len(before) + len(after)
        if pad_id is None and int(filled.min(initial=width)) < width:
            raise ValueError("rows of different length need a pad_token=")
        offset_in_flat = np.cumsum(lengths) - lengths
        flat = ids[np.repeat(starts - offset_in_flat, lengths) + np.arange(int(lengths.sum()))]
        highest = max(int(flat.max(initial=0)), pad_id or 0, *before, *after)
        if highest > 0x7FFFFFFF:
            raise OverflowError(f"id {highest} does not fit int32")
        input_ids = np.full((len(texts), width), pad_id or 0, np.int32)
        columns = np.arange(width)
        if self.padding_side == "right":
            first = np.zeros_like(filled)
            mask = columns < filled[:, None]
        else:
            first = width - filled
            mask = columns >= first[:, None]
        end_of_text = first + len(before) + lengths
        special = [(first + number, token_id) for number, token_id in enumerate(before)]
        special += [(end_of_text + number, token_id) for number, token_id in enumerate(after)]
        attention_mask = mask.astype(np.int8)
        for column, token_id in special:
            input_ids[np.arange(len(texts)), column] = token_id
            mask[np.arange(len(texts)), column] = False
        input_ids[mask] = flat
        return PaddedBatch(input_ids, attention_mask, texts)


def padded_batches(
    tokenizer: TokenizerBase,
    texts: Iterable[Text],
    *,
    max_tokens: int,
    pad_token: str | int | None = None,
    **options: Unpack[RowOptions],
) -> Iterator[PaddedBatch]:
    """Yield rectangles of texts of similar length, each of at most ``max_tokens`` tokens, padding included.

    All texts are encoded first; the shortest ones come first. ``rows`` of a batch has the numbers of its texts.

    Args:
        texts: The texts.
        max_tokens: Rows times width of a batch, at most.
        pad_token: As for :meth:`bpetite.Tokenizer.encode_padded`, and so are ``options``.

    Raises:
        ValueError: A text alone has more than ``max_tokens`` tokens; the message names it.

    >>> from bpetite import Tokenizer, serving
    >>> tok = Tokenizer.train("ab ab ab", 258)
    >>> [batch.rows.tolist() for batch in serving.padded_batches(tok, ["ab ab", "ab", " ab"], max_tokens=3)]
    [[1, 2], [0]]
    """
    rows = Rows(tokenizer, texts, pad_token, options)
    return rows.batches(check_integer("max_tokens", max_tokens, 1))
