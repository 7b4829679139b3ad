"""Which tokens can come next where some bytes are given: for token healing and constrained sampling."""
from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import show

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..core._tokenizer_base import TokenizerBase

__all__ = ["completions", "prefixes"]


def completions(tokenizer: TokenizerBase, prefix: bytes) -> NDArray[np.uint32]:
    """The tokens that begin with some bytes; special tokens by their literals.

    Args:
        tokenizer: The tokenizer.
        prefix: The bytes; every token begins with none.

    Returns:
        uint32[n], the ids, ascending. The first call sorts the vocabulary, a tenth of a second for 200,000 tokens;
        then it takes a binary search.

    >>> from bpetite import Tokenizer, serving
    >>> serving.completions(Tokenizer.train("ab ab ab", 258), b"a")
    array([ 97, 256], dtype=uint32)
    """
    import numpy as np

    return np.array(tokenizer._vocab.prefix_index.completions(_bytes(prefix, "prefix")), np.uint32)


def prefixes(tokenizer: TokenizerBase, data: bytes) -> NDArray[np.uint32]:
    """The tokens that some bytes begin with; special tokens by their literals.

    Args:
        tokenizer: The tokenizer.
        data: The bytes.

    Returns:
        uint32[n], the ids, the shortest token first.

    >>> from bpetite import Tokenizer, serving
    >>> serving.prefixes(Tokenizer.train("ab ab ab", 258), b"abc")
    array([ 97, 256], dtype=uint32)
    """
    import numpy as np

    return np.array([*tokenizer._vocab.prefix_index.prefixes(_bytes(data, "data"))], np.uint32)


def _bytes(value: bytes, name: str) -> bytes:
    if not isinstance(value, bytes):
        raise TypeError(f"{name} is bytes, not {show(value)}")
    return value
