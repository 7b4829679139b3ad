"""Token ids of many texts as an Arrow array."""
from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..errors import importing

if TYPE_CHECKING:
    import pyarrow
    from typing_extensions import Unpack

    from ..core._tokenizer_base import TokenizerBase
    from .call_options import BatchOptions, Text


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

    >>> from bpetite import Tokenizer
    >>> tok = Tokenizer.train("ab ab ab", 258)
    >>> tok.encode_batch_to_arrow(["ab", "ab ab"]).to_pylist()
    [[256], [256, 257]]
    """
    with importing("encode_batch_to_arrow", "pyarrow", "arrow"):
        import pyarrow
    ids, offsets = self.encode_batch_to_numpy(texts, **options)
    values = pyarrow.array(ids)
    if large:
        return pyarrow.LargeListArray.from_arrays(pyarrow.array(offsets), values)
    if len(ids) > 0x7FFFFFFF:
        raise OverflowError(f"{len(ids)} ids are too many for a ListArray: use large=True or fewer texts at a time")
    return pyarrow.ListArray.from_arrays(pyarrow.array(offsets.astype("int32")), values)
