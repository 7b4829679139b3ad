"""Functions for servers of models, with the tokenizer as their first argument.

>>> from bpetite import Tokenizer, serving
>>> serving.is_canonical(Tokenizer.train("ab ab ab", 258), [97, 98])
False
"""
from typing import TYPE_CHECKING

from ..lazy import names_of

if TYPE_CHECKING:
    from ..engine.padding import padded_batches
    from .canonical import first_divergence, is_canonical
    from .continuing import continue_ids, retokenized
    from .healing import completions, heal, prefixes
    from .limits import Chunk, Splitter
    from .segments import encode_bytes, encode_segments

__all__ = [
    "Chunk",
    "Splitter",
    "completions",
    "continue_ids",
    "encode_bytes",
    "encode_segments",
    "first_divergence",
    "heal",
    "is_canonical",
    "padded_batches",
    "prefixes",
    "retokenized",
]

if not TYPE_CHECKING:  # truncate and chunks, methods of a tokenizer, wait for none of the others
    __getattr__, __dir__ = names_of(__name__, __all__, {
        "Chunk": "limits",
        "Splitter": "limits",
        "completions": "healing",
        "continue_ids": "continuing",
        "encode_bytes": "segments",
        "encode_segments": "segments",
        "first_divergence": "canonical",
        "heal": "healing",
        "is_canonical": "canonical",
        "padded_batches": ".engine.padding",
        "prefixes": "healing",
        "retokenized": "continuing",
    })  # fmt: skip
