"""Token healing for a prompt that ends inside a word: its certain ids, and the bytes that more text may change."""
from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..engine.streaming import encode_iterable
from ..errors import not_a_text

if TYPE_CHECKING:
    from ..engine.call_options import SpecialSelection, Text
    from ..tokenizer import Tokenizer


def heal(tokenizer: Tokenizer, text: Text, *, allowed_special: SpecialSelection = "all") -> tuple[list[int], bytes]:
    """The ids of a text that no continuation changes, and the bytes after these, whose ids a continuation decides.

    A model that goes on from all ids of "https:" does not give "//", because in its training "://" was one token. So
    let it go on from these ids, with a next token that begins with the bytes, or that the bytes begin with; the rest of
    the bytes then constrains the token after it in the same way.

    For every text x, ``encode(text + x)`` is these ids, then ``encode`` of the bytes, as text, and x.

    Args:
        text: str, or bytes in UTF-8.
        allowed_special: As for :meth:`bpetite.Tokenizer.encode`; the start of such a token is among the bytes as well.

    Returns:
        The ids, and the bytes of the open pre-token. If ``tok.scanner`` is "regex" or "none", the bytes are all after
        the last special token; with a pipeline, or a normalization that allows no cut, the whole text.

    Raises:
        ValueError, UnicodeError: As for :meth:`bpetite.Tokenizer.encode`.

    >>> from bpetite import Tokenizer, serving
    >>> serving.heal(Tokenizer.train("ab ab ab", 258), "ab ab a")
    ([256, 257], b' a')
    """
    if not isinstance(text, (str, bytes)):
        raise not_a_text(text)
    ids: list[int] = []
    certain = 0

    def chunks() -> Iterator[str | bytes]:
        nonlocal certain
        yield text
        certain = len(ids)  # before the stream knows that nothing follows

    for token_id in encode_iterable(tokenizer, chunks(), allowed_special):
        ids.append(token_id)
    given = text.encode("utf-8") if isinstance(text, str) else text
    kept = tokenizer.decode_bytes(ids[:certain])
    as_given = given.startswith(kept)
    if as_given:
        rest = given[len(kept) :]
    else:
        from ..engine.offsets import offsets_of

        whole = given.decode("utf-8")
        spans = offsets_of(tokenizer, whole, ids, allowed_special)
        rest = whole[spans[certain][0] if certain < len(spans) else len(whole) :].encode("utf-8")
    may_differ = tokenizer.normalization is not None or not as_given  # alone, the rest may be rewritten otherwise
    if may_differ and tokenizer.encode(rest, allowed_special=allowed_special) != ids[certain:]:
        return [], given
    return ids[:certain], rest
