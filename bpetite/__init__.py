"""BPE over bytes or characters: a tokenizer that trains, encodes and decodes exactly.

>>> from bpetite import Tokenizer
>>> tok = Tokenizer.train("ab ab ab", 258)
>>> tok.encode("ab<|endoftext|>ab")
[256, 258, 256]
"""
from os import environ as _environ
from typing import TYPE_CHECKING

from .errors import FormatError, MissingExtraError, TrainingWarning, UnknownTokenError
from .lazy import names_of as _names_of
from .release import __version__ as __version__

if TYPE_CHECKING:
    from . import (
        analysis,
        bytelevel,
        charlevel,
        chat,
        cluster,
        corpus,
        formats,
        gage,
        patterns,
        reference,
        serving,
        training,
    )
    from ._simd import simd
    from .adapters import accelerate
    from .published import encoding_for_model, get_encoding
    from .splitting.pretokenizer import pretokenize
    from .tokenizer import Tokenizer
    from .training.counting.count_pretokens import count_pretokens
    from .training.counting.counts import CountFile, PretokenCounts
    from .vocabulary.vocab import Vocab

__all__ = [
    # the tokenizer
    "Tokenizer",
    "Vocab",
    "encoding_for_model",
    "get_encoding",
    # tokenizers of transformers
    "accelerate",
    # its parts
    "CountFile",
    "PretokenCounts",
    "count_pretokens",
    "patterns",
    "pretokenize",
    "simd",
    # rooms: conversations, servers, training, corpora, engines, files of tokenizers, and looking at a tokenizer
    "analysis",
    "chat",
    "cluster",
    "corpus",
    "formats",
    "serving",
    "training",
    # the classic forms, and the definition
    "bytelevel",
    "charlevel",
    "gage",
    "reference",
    # what can go wrong
    "FormatError",
    "MissingExtraError",
    "TrainingWarning",
    "UnknownTokenError",
]

if not TYPE_CHECKING:
    # Loading a tokenizer must not import the trainer, nor a command what it does not use.
    __getattr__, __dir__ = _names_of(__name__, __all__, {
        "CountFile": "training.counting.counts",
        "PretokenCounts": "training.counting.counts",
        "Tokenizer": "tokenizer",
        "Vocab": "vocabulary.vocab",
        "accelerate": "adapters",
        "count_pretokens": "training.counting.count_pretokens",
        "encoding_for_model": "published",
        "get_encoding": "published",
        "pretokenize": "splitting.pretokenizer",
        "simd": "_simd",
    })  # fmt: skip

    if _environ.get("BPETITE_SIMD"):
        from ._simd import check_environment

        check_environment()
        del check_environment
