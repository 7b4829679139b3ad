from array import array
from collections.abc import Iterable, Iterator
from typing import final

from ..splitting._scan import Scanner
from ._counttable import CountTable

@final
class TextCounter:
    @property
    def table(self) -> CountTable: ...
    @property
    def pretokens(self) -> int: ...
    def __new__(cls, scanner: Scanner | None, special_tokens: Iterable[bytes] = ()) -> TextCounter: ...
    def count_documents(self, texts: list[str | bytes], first: int | None = None) -> None: ...
    def count_part(
        self,
        text: str | bytes,
        start: int,
        stop: int,
        weight: int = 1,
        settle: bool = False,
        more: bool = False,
    ) -> tuple[int, int, int]: ...
    def count_stream(self, text: str) -> None: ...
    def count_ends(self, data: bytes, ends: array[int]) -> None: ...

def take_batch(
    texts: Iterator[str | bytes], first: int, limit: int
) -> tuple[list[str | bytes], int, str | bytes | None, bool]: ...
