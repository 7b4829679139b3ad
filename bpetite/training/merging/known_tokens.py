"""A merger that begins with the tokens of a vocabulary."""
from __future__ import annotations

from array import array
from itertools import chain

from ...vocabulary.vocab import Vocab
from ._merger import Merger


def make_known(vocab: Vocab, merger: Merger) -> dict[int, int]:
    """Make the tokens of a vocabulary known to a merger.

    Returns:
        The merger's id -> the vocabulary's, in the order of the former: bytes, then what merges give in their order,
        then tokens that no merge gives; of ranks all tokens in the order of their ids.

    Raises:
        ValueError: A byte has no token; a merge takes what no byte or earlier merge gives.
    """
    tokens, merges = vocab.tokens, vocab.merges or ()
    ordered = []
    for byte in merger.all_tokens():  # so far the bytes
        number = vocab.find(byte)
        if number is None or number in vocab.not_looked_up:
            raise ValueError(f"there is no token for the byte 0x{byte[0]:02x}; only complete vocabularies are extended")
        ordered.append(number)
    ordered = [*dict.fromkeys(chain(ordered, vocab.merge_results))]
    internal = {number: inside for inside, number in enumerate(ordered)}
    known = set(ordered[:256])
    for rank, (pair, joined) in enumerate(zip(merges, vocab.merge_results, strict=True)):
        for part in pair:
            if part not in known:
                raise ValueError(f"merge {rank} takes {tokens[part]!r}, which no byte or earlier merge gives")
        known.add(joined)
    merger.know(array("I", map(internal.__getitem__, chain.from_iterable(merges))))
    others = sorted(tokens.keys() - internal.keys() - vocab.not_looked_up)
    for number in others:
        merger.add_token(tokens[number])
    return dict(enumerate(ordered + others))
