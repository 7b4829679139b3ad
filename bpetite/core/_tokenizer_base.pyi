from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, SupportsIndex, TypeAlias

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Buffer, TypeVar, disjoint_base

from .._merge import Dropout
from ..engine.call_options import Ids, SpecialSelection, Text
from ..engine.pipeline import Pipeline
from ..errors import UnknownTokenError
from ..splitting.pretokenizer import Pretokenizer
from ..steps._rewriting import Rewriter
from ..vocabulary.vocab import ErrorHandler, Vocab
from ._special import Specials

_Id = TypeVar("_Id", np.uint16, np.int32, np.uint32, default=np.uint32)
_IdType: TypeAlias = type[_Id] | np.dtype[_Id] | Literal["uint32"]

@disjoint_base
class TokenizerBase:
    @property
    def _vocab(self) -> Vocab: ...
    @property
    def _pretokenizer(self) -> Pretokenizer: ...
    @property
    def _cut_in_python(self) -> bool: ...
    @property
    def _pipeline(self) -> Pipeline | None: ...
    def _set_up(
        self,
        vocab: Vocab,
        cache_bytes: int,
        pretokenizer: Pretokenizer,
        rewriter: Rewriter | None = None,
        pipeline: Pipeline | None = None,
    ) -> None: ...
    def encode(
        self,
        text: Text,
        *,
        allowed_special: SpecialSelection = "all",
        disallowed_special: SpecialSelection = (),
        num_threads: int | None = 1,
        add_special_tokens: bool = False,
        dropout: float | bool | None = None,
        seed: SupportsIndex | None = None,
    ) -> list[int]: ...
    def encode_ordinary(self, text: Text, *, num_threads: int | None = 1) -> list[int]: ...
    def encode_to_numpy(
        self,
        text: Text,
        *,
        dtype: _IdType[_Id] = ...,
        allowed_special: SpecialSelection = "all",
        disallowed_special: SpecialSelection = (),
        num_threads: int | None = 1,
        add_special_tokens: bool = False,
        dropout: float | bool | None = None,
        seed: SupportsIndex | None = None,
    ) -> NDArray[_Id]: ...
    def count(
        self,
        text: Text,
        *,
        limit: SupportsIndex | None = None,
        allowed_special: SpecialSelection = "all",
        disallowed_special: SpecialSelection = (),
        num_threads: int | None = 1,
        add_special_tokens: bool = False,
    ) -> int: ...
    def count_batch(
        self,
        texts: Iterable[Text],
        *,
        num_threads: int | None = None,
        allowed_special: SpecialSelection = "all",
        disallowed_special: SpecialSelection = (),
        add_special_tokens: bool = False,
        dropout: float | bool | None = None,
        seed: SupportsIndex | None = None,
    ) -> NDArray[np.int64]: ...
    def encode_batch(
        self,
        texts: Iterable[Text],
        *,
        num_threads: int | None = None,
        allowed_special: SpecialSelection = "all",
        disallowed_special: SpecialSelection = (),
        add_special_tokens: bool = False,
        dropout: float | bool | None = None,
        seed: SupportsIndex | None = None,
    ) -> list[list[int]]: ...
    def encode_batch_to_numpy(
        self,
        texts: Iterable[Text],
        *,
        dtype: _IdType[_Id] = ...,
        num_threads: int | None = None,
        allowed_special: SpecialSelection = "all",
        disallowed_special: SpecialSelection = (),
        add_special_tokens: bool = False,
        dropout: float | bool | None = None,
        seed: SupportsIndex | None = None,
    ) -> tuple[NDArray[_Id], NDArray[np.int64]]: ...
    def decode_bytes(self, ids: Ids, *, skip_special_tokens: bool = False) -> bytes: ...
    def decode(self, ids: Ids, *, errors: ErrorHandler | None = None, skip_special_tokens: bool = False) -> str: ...
    def decode_batch(
        self, batch: Iterable[Ids], *, errors: ErrorHandler | None = None, skip_special_tokens: bool = False
    ) -> list[str]: ...
    def decode_iterable(
        self, ids: Iterable[SupportsIndex], *, errors: ErrorHandler | None = None, skip_special_tokens: bool = False
    ) -> Iterator[str]: ...
    def _unknown(self, token_id: int) -> UnknownTokenError: ...
    def _encode_pretoken(self, pretoken: bytes) -> list[int]: ...
    def _specials(
        self, allowed_special: SpecialSelection, disallowed_special: SpecialSelection = ()
    ) -> tuple[Specials, Specials | None]: ...
    def _special_spans(self, text: str, allowed_special: SpecialSelection = "all") -> list[tuple[int, int, int]]: ...
    def _char_spans(self, ids: Sequence[int], text: bytes) -> list[tuple[int, int]]: ...
    def _dropout(self, dropout: float | bool | None, seed: SupportsIndex | None) -> Dropout | None: ...
    def _token_ends(
        self, text: str, limit: int, allowed_special: SpecialSelection, disallowed_special: SpecialSelection
    ) -> tuple[array[int], bytes]: ...
    def _encode_items(
        self, items: Iterable[int | bytes | tuple[bytes, Buffer]], dropout: Dropout | None = None, position: int = 0
    ) -> list[int]: ...
