"""Texts as rectangles of token ids: the methods, which wait for NumPy and padding.py until they are called."""
from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..core._tokenizer_base import TokenizerBase
    from .options import Padding, RowOptions, Text
    from .padding import PaddedBatch

__all__ = ["encode_padded", "padded_batches"]


def encode_padded(
    tokenizer: TokenizerBase,
    texts: Iterable[Text],
    *,
    padding: Padding = "longest",
    pad_token: str | int | None = None,
    **options: Unpack[RowOptions],
) -> PaddedBatch:
    """Token ids of many texts as a rectangle with its attention mask.

    Args:
        texts: The texts.
        padding: Fill up to the "longest" row, or to "max_length".
        pad_token: A special token or an id; :attr:`eot_token` when None.
        options: Those of :meth:`encode_batch`, and ``max_length``, ``padding_side``, ``truncation_side``,
            ``stride`` and ``pad_to_multiple_of``, see :class:`bpetite.engine.options.RowOptions`. What
            ``add_special_tokens`` adds counts in ``max_length`` and is never cut off.

    Returns:
        ``input_ids`` int32[rows, width], ``attention_mask`` int8[rows, width] (it unpacks into these two) and
        ``rows`` int64[rows], the index of the text that each row comes from.

    Raises:
        ValueError: Arguments that contradict each other, no token to pad with.

    >>> tok = Tokenizer.train("ab ab ab", 258)
    >>> input_ids, attention_mask = tok.encode_padded(["ab", "ab ab"])
    >>> input_ids.tolist(), attention_mask.tolist()
    ([[256, 258], [256, 257]], [[1, 0], [1, 1]])
    """
    from .padding import encode_rows, pad

    return pad(*encode_rows(tokenizer, texts, pad_token, options), padding)


def padded_batches(
    tokenizer: TokenizerBase,
    texts: Iterable[Text],
    *,
    max_tokens: int,
    pad_token: str | int | None = None,
    **options: Unpack[RowOptions],
) -> Iterator[PaddedBatch]:
    """Yield rectangles of texts of similar length, each of at most ``max_tokens`` tokens, padding included.

    All texts are encoded first; then come the shortest ones. ``rows`` of each batch says which texts are in it.

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
    from .padding import encode_rows, pad_by_length

    return pad_by_length(*encode_rows(tokenizer, texts, pad_token, options), max_tokens)
