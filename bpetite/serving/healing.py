"""Token healing: a prompt that ends inside a word."""
from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..core._tokenizer_base import TokenizerBase
    from ..engine.options import SpecialSelection, Text

__all__ = ["heal"]


def heal(tokenizer: TokenizerBase, text: Text, *, allowed_special: SpecialSelection = "all") -> tuple[list[int], bytes]:
    """The ids of a text that stand whatever follows it, and the bytes behind them, whose ids depend on that.

    A model that goes on from all ids of "https:" does not give "//", because in its training "://" was one token. So
    let it go on from these ids, with a next token that begins with the bytes (:meth:`completions`) or with which they
    begin (:meth:`prefixes`; the rest of them is then what the token after it must begin with or continue).

    For every text x, ``encode(text + x)`` is these ids, then ``encode`` of the bytes, as text, and x.

    Args:
        text: str, or bytes in UTF-8.
        allowed_special: As for :meth:`encode`; the start of such a token is among the bytes as well.

    Returns:
        The ids, and the bytes: of the open pre-token; where ``tok.scanner`` is neither "vector" nor "tables", all
        after the last special token; of a pipeline, the whole text.

    Raises:
        ValueError, UnicodeError: As for :meth:`encode`.

    >>> Tokenizer.train("ab ab ab", 258).heal("ab ab a")
    ([256, 257], b' a')
    """
    from .edges import Edges, checked

    data = checked(text).encode("utf-8")
    pieces, _ = Edges(tokenizer, allowed_special).read(data)
    end = pieces[-1].end if pieces else 0
    return [token_id for piece in pieces for token_id in piece.ids], data[end:]
