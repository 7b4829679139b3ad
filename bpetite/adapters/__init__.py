"""A tokenizer in the shape of another library's, for code that is written against that one."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import MissingExtraError

if TYPE_CHECKING:
    from ..tokenizer import Tokenizer

__all__ = ["transformers_tokenizer"]


def transformers_tokenizer(tokenizer: Tokenizer, options: dict[str, Any]) -> Any:
    """What :meth:`bpetite.Tokenizer.as_transformers` gives.

    Raises:
        MissingExtraError: ``transformers`` is not installed.
    """
    try:
        from .transformers import TransformersTokenizer
    except ImportError:
        raise MissingExtraError("as_transformers()", "transformers", "transformers") from None
    return TransformersTokenizer(tokenizer, **options)
