"""Tokenizers with the interface of another library, for code that is written against it."""
from __future__ import annotations

from importlib import import_module
from typing import Any, TypeVar

from ..errors import importing
from .decode_streams import DecodeStream

__all__ = ["DecodeStream", "accelerate"]

AnyTokenizer = TypeVar("AnyTokenizer")


def adapter(name: str, purpose: str, package: str = "transformers") -> Any:
    """A module of this room that needs `package`; MissingExtraError names the `purpose` if it is not installed."""
    for needed in ("tokenizers", package):
        with importing(purpose, needed, "transformers"):
            import_module(needed)
    return import_module(f".{name}", __package__)


def accelerate(tokenizer: AnyTokenizer) -> AnyTokenizer:
    """Make a copy of a fast tokenizer of ``transformers`` or ``tokenizers`` that encodes and decodes with bpetite.

    The copy gives the same results; the original is not changed. Before returning, ``accelerate`` compares both on
    texts that are hard to split, and on the texts of some thousand ids. The copy can be pickled to worker processes.
    See docs/transformers.md.

    Args:
        tokenizer: A ``transformers.PreTrainedTokenizerFast`` of BPE, or a ``tokenizers.Tokenizer``.

    Returns:
        For ``transformers``, a copy whose class has the same name and inherits everything but encoding and decoding.
        For ``tokenizers``, an object as :meth:`bpetite.Tokenizer.as_tokenizers` returns it. An accelerated tokenizer is
        returned unchanged.

    Raises:
        ValueError: bpetite would give other ids; the message says why.
        TypeError: The tokenizer is of neither type.
        MissingExtraError: ``transformers`` is not installed.

    >>> import bpetite
    >>> from transformers import AutoTokenizer
    >>> bpetite.Tokenizer.train("ab ab ab", 258).save("model", format="huggingface")
    >>> tokenizer = bpetite.accelerate(AutoTokenizer.from_pretrained("model"))
    >>> tokenizer("ab ab")["input_ids"]
    [256, 257]
    """
    if hasattr(tokenizer, "encode_batch_fast"):  # a tokenizers.Tokenizer: transformers is not needed
        module = adapter("tokenizers_view", "accelerate", "tokenizers")
    else:
        module = adapter("accelerated", "accelerate")
    accelerated: AnyTokenizer = module.accelerate(tokenizer)
    return accelerated
