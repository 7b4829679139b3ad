"""What servers of models ask of a tokenizer: each is a function whose first argument is the tokenizer.

>>> from bpetite import Tokenizer, serving
>>> serving.is_canonical(Tokenizer.train("ab ab ab", 258), [97, 98])
False
"""
from ..engine.padded import padded_batches
from .byte_runs import encode_bytes
from .canonical import first_divergence, is_canonical
from .chunking import Chunk
from .healing import heal
from .prefix_lookup import completions, prefixes
from .segments import encode_segments

__all__ = [
    "Chunk",
    "completions",
    "encode_bytes",
    "encode_segments",
    "first_divergence",
    "heal",
    "is_canonical",
    "padded_batches",
    "prefixes",
]
