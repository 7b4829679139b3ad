"""Tokenizers with the interface of another library, for code that is written against it."""
from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import importing
from .decode_streams import DecodeStream

if TYPE_CHECKING:
    from ..tokenizer import Tokenizer

__all__ = ["DecodeStream", "accelerate", "tokenizers_tokenizer", "transformers_tokenizer"]

AnyTokenizer = TypeVar("AnyTokenizer")


def _module(name: str, purpose: str, package: str = "transformers") -> Any:
    for needed in ("tokenizers", package):
        with importing(purpose, needed, "transformers"):
            import_module(needed)
    return import_module(f".{name}", __package__)


def tokenizers_tokenizer(tokenizer: Tokenizer) -> Any:
    """As :meth:`bpetite.Tokenizer.as_tokenizers`."""
    return _module("tokenizers_view", "as_tokenizers()", "tokenizers").view_of(tokenizer)


def transformers_tokenizer(tokenizer: Tokenizer, options: dict[str, Any]) -> Any:
    """As :meth:`bpetite.Tokenizer.as_transformers`."""
    return _module("transformers", "as_transformers()").fast_tokenizer(tokenizer, options)


def accelerate(tokenizer: AnyTokenizer) -> AnyTokenizer:
    """Make a copy of a fast tokenizer of ``transformers`` that encodes and decodes with bpetite.

    Results are those of the tokenizer given, which stays as it is: before it returns, bpetite is compared with
    ``tokenizers`` on texts that are hard to split and on the text of every id. Its ``_tokenizer`` is a view as
    :meth:`bpetite.Tokenizer.as_tokenizers` gives it; all other code is that of its class. It pickles into worker
    processes. See docs/transformers.md.

    Args:
        tokenizer: A ``transformers.PreTrainedTokenizerFast`` of BPE.

    Returns:
        A new object of a subclass with the same name; what is accelerated already is returned as it is.

    Raises:
        ValueError: bpetite would give other ids; the message says why.
        TypeError: It is no fast tokenizer of ``transformers``.
        MissingExtraError: ``transformers`` is not installed.

    >>> import bpetite
    >>> from transformers import AutoTokenizer
    >>> bpetite.Tokenizer.train("ab ab ab", 258).save("model", format="huggingface")
    >>> tokenizer = bpetite.accelerate(AutoTokenizer.from_pretrained("model"))
    >>> tokenizer("ab ab")["input_ids"]
    [256, 257]
    """
    made: AnyTokenizer = _module("accelerated", "accelerate").accelerate(tokenizer)
    return made
