"""Token ids as Arrow arrays."""
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ..errors import MissingExtraError

if TYPE_CHECKING:
    import pyarrow

__all__ = ["list_array"]


def list_array(
    ids: npt.NDArray[np.uint32], offsets: npt.NDArray[np.int64], large: bool
) -> pyarrow.ListArray | pyarrow.LargeListArray:
    """An Arrow array of lists of uint32, without a copy of the ids.

    Args:
        ids: All ids.
        offsets: List i is ``ids[offsets[i]:offsets[i + 1]]``.
        large: Make a LargeListArray, whose offsets are 64-bit.

    Raises:
        MissingExtraError: pyarrow is not installed.
        OverflowError: There are 2^31 ids or more and ``large`` is false.
    """
    try:
        import pyarrow
    except ImportError:
        raise MissingExtraError("encode_to_arrow", "pyarrow", "arrow") from None
    values = pyarrow.array(ids)
    if large:
        return pyarrow.LargeListArray.from_arrays(pyarrow.array(offsets), values)
    if len(ids) > 0x7FFFFFFF:
        raise OverflowError(f"{len(ids)} ids are too many for a ListArray: use large=True or fewer texts at a time")
    return pyarrow.ListArray.from_arrays(pyarrow.array(offsets.astype("int32")), values)
