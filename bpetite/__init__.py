"""Byte-level BPE: a tokenizer that trains, encodes and decodes, exactly and at memory speed.

>>> from bpetite import Tokenizer
>>> tok = Tokenizer.train("ab ab ab", 258)
>>> tok.encode("ab<|endoftext|>ab")
[256, 258, 256]
"""
from . import bytelevel, charlevel, gage, patterns, reference
from .errors import FormatError, MissingExtraError
from .pretokenize import pretokenize
from .tokenizer import Tokenizer
from .train import PretokenCounts, count_pretokens
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
