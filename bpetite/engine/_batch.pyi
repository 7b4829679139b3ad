from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from ._encode import Specials, Text
from ._long import LongEncoder

class BatchEncoder(LongEncoder):
    def encode_batch(
        self,
        texts: Iterable[Text],
        *,
        num_threads: int | None = ...,
        allowed_special: Specials = ...,
        disallowed_special: Specials = ...,
        add_special_tokens: bool = ...,
    ) -> list[list[int]]: ...
    def encode_batch_to_numpy(
        self,
        texts: Iterable[Text],
        *,
        num_threads: int | None = ...,
        allowed_special: Specials = ...,
        disallowed_special: Specials = ...,
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64]]: ...
