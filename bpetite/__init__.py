"""Byte-level BPE: a tokenizer that trains, encodes and decodes, exactly and at memory speed.

>>> from bpetite import Tokenizer
>>> tok = Tokenizer.train("ab ab ab", 258)
>>> tok.encode("ab<|endoftext|>ab")
[256, 258, 256]
"""
from typing import TYPE_CHECKING

from .errors import FormatError, MissingExtraError

# at once, not when it is asked for: the module that holds it has its name, and would stand here in its place
from .pretokenize import pretokenize

if TYPE_CHECKING:
    from . import bytelevel, charlevel, gage, patterns, reference
    from .counting import count_pretokens
    from .counts import PretokenCounts
    from .tokenizer import Tokenizer
    from .vocab import Vocab

__all__ = [
    # the tokenizer
    "Tokenizer",
    "Vocab",
    # its parts
    "PretokenCounts",
    "count_pretokens",
    "patterns",
    "pretokenize",
    # the classic forms, and the definition
    "bytelevel",
    "charlevel",
    "gage",
    "reference",
    # what can go wrong
    "FormatError",
    "MissingExtraError",
]

__version__ = "0.1.0"

if not TYPE_CHECKING:
    #: Where a name comes from that is imported when it is first asked for; None for a module of this package. Who
    #: loads a tokenizer does not wait for the trainer, nor a command of the command line for what it does not do.
    _HOMES = {
        "PretokenCounts": "counts",
        "Tokenizer": "tokenizer",
        "Vocab": "vocab",
        "bytelevel": None,
        "charlevel": None,
        "count_pretokens": "counting",
        "gage": None,
        "patterns": None,
        "reference": None,
    }

    def __getattr__(name):
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        module = import_module(f".{_HOMES[name] or name}", __name__)
        found = globals()[name] = getattr(module, name) if _HOMES[name] else module
        return found

    def __dir__():
        return sorted({*globals(), *__all__})
