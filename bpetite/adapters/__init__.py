"""Tokenizers with the interface of another library, for code that is written against it."""
from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import importing
from .decode_streams import DecodeStream

if TYPE_CHECKING:
    from ..tokenizer import Tokenizer

__all__ = ["DecodeStream", "accelerate", "decelerate", "transformers_tokenizer"]

AnyTokenizer = TypeVar("AnyTokenizer")


def _module(name: str, purpose: str) -> Any:
    with importing(purpose, "transformers", "transformers"):
        return import_module(f".{name}", __package__)


def transformers_tokenizer(tokenizer: Tokenizer, options: dict[str, Any]) -> Any:
    """As :meth:`bpetite.Tokenizer.as_transformers`."""
    return _module("transformers", "as_transformers()").fast_tokenizer(tokenizer, options)


def accelerate(tokenizer: AnyTokenizer) -> AnyTokenizer:
    """Make a fast tokenizer of ``transformers`` call, encode and decode on bpetite, in place.

    A trainer or a server that holds the object gains. Results stay the same: before it takes over, bpetite is compared
    with ``tokenizers`` on texts that are hard to split and on the text of every id. Offsets, words and overflow come
    from ``tokenizers``. Attributes, chat templates, ``add_tokens``, ``save_pretrained`` stay. It pickles into worker
    processes. See docs/transformers.md.

    Calls follow changes of the backend: added tokens, training, a new normalizer, pre-tokenizer, post-processor,
    decoder, setting of the model, and for encoding a new model of another size or without its merges. A model that is
    replaced by another one of the same size may go unseen; then accelerate again, after :func:`decelerate`.

    Args:
        tokenizer: A ``transformers.PreTrainedTokenizerFast`` of BPE.

    Returns:
        The same object.

    Raises:
        ValueError: bpetite would give other ids; the message says why. The tokenizer is as it was.
        TypeError: It is no fast tokenizer of ``transformers``.
        MissingExtraError: ``transformers`` is not installed.

    >>> import bpetite
    >>> from transformers import AutoTokenizer
    >>> bpetite.Tokenizer.train("ab ab ab", 258).save("model", format="huggingface")
    >>> tokenizer = bpetite.accelerate(AutoTokenizer.from_pretrained("model"))
    >>> tokenizer("ab ab")["input_ids"]
    [256, 257]
    """
    _module("accelerated", "accelerate").accelerate(tokenizer)
    return tokenizer


def decelerate(tokenizer: AnyTokenizer) -> AnyTokenizer:
    """Undo :func:`accelerate`: the same object, on ``tokenizers`` again.

    Args:
        tokenizer: A tokenizer that was accelerated; anything else stays as it is.

    Returns:
        The same object.

    Raises:
        MissingExtraError: ``transformers`` is not installed.
    """
    _module("accelerated", "decelerate").decelerate(tokenizer)
    return tokenizer
