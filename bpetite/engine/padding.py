"""Rows of token ids -> a rectangle with its mask; rows of similar length -> batches within a token budget.

Rows come as one flat array with offsets. NumPy moves them, never one id at a time.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from ..core._tokenizer_base import TokenizerBase
from ..errors import check_integer, short_repr
from .options import BatchOptions, Padding, RowOptions, Side, Text

__all__ = ["PaddedBatch", "Rows", "windows"]

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
    """The rows of texts, before padding.

    Args:
        tokenizer: Encodes the texts.
        texts: The texts.
        pad_token: As for :meth:`bpetite.Tokenizer.encode_padded`, and so are the options.
        options: Tokens of ``add_special_tokens`` count in ``max_length`` and are never cut off.
    """

    def __init__(
        self, tokenizer: TokenizerBase, texts: Iterable[Text], pad_token: str | int | None, options: RowOptions
    ) -> None:
        unknown = options.keys() - RowOptions.__annotations__.keys()
        if unknown:
            known = ", ".join(sorted(RowOptions.__annotations__))
            raise TypeError(f"no option is called {min(unknown)!r}: there are {known}")
        given: dict[str, Any] = dict(options)
        batch = BatchOptions()
        for name in ("num_threads", "allowed_special", "disallowed_special", "dropout", "seed"):
            if name in given:
                batch[name] = given.pop(name)
        vocab = tokenizer._vocab
        self.before: Sequence[int] = ()
        self.after: Sequence[int] = ()
        if given.pop("add_special_tokens", False):
            self.before, self.after = vocab.around
        self.special: int = len(self.before) + len(self.after)
        self.pad_id: int | None = vocab.pad_id(pad_token)
        self.options: dict[str, Any] = {
            "max_length": None, "padding_side": "right", "truncation_side": "right", "stride": None,
            "pad_to_multiple_of": 1, **given,
        }  # fmt: skip
        _check(special=self.special, **self.options)
        #: Gives the ids of all texts, and their offsets; called once everything has been checked.
        self.encode: Callable[[], tuple[npt.NDArray[np.uint32], Integers]] = partial(
            tokenizer.encode_batch_to_numpy, texts, **batch
        )

    def padded(self, padding: Padding) -> PaddedBatch:
        """All rows as one rectangle."""
        max_length = self.options["max_length"]
        if padding not in ("longest", "max_length"):
            raise ValueError(f'padding is "longest" or "max_length", not {padding!r}')
        if padding == "max_length" and max_length is None:
            raise ValueError('padding="max_length" needs max_length=')
        ids, texts, starts, lengths = self._cut()
        width = max_length if padding == "max_length" else int((lengths + self.special).max(initial=0))
        return self._rectangle(ids, texts, starts, lengths, self._rounded_up(width))

    def batches(self, max_tokens: int) -> Iterator[PaddedBatch]:
        """Rectangles of rows of similar length, as :func:`bpetite.serving.padded_batches` does. The shortest
        rows come first; rows of equal width keep their order."""
        max_tokens = check_integer("max_tokens", max_tokens, 1)
        ids, texts, starts, lengths = self._cut()
        widths = self._rounded_up(lengths + self.special)
        if len(widths) and int(widths.max()) > max_tokens:
            worst = int(widths.argmax())
            raise ValueError(f"text {int(texts[worst])} has {int(lengths[worst]) + self.special} tokens, more than "
                             f"max_tokens={max_tokens}: cut it with max_length=")  # fmt: skip
        order = np.argsort(widths, kind="stable")

        def rectangles() -> Iterator[PaddedBatch]:
            first = 0
            while first < len(order):
                # Widths ascend, so the last row of a batch sets its width.
                last = first + 1
                while last < len(order) and (last + 1 - first) * max(int(widths[order[last]]), 1) <= max_tokens:
                    last += 1
                rows = order[first:last]
                yield self._rectangle(ids, texts[rows], starts[rows], lengths[rows], int(widths[rows[-1]]))
                first = last

        return rectangles()

    def _cut(self) -> tuple[npt.NDArray[np.uint32], Integers, Integers, Integers]:
        """All ids; for each row the index of its text, its first token among the ids, and its number of tokens."""
        options = self.options
        ids, offsets = self.encode()
        room = None if options["max_length"] is None else options["max_length"] - self.special
        texts, begins, ends = windows(np.diff(offsets), room, options["truncation_side"], options["stride"])
        return ids, texts, offsets[texts] + begins, ends - begins

    def _rounded_up(self, width: Width) -> Width:
        multiple: int = self.options["pad_to_multiple_of"]
        return -(-width // multiple) * multiple

    def _rectangle(
        self, ids: npt.NDArray[np.uint32], texts: Integers, starts: Integers, lengths: Integers, width: int
    ) -> PaddedBatch:
        """Rows with the special tokens around them, filled up to a width."""
        before, after, pad_id = self.before, self.after, self.pad_id
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
        if self.options["padding_side"] == "right":
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


def windows(
    lengths: Integers, size: int | None, truncation_side: Side = "right", stride: int | None = None
) -> tuple[Integers, Integers, Integers]:
    """Cut texts to at most ``size`` tokens each.

    Args:
        lengths: Tokens of each text.
        size: Tokens of a window at most; None cuts nothing.
        truncation_side: The side on which a text that is too long loses tokens.
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


def _check(
    special: int,
    max_length: int | None,
    padding_side: str,
    truncation_side: str,
    stride: int | None,
    pad_to_multiple_of: int,
) -> None:
    for name, number in (("max_length", max_length), ("stride", stride), ("pad_to_multiple_of", pad_to_multiple_of)):
        if not isinstance(number, int) and (number is not None or name == "pad_to_multiple_of"):
            raise TypeError(f"{name} is an int, not {short_repr(number)}")
    if max_length is not None and max_length < 1:
        raise ValueError(f"max_length must be at least 1, not {max_length}")
    if max_length is not None and max_length <= special:
        raise ValueError(f"max_length {max_length} leaves no room for text beside {special} special tokens")
    for name, side in (("padding_side", padding_side), ("truncation_side", truncation_side)):
        if side not in ("left", "right"):
            raise ValueError(f'{name} is "left" or "right", not {side!r}')
    if pad_to_multiple_of < 1:
        raise ValueError(f"pad_to_multiple_of must be at least 1, not {pad_to_multiple_of}")
    if stride is not None and (max_length is None or not 0 <= stride < max_length - special):
        beside = f" less {special} special tokens" if special else ""
        raise ValueError(f"stride must be at least 0 and less than max_length={max_length}{beside}, not {stride}")
