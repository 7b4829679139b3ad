"""A text that grows, and its ids with it."""
from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..core._tokenizer_base import TokenizerBase
    from ..engine.options import SpecialSelection, Text
    from .growing_text import GrowingText

__all__ = ["growing"]


def growing(
    tokenizer: TokenizerBase,
    text: Text = "",
    *,
    allowed_special: SpecialSelection = "all",
    disallowed_special: SpecialSelection = (),
) -> GrowingText:
    """A text that grows or is edited, with its token ids, which are at each moment those of :meth:`encode`.

    Args:
        text: What it begins with.
        allowed_special: As for :meth:`encode`, and so is ``disallowed_special``.

    Raises:
        ValueError, UnicodeError: As for :meth:`encode`.

    >>> tok = Tokenizer.train("ab ab ab", 258)
    >>> chat = tok.growing("ab a")
    >>> chat.append("b<|endoftext|>")
    Change(start=1, removed=2, ids=array([257, 258], dtype=uint32))
    >>> chat.replace(0, 2, "b")
    Change(start=0, removed=1, ids=array([98], dtype=uint32))
    >>> chat.text, chat.ids.tolist(), len(chat)
    ('b ab<|endoftext|>', [98, 257, 258], 3)
    """
    from .growing_text import GrowingText

    return GrowingText(tokenizer, text, allowed_special=allowed_special, disallowed_special=disallowed_special)
