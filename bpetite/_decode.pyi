from collections.abc import Iterable
from typing import Any, SupportsIndex

from numpy.typing import NDArray

from ._tokens import TokenTable

class Decoder:
    tokens: TokenTable
    def __init__(self, tokens: TokenTable) -> None: ...
    def decode_bytes(self, ids: Iterable[SupportsIndex] | NDArray[Any]) -> bytes: ...
    def decode(self, ids: Iterable[SupportsIndex] | NDArray[Any], errors: str = ...) -> str: ...
