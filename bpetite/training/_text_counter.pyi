from array import array
from collections.abc import Iterable, Iterator
from typing import final

from ..engine._special import Specials
from ..splitting._scan import Scanner
from ._count_table import CountTable

@final
class TextCounter:
    @property
    def table(self) -> CountTable: ...
    def __new__(cls, scanner: Scanner | None, specials: Specials) -> TextCounter: ...
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

def batches(texts: Iterable[str | bytes], limit: int) -> Iterator[tuple[int, list[str | bytes], int]]: ...
