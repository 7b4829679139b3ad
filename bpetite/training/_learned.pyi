from typing import final

@final
class LearnedTokens: ...  # of use to `_train` only
