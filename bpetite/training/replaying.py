"""The tokens and merges of a vocabulary, made known to a merger that goes on after them."""
from __future__ import annotations

from array import array
from collections.abc import Sequence

from ..vocabulary._merge_builder import last_steps
from ..vocabulary.vocab import Vocab
from ._merger import Merger

__all__ = ["merges_of", "replay"]


def merges_of(vocab: Vocab) -> tuple[Sequence[tuple[int, int]], bool]:
    """The merge list that gives the ids of a vocabulary, and whether a pre-token that is a token is taken whole."""
    if vocab.merges is not None:
        return vocab.merges, vocab.ignore_merges
    merges, unreached = last_steps(vocab.token_table, vocab.not_looked_up)
    return merges, unreached > 0


def replay(vocab: Vocab, merges: Sequence[tuple[int, int]], merger: Merger, *, join: bool = True
           ) -> dict[int, int]:  # fmt: skip
    """Apply the merges of a vocabulary in their order, as encoding would.

    Args:
        join: Join the words that were added; False where these come later, and are joined already.

    Returns:
        The merger's id -> the vocabulary's. The merger's ids are bytes, then what the merges give in their order, then
        tokens that no merge gives.
    """
    tokens, id_of = vocab.tokens, vocab.id_of
    internal: dict[int, int] = {}
    for first in range(256):
        byte = merger.token(first)
        number = id_of.get(byte)
        if number is None or number in vocab.not_looked_up:
            raise ValueError(f"there is no token for the byte 0x{byte[0]:02x}; only complete vocabularies are extended")
        internal[number] = first
    pairs = array("I")
    for rank, (left, right) in enumerate(merges):
        if left not in internal or right not in internal:
            part = tokens[left if left not in internal else right]
            raise ValueError(f"merge {rank} takes {part!r}, which no byte or earlier merge gives")
        pairs.append(internal[left])
        pairs.append(internal[right])
        internal.setdefault(id_of[tokens[left] + tokens[right]], len(internal))
    (merger.replay if join else merger.know)(pairs)
    others = (number for number in tokens if number not in vocab.not_looked_up and number not in internal)
    for number in sorted(others):
        internal[number] = merger.add_token(tokens[number])
    return {inside: number for number, inside in internal.items()}
