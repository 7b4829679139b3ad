"""Token ids as Arrow arrays."""
from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..errors import MissingExtraError
from ._surface import Surface
from .options import BatchOptions, Text

if TYPE_CHECKING:
    import pyarrow

__all__ = ["encode_to_arrow"]


def encode_to_arrow(
    tokenizer: Surface, texts: Iterable[Text], large: bool, options: BatchOptions
) -> pyarrow.ListArray | pyarrow.LargeListArray:
    """The ids of texts as an array of lists of uint32; see :meth:`bpetite.Tokenizer.encode_to_arrow`."""
    try:
        import pyarrow
    except ImportError:
        raise MissingExtraError("encode_to_arrow", "pyarrow", "arrow") from None
    ids, offsets = tokenizer.encode_batch_to_numpy(texts, **options)
    values = pyarrow.array(ids)
    if large:
        return pyarrow.LargeListArray.from_arrays(pyarrow.array(offsets), values)
    if len(ids) > 0x7FFFFFFF:
        raise OverflowError(f"{len(ids)} ids are too many for a ListArray: use large=True or fewer texts at a time")
    return pyarrow.ListArray.from_arrays(pyarrow.array(offsets.astype("int32")), values)
