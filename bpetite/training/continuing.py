"""Learning after the tokens of a vocabulary: counts as it cuts, and a merger that begins with its tokens."""
from __future__ import annotations

import logging
from array import array
from collections.abc import Mapping
from itertools import chain

from ..engine.assembly import parts_of
from ..vocabulary.vocab import Vocab
from .counts import PretokenCounts, table_of
from .merging._merger import Merger
from .spilled import CountFile

__all__ = ["add_counts", "continue_from", "counts_as"]

log: logging.Logger = logging.getLogger("bpetite.training.train")


def counts_as(vocab: Vocab, corpus: Mapping[bytes, int] | CountFile) -> Mapping[bytes, int] | CountFile:
    """Counts, if they can be of the pre-tokens that a vocabulary cuts.

    Raises:
        ValueError: They were made with another pattern, normalization or version of Unicode, or the vocabulary has
            steps that counting with a pattern does not have.
    """
    if isinstance(corpus, (PretokenCounts, CountFile)):
        cutter, _, pipeline = parts_of(vocab)
        if pipeline is not None:
            raise ValueError(
                "these counts, made with a pattern, are not of the pre-tokens that this tokenizer cuts: it has steps "
                "that counting does not have. Give the texts"
            )
        for name, own in (("pattern", cutter.pattern), ("normalization", vocab.normalization),
                          ("unicode", vocab.unicode)):  # fmt: skip
            if getattr(corpus, name) != own:
                raise ValueError(f"these counts, made with {name}={getattr(corpus, name)!r}, contradict the tokenizer, "
                                 f"which has {name}={own!r}")  # fmt: skip
    return corpus


def continue_from(vocab: Vocab, counts: Mapping[bytes, int] | CountFile, merger: Merger) -> dict[int, int]:
    """Give a new merger the tokens of a vocabulary, and pre-tokens encoded by it.

    Returns:
        As :func:`_make_known`, which says what is raised.
    """
    ids = _make_known(vocab, merger)
    if isinstance(counts, (PretokenCounts, CountFile)):
        log.info("%s", counts.summary())
    whole = vocab.merges is None or vocab.ignore_merges
    merger.encode_by(vocab.token_table, vocab.merge_table, array("I", ids.values()), whole)
    add_counts(merger, counts)
    return ids


def add_counts(merger: Merger, counts: Mapping[bytes, int] | CountFile) -> None:
    """Add pre-tokens to a merger."""
    if isinstance(counts, CountFile):
        merger.add(counts.records(), counts.min_count)
    else:
        merger.add(table_of(counts).pretokens())


def _make_known(vocab: Vocab, merger: Merger) -> dict[int, int]:
    """Make the tokens of a vocabulary known to a merger.

    Returns:
        The merger's id -> the vocabulary's, in the order of the former: bytes, then what merges give in their order,
        then tokens that no merge gives; of ranks all tokens in the order of their ids.

    Raises:
        ValueError: A byte has no token; a merge takes what no byte or earlier merge gives.
    """
    tokens, id_of, merges = vocab.tokens, vocab.id_of, vocab.merges or ()
    found = []
    for first in range(256):
        byte = merger.token(first)
        number = id_of.get(byte)
        if number is None or number in vocab.not_looked_up:
            raise ValueError(f"there is no token for the byte 0x{byte[0]:02x}; only complete vocabularies are extended")
        found.append(number)
    found = [*dict.fromkeys(chain(found, vocab.merge_results))]
    internal = {number: inside for inside, number in enumerate(found)}
    try:
        merger.know(array("I", map(internal.__getitem__, chain.from_iterable(merges))))
    except (KeyError, ValueError):
        known = set(found[:256])
        for rank, ((left, right), joined) in enumerate(zip(merges, vocab.merge_results, strict=True)):
            if left not in known or right not in known:
                part = tokens[left if left not in known else right]
                raise ValueError(f"merge {rank} takes {part!r}, which no byte or earlier merge gives") from None
            known.add(joined)
        raise
    others = sorted(tokens.keys() - internal.keys() - vocab.not_looked_up)
    for number in others:
        merger.add_token(tokens[number])
    return dict(enumerate(found + others))
