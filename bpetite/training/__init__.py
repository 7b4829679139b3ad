"""Learning vocabularies: counting pre-tokens, merging pairs, and continuing what has been learned.

:meth:`bpetite.Tokenizer.train` and its sisters are where to begin; here is what they have beside them.
"""
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .counting.counts import CountFile, PretokenCounts, merge_count_files
    from .counting.texts import count_pretokens
    from .parity import train_parity

__all__ = ["CountFile", "PretokenCounts", "count_pretokens", "merge_count_files", "train_parity"]

if not TYPE_CHECKING:
    #: The module of each name, which is imported when the name is first used: one that counts waits for no trainer.
    _HOMES = {
        "CountFile": "counting.counts",
        "PretokenCounts": "counting.counts",
        "count_pretokens": "counting.texts",
        "merge_count_files": "counting.counts",
        "train_parity": "parity",
    }

    def __getattr__(name):
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found = globals()[name] = getattr(import_module(f".{_HOMES[name]}", __name__), name)
        return found

    def __dir__():
        return sorted(__all__)
