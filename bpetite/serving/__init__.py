"""Functions for servers of models, with the tokenizer as their first argument.

>>> from bpetite import Tokenizer, serving
>>> serving.is_canonical(Tokenizer.train("ab ab ab", 258), [97, 98])
False
"""
from ..engine.limits import Chunk, Splitter
from ..engine.padding import padded_batches
from .healing import heal
from .sampled import continue_ids, first_divergence, is_canonical
from .segments import encode_bytes, encode_segments

__all__ = [
    "Chunk",
    "Splitter",
    "continue_ids",
    "encode_bytes",
    "encode_segments",
    "first_divergence",
    "heal",
    "is_canonical",
    "padded_batches",
]
