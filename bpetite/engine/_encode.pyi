from array import array
from collections.abc import Callable, Collection, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .._merge import MergeTable
from ..vocabulary._tokens import TokenTable
from ._decode import Decoder

Text: TypeAlias = str | bytes
Specials: TypeAlias = Literal["all"] | Collection[str]

class Encoder(Decoder):
    def __init__(
        self,
        tokens: dict[int, bytes] | TokenTable,
        merges: Sequence[tuple[int, int]] | MergeTable | None,
        special_tokens: dict[str, int],
        pretokenizer: Any,
        *,
        ignore_merges: bool = ...,
        normalize: Callable[[str], str] | None = ...,
        pipeline: Any = ...,
        template: Any = ...,
        errors: str = ...,
        cache_bytes: int = ...,
    ) -> None: ...
    def encode(
        self,
        text: Text,
        *,
        allowed_special: Specials = ...,
        disallowed_special: Specials = ...,
        num_threads: int | None = ...,
        add_special_tokens: bool = ...,
    ) -> list[int]: ...
    def encode_ordinary(self, text: Text, *, num_threads: int | None = ...) -> list[int]: ...
    def encode_to_numpy(
        self,
        text: Text,
        *,
        allowed_special: Specials = ...,
        disallowed_special: Specials = ...,
        num_threads: int | None = ...,
    ) -> NDArray[np.uint32]: ...
    def encode_pieces(self, data: bytes, ends: array[int]) -> list[int]: ...
    def count(
        self,
        text: Text,
        *,
        allowed_special: Specials = ...,
        disallowed_special: Specials = ...,
        num_threads: int | None = ...,
    ) -> int: ...
    def _special_spans(
        self, text: str, allowed_special: Specials, disallowed_special: Specials
    ) -> list[tuple[int, int]]: ...

def thread_count(num_threads: int | None) -> int: ...
