"""Token ids that go on from ids, such as those that a model has sampled: tokens in, tokens out."""
from __future__ import annotations

from itertools import accumulate, groupby
from typing import TYPE_CHECKING

from ..engine.streaming import encode_after
from .canonical import given_ids
from .segments import ESCAPED, encode_bytes

if TYPE_CHECKING:
    from ..engine.call_options import Ids, SpecialSelection
    from ..tokenizer import Tokenizer

__all__ = ["continue_ids", "retokenized"]


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
    given, data = given_ids(tokenizer, ids)
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


def retokenized(
    tokenizer: Tokenizer, ids: Ids, *, allowed_special: SpecialSelection = "all"
) -> list[tuple[int, int]]:
    """(start, end) of the runs of ids that encoding their text again would replace by others; empty if there are none.

    Bytes that are no text, such as half a character, are encoded as :func:`encode_bytes` does with ``errors="bytes"``.

    Args:
        ids: As for :meth:`bpetite.Tokenizer.decode`.
        allowed_special: The special tokens that encoding recognises, as for :meth:`bpetite.Tokenizer.encode`.

    Raises:
        UnknownTokenError: A KeyError: an id is not in the vocabulary.

    >>> from bpetite import Tokenizer, serving
    >>> serving.retokenized(Tokenizer.train("ab ab ab", 258), [257, 97, 98, 257])
    [(1, 3)]
    """
    given, data = given_ids(tokenizer, ids)
    fresh = encode_bytes(tokenizer, data, errors="bytes", allowed_special=allowed_special)
    ends, others = ([*accumulate(len(tokenizer.token_bytes(one)) for one in row)] for row in (given, fresh))
    if ends[-1:] != others[-1:]:  # a normalization has rewritten the text
        least = min(len(given), len(fresh))
        same = next((at for at in range(least) if given[at] != fresh[at]), least)
        after = next((at for at in range(least - same) if given[-1 - at] != fresh[-1 - at]), least - same)
        return [(same, len(given) - after)]
    kept = {*zip([0, *others], others, fresh)}
    differs = [one not in kept for one in zip([0, *ends], ends, given)]
    runs = [[at for at, _ in run] for changed, run in groupby(enumerate(differs), lambda one: one[1]) if changed]
    return [(run[0], run[-1] + 1) for run in runs]
