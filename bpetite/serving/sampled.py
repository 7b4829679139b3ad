"""Ids that a model has sampled: the check of them against the encoding of their text, and the ids that follow them.

The check encodes the text again. A look at neighbours, as in the audit of a merge list, is not enough where two
pre-tokens meet, or where a pre-token is looked up whole: cl100k's "\\t\\t622" is [197, 197, 19808], though "\\t\\t"
alone is the token 298.
"""
from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate, compress, count
from operator import index, ne
from typing import TYPE_CHECKING

from ..engine.streaming import encode_after
from .segments import ESCAPED

if TYPE_CHECKING:
    from ..engine.call_options import Ids, SpecialSelection
    from ..tokenizer import Tokenizer


def _given(tokenizer: Tokenizer, ids: Ids) -> tuple[list[int], bytes]:
    """The ids as ints, and their bytes; raises as :meth:`bpetite.Tokenizer.decode_bytes` does."""
    ids = list(ids) if isinstance(ids, Iterator) else ids
    data = tokenizer.decode_bytes(ids)  # raises for values that are no ids
    return ids.tolist() if hasattr(ids, "tolist") else [*map(index, ids)], data


def first_divergence(
    tokenizer: Tokenizer, ids: Ids, *, allowed_special: SpecialSelection = "all", num_threads: int | None = 1
) -> int | None:
    """The index of the first id that differs from ``encode(decode(ids))``; None if all are equal.

    If one sequence is the beginning of the other, it is the length of the shorter one. If the bytes of the ids are not
    UTF-8, so that no text has them, it is the index of the token with the first invalid byte.

    Args:
        ids: As for :meth:`bpetite.Tokenizer.decode`.
        allowed_special: The special tokens that encoding recognises, as for :meth:`bpetite.Tokenizer.encode`.
        num_threads: Threads that encode; one for each usable processor when None, and never more.

    Raises:
        UnknownTokenError: A KeyError: an id is not in the vocabulary.

    >>> from bpetite import Tokenizer, serving
    >>> tok = Tokenizer.train("ab ab ab", 258)
    >>> tok.encode("ab ab"), serving.first_divergence(tok, [256, 257]), serving.first_divergence(tok, [256, 32, 256])
    ([256, 257], None, 1)
    """
    given, data = _given(tokenizer, ids)
    try:
        expected = tokenizer.encode(data, allowed_special=allowed_special, num_threads=num_threads)
    except UnicodeDecodeError as error:
        ends = accumulate(len(tokenizer.token_bytes(token_id)) for token_id in given)
        return next(at for at, end in enumerate(ends) if end > error.start)
    if given == expected:
        return None
    return next(compress(count(), map(ne, given, expected)), min(len(given), len(expected)))


def is_canonical(
    tokenizer: Tokenizer, ids: Ids, *, allowed_special: SpecialSelection = "all", num_threads: int | None = 1
) -> bool:
    """True if ``encode(decode(ids)) == ids``, which this decides faster; False for ids that are no text.

    Models that sample tokens give sequences that training has never seen; a check of rollouts finds them.

    Args:
        ids: As for :meth:`bpetite.Tokenizer.decode`.
        allowed_special: As for :func:`first_divergence`, whose ``num_threads`` and errors these are, too.

    >>> from bpetite import Tokenizer, serving
    >>> tok = Tokenizer.train("ab ab ab", 258)
    >>> [serving.is_canonical(tok, ids) for ids in ([256, 257, 258], [97, 98], [0xC3])]
    [True, False, False]
    """
    return first_divergence(tokenizer, ids, allowed_special=allowed_special, num_threads=num_threads) is None


def continue_ids(
    tokenizer: Tokenizer, ids: Ids, text: str, *, allowed_special: SpecialSelection = "all"
) -> list[int]:
    """The ids, as they are, and the ids of a text that follows them in a conversation.

    The text is cut into pre-tokens as it is after the bytes of the ids. Where it goes on inside a word, its part of
    the word is merged alone: the ids before it stay. After ids of ``encode`` that end with a pre-token, such as a
    special token, the result is ``encode`` of the whole.

    Args:
        ids: As for :meth:`bpetite.Tokenizer.decode`; canonical or not, they may end inside a character. Special tokens
            are those with their ids; other ids that spell one are ordinary text.
        text: The text after them: the end of a turn, and the next messages.
        allowed_special: The special tokens that are recognised in the text, as for :meth:`bpetite.Tokenizer.encode`.

    Raises:
        UnknownTokenError: A KeyError: an id is not in the vocabulary.
        ValueError, UnicodeEncodeError: As for :meth:`bpetite.Tokenizer.encode`.

    >>> from bpetite import Tokenizer, serving
    >>> tok = Tokenizer.train("ab ab ab", 258)
    >>> serving.continue_ids(tok, [97], "b ab<|endoftext|>"), tok.encode("ab ab<|endoftext|>")
    ([97, 98, 257, 258], [256, 257, 258])
    """
    given, data = _given(tokenizer, ids)
    special_ids = {*tokenizer.special_tokens.values()}
    start = next((at for at in range(len(given), 0, -1) if given[at - 1] in special_ids), 0)
    before = (tokenizer.decode_bytes(given[start:]) if start else data).decode("utf-8", "surrogateescape")
    if not before.isascii():
        before = ESCAPED.split(before)[-1]
    if not before:
        literal = tokenizer.token_bytes(given[-1]).decode("utf-8") if start and start == len(given) else ""
        whole = tokenizer.encode(literal + text, allowed_special=allowed_special)
        if literal and whole[:1] == given[-1:]:  # else the text makes another special token of the literal
            return given + whole[1:]
        return given + tokenizer.encode(text, allowed_special=allowed_special)
    return given + encode_after(tokenizer, before, text, allowed_special)
