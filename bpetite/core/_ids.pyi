from collections.abc import Callable, Iterator
from typing import Self, final

from .._merge import Dropout
from ._special import Specials
from ._tokenizer_base import TokenizerBase

@final
class OpenText:
    def __new__(
        cls, tokenizer: TokenizerBase, specials: Specials | None, dropout: Dropout | None, is_normal: bool = False
    ) -> Self: ...
    def feed(self, chunk: str | bytes, final: bool = False) -> list[int]: ...
    @property
    def offset(self) -> int: ...

@final
class IdsOfChunks:
    def __new__(
        cls, text: OpenText, chunks: Iterator[str | bytes], whole: Callable[[str | bytes, int], str]
    ) -> Self: ...
    def __iter__(self) -> Self: ...
    def __next__(self) -> int: ...
