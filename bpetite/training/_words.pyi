from typing import final

@final
class Words:
    """The words that a merger has learned from, as tokens."""
