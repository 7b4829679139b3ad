from typing import final

from ._learned import LearnedTokens

@final
class PairTable:  # of use to `_train` only
    def __new__(
        cls, tokens: LearnedTokens, min_frequency: int, ties_by_bytes: bool, max_token_bytes: int
    ) -> PairTable: ...
