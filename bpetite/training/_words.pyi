from typing import final

@final
class Words:
    """The words that merges are learned from, as tokens; none at first."""
