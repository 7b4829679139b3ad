"""Methods of the tokenizer, and a function for servers, that import their modules when they are called."""
from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING

from ..errors import MissingExtraError

if TYPE_CHECKING:
    import pyarrow
    from typing_extensions import Unpack

    from ..core._tokenizer_base import TokenizerBase
    from .options import BatchOptions, Padding, RowOptions, SpecialSelection, Text
    from .padding import PaddedBatch

__all__ = ["encode_batch_to_arrow", "encode_iterable", "encode_padded", "encode_with_offsets", "padded_batches"]


def encode_with_offsets(
    self: TokenizerBase,
    text: Text,
    *,
    allowed_special: SpecialSelection = "all",
    disallowed_special: SpecialSelection = (),
    num_threads: int | None = 1,
) -> tuple[list[int], list[tuple[int, int]]]:
    """Token ids, and the characters of the text that each token covers; so no token can be added.

    Args:
        text: As for :meth:`encode`, and so are the other arguments.

    Returns:
        The ids, and for each of them (start, end) in characters of the text. Spans ascend; a token that holds a part
        of a character has the whole character in its span, so neighbours may overlap. Inserted and rewritten text has
        the span that ``tokenizers`` gives it: a composed character has that of its first part.

    >>> tok = Tokenizer.train("ab ab ab", 258)
    >>> tok.encode_with_offsets("ab ab")
    ([256, 257], [(0, 2), (2, 5)])
    """
    from .offsets import offsets_of

    ids = self.encode(
        text, allowed_special=allowed_special, disallowed_special=disallowed_special, num_threads=num_threads
    )
    return ids, offsets_of(self, text, ids, allowed_special)


def encode_iterable(
    self: TokenizerBase,
    chunks: Iterable[Text],
    *,
    allowed_special: SpecialSelection = "all",
    disallowed_special: SpecialSelection = (),
    add_special_tokens: bool = False,
) -> Iterator[int]:
    """Yield the token ids of a text that arrives in chunks, cut anywhere: exactly the ids of :meth:`encode` for the
    joined chunks, each soon after it is certain, on this thread. At most twice the open pre-token is held, see
    :mod:`bpetite.engine.streaming`.

    Args:
        chunks: ``str``, or ``bytes`` in UTF-8 that may be cut inside a character; an open text file, for one.
        allowed_special: As for :meth:`encode`, and so are the remaining arguments and the errors.

    >>> tok = Tokenizer.train("ab ab ab", 258)
    >>> list(tok.encode_iterable(["a", "b<|endof", "text|> a", "b"]))
    [256, 258, 257]
    """
    from . import streaming

    before, after = self._vocab.around if add_special_tokens else ((), ())
    return chain(before, streaming.encode_iterable(self, chunks, allowed_special, disallowed_special), after)


def encode_batch_to_arrow(
    self: TokenizerBase, texts: Iterable[Text], *, large: bool = False, **options: Unpack[BatchOptions]
) -> pyarrow.ListArray | pyarrow.LargeListArray:
    """Token ids of many texts as an Arrow array of lists of uint32, without a copy of the ids.

    Args:
        texts: The texts.
        large: Make a ``pyarrow.LargeListArray``, whose offsets are 64-bit, instead of a ``pyarrow.ListArray``.
        options: As for :meth:`encode_batch`.

    Raises:
        MissingExtraError: pyarrow is not installed.
        OverflowError: There are 2^31 ids or more and ``large`` is false.

    >>> tok = Tokenizer.train("ab ab ab", 258)
    >>> tok.encode_batch_to_arrow(["ab", "ab ab"]).to_pylist()
    [[256], [256, 257]]
    """
    try:
        import pyarrow
    except ImportError:
        raise MissingExtraError("encode_batch_to_arrow", "pyarrow", "arrow") from None
    ids, offsets = self.encode_batch_to_numpy(texts, **options)
    values = pyarrow.array(ids)
    if large:
        return pyarrow.LargeListArray.from_arrays(pyarrow.array(offsets), values)
    if len(ids) > 0x7FFFFFFF:
        raise OverflowError(f"{len(ids)} ids are too many for a ListArray: use large=True or fewer texts at a time")
    return pyarrow.ListArray.from_arrays(pyarrow.array(offsets.astype("int32")), values)


def encode_padded(
    self: TokenizerBase,
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
        options: The options of :meth:`encode_batch`, and ``max_length``, ``padding_side``, ``truncation_side``,
            ``stride`` and ``pad_to_multiple_of``, see :class:`bpetite.engine.options.RowOptions`. Tokens of
            ``add_special_tokens`` count in ``max_length`` and are never cut off.

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
    from .padding import Rows

    return Rows(self, texts, pad_token, options).padded(padding)


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
    from .padding import Rows

    return Rows(tokenizer, texts, pad_token, options).batches(max_tokens)
