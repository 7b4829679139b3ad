"""Learning vocabularies: counting pre-tokens, merging pairs, and continuing what has been learned.

Start with :meth:`bpetite.Tokenizer.train`. This room adds counting and count files.
"""
from typing import TYPE_CHECKING

from ..lazy import names_of

if TYPE_CHECKING:
    from .counting.count_pretokens import count_pretokens
    from .counting.counts import CountFile, PretokenCounts, merge_count_files

__all__ = ["CountFile", "PretokenCounts", "count_pretokens", "merge_count_files"]

if not TYPE_CHECKING:  # one that counts waits for no trainer
    __getattr__, __dir__ = names_of(__name__, __all__, {
        "CountFile": "counting.counts",
        "PretokenCounts": "counting.counts",
        "count_pretokens": "counting.count_pretokens",
        "merge_count_files": "counting.counts",
    })  # fmt: skip
