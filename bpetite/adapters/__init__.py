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

    Results are those of the tokenizer given, which stays as it is: before it returns, bpetite is compared with
    ``tokenizers`` on texts that are hard to split, and on the texts of some thousand ids. It pickles into worker
    processes. See docs/transformers.md.

    Args:
        tokenizer: A ``transformers.PreTrainedTokenizerFast`` of BPE, or a ``tokenizers.Tokenizer``.

    Returns:
        For the former a new object of a subclass with the same name, whose ``_tokenizer`` is a view; all other code is
        that of its class. For the latter a view, as :meth:`bpetite.Tokenizer.as_tokenizers` gives it. What is
        accelerated already is returned as it is.

    Raises:
        ValueError: bpetite would give other ids; the message says why.
        TypeError: It is neither of these.
        MissingExtraError: ``transformers`` is not installed.

    >>> import bpetite
    >>> from transformers import AutoTokenizer
    >>> bpetite.Tokenizer.train("ab ab ab", 258).save("model", format="huggingface")
    >>> tokenizer = bpetite.accelerate(AutoTokenizer.from_pretrained("model"))
    >>> tokenizer("ab ab")["input_ids"]
    [256, 257]
    """
    if hasattr(tokenizer, "encode_batch_fast"):  # of tokenizers alone, for which its package is enough
        module = adapter("tokenizers_view", "accelerate", "tokenizers")
    else:
        module = adapter("accelerated", "accelerate")
    made: AnyTokenizer = module.accelerate(tokenizer)
    return made
