from collections.abc import Iterable
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from ..engine.options import SpecialSelection, Text

def count_texts(
    encoder: Any,
    texts: Iterable[Text],
    allowed_special: SpecialSelection,
    disallowed_special: SpecialSelection,
    num_threads: int | None,
) -> NDArray[np.int64]:
    """int64[n]: how many tokens each text has."""

def token_limit(value: SupportsIndex, name: str) -> int:
    """A number of tokens that a caller gives, as an int; `name` is for messages."""

def is_read_as_it_is(encoder: Any, text: str) -> bool:
    """Whether a compiled scanner alone cuts the text: nothing else rewrites or cuts it."""

def longest_prefix(
    encoder: Any,
    text: str,
    allowed_special: SpecialSelection,
    disallowed_special: SpecialSelection,
    max_tokens: SupportsIndex,
) -> int:
    """Where the longest prefix ends that :meth:`bpetite.Tokenizer.truncate` may give, in characters."""

def longest_suffix(
    encoder: Any,
    text: str,
    allowed_special: SpecialSelection,
    disallowed_special: SpecialSelection,
    max_tokens: SupportsIndex,
) -> int:
    """Where the longest suffix begins that :meth:`bpetite.Tokenizer.truncate` may give, in characters."""
