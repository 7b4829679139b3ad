from collections.abc import Iterable, Iterator
from typing import Self, SupportsIndex, final

from ..engine.call_options import Ids
from ..vocabulary.vocab import ErrorHandler
from ._tokenizer_base import TokenizerBase

@final
class StreamDecoder:
    def __new__(
        cls,
        tokenizer: TokenizerBase,
        *,
        errors: ErrorHandler | None = None,
        skip_special_tokens: bool = False,
        context: Ids = (),
    ) -> Self: ...
    def feed(self, ids: SupportsIndex | Ids) -> str: ...
    def flush(self) -> str: ...
    def copy(self) -> StreamDecoder: ...
    def __copy__(self) -> StreamDecoder: ...
    @property
    def _held(self) -> int: ...

def decode_stream(
    self: TokenizerBase,
    *,
    errors: ErrorHandler | None = None,
    skip_special_tokens: bool = False,
    context: Ids = (),
) -> StreamDecoder: ...
@final
class TextsOfIds:
    def __new__(cls, stream: StreamDecoder, ids: Iterator[SupportsIndex]) -> Self: ...
    def __iter__(self) -> Self: ...
    def __next__(self) -> str: ...

def texts_of(
    tokenizer: TokenizerBase, ids: Iterable[SupportsIndex], errors: ErrorHandler | None, skip_special_tokens: bool
) -> Iterator[str]: ...
