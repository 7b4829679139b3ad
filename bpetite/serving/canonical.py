"""The check of token ids against the encoding of their text: ids that a model has sampled often differ.

The text is encoded again and compared. A check of neighbours, as in the audit of a merge list, is not enough where two
pre-tokens meet, or where a pre-token is looked up whole: cl100k's "\\t\\t622" is [197, 197, 19808], though "\\t\\t"
alone is the token 298.
"""
from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate, compress, count
from operator import index, ne
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..engine.call_options import Ids, SpecialSelection
    from ..tokenizer import Tokenizer

__all__ = ["first_divergence", "given_ids", "is_canonical"]


def given_ids(tokenizer: Tokenizer, ids: Ids) -> tuple[list[int], bytes]:
    """The ids as ints, and their bytes; raises as :meth:`bpetite.Tokenizer.decode_bytes` does."""
    ids = list(ids) if isinstance(ids, Iterator) else ids
    data = tokenizer.decode_bytes(ids)  # raises for what are no ids
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
    given, data = given_ids(tokenizer, ids)
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
