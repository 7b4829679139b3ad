"""Continuing a vocabulary: which ones can be, and how its merges are applied before new ones are learned."""
from __future__ import annotations

from ..patterns import is_plain
from ..vocabulary.vocab import QUIET_FLAGS, Vocab
from ._merger import Merger

__all__ = ["check_initial", "mergeable_ids", "replay"]


def check_initial(initial: object, vocab_size: int) -> None:
    """Raise what keeps a vocabulary from being continued up to `vocab_size` tokens."""
    if not isinstance(initial, Vocab):
        raise TypeError(f"initial is a bpetite.Tokenizer, not {initial!r}")
    if initial.merges is None:
        raise ValueError("initial has no merge list (it is of the ranks kind), so there is no order to continue")
    flagged = [literal for literal, flags in initial.token_flags.items() if set(flags) - QUIET_FLAGS]
    if not is_plain(initial.pattern) or not isinstance(initial.normalization, str | None) or flagged:
        raise ValueError(
            "initial splits text in ways that training does not: "
            f"pattern={initial.pattern!r}, normalization={initial.normalization!r}, flags of {flagged}"
        )
    known = len(mergeable_ids(initial))
    if vocab_size < known:
        raise ValueError(f"vocab_size {vocab_size} is less than the {known} tokens of initial")


def replay(initial: Vocab, merger: Merger) -> dict[int, int]:
    """Apply the merges of a vocabulary in their order, as encoding would.

    Returns:
        The merger's id -> the vocabulary's. The merger's ids are bytes, then what the merges give in their order, then
        tokens that no merge gives.
    """
    internal: dict[int, int] = {}
    for first in range(256):
        byte = merger.token(first)
        number = initial.id_of.get(byte)
        if number is None or number in initial.not_looked_up:
            raise ValueError(f"initial has no token for the byte 0x{byte[0]:02x}; only complete vocabularies continue")
        internal[number] = first
    for rank, (left, right) in enumerate(initial.merges or ()):
        if left not in internal or right not in internal:
            part = initial.tokens[left if left not in internal else right]
            raise ValueError(f"initial: merge {rank} takes {part!r}, which no byte or earlier merge gives")
        internal[initial.merge_results[rank]] = merger.replay(internal[left], internal[right])
    for number in sorted(mergeable_ids(initial) - internal.keys()):
        internal[number] = merger.add_token(initial.tokens[number])
    return {inside: number for number, inside in internal.items()}


def mergeable_ids(initial: Vocab) -> set[int]:
    """Ids that are not special tokens only: bytes, what merges give, and whatever else is reachable and not special."""
    results = set(initial.merge_results)
    return {number for number in initial.tokens if number not in initial.not_looked_up or number in results}
