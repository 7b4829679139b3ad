from collections.abc import Collection, Sequence

from .._merge import MergeTable
from ..splitting._scan import Scanner
from ..vocabulary._tokens import TokenTable

class Core:
    tokens: TokenTable
    merges: MergeTable
    scanner: Scanner | None
    whole: bool
    def __init__(
        self,
        tokens: TokenTable,
        merges: Sequence[tuple[int, int]] | None,
        special_ids: Collection[int],
        scanner: Scanner | None,
        ignore_merges: bool,
    ) -> None: ...

class Worker:
    def __init__(self, core: Core, cache_bytes: int) -> None: ...
