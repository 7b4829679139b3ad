"""Blocks to tokens: the second half of the work that threads share, and the only module that calls a tokenizer.

The result of a block depends on nothing but the block and the options, so any worker, on any machine, at any time,
makes the same one.
"""
from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ..reading.blocks import Block, Position, Reading
from ..reading.problems import Flaw, Problem
from ..reading.records import Documents, documents_of, joined_documents
from ..reading.sums import Sums, sums_of
from .codec import Codec, Ids, Offsets

__all__ = ["Encoded", "EncodingRules", "Rows", "encode_blocks"]

#: (id of the record, number of the block, number of the record in the block)
Meta = list[tuple[str | None, int, int]]


@dataclass(frozen=True)
class EncodingRules:
    """The way from documents to tokens: everything that the result of a block depends on, besides the tokenizer.

    ``as_one_text`` allows encoding several documents as one text: the separator is the end-of-text token's literal, and
    the token goes where the literal is. ``keep_order`` leaves the documents of all splits together, in order.
    ``stats`` asks for statistics by the piece, or by the id of the record.
    """

    reading: Reading
    on_error: str
    eot: str
    dtype: str
    val_fraction: float = 0.0
    seed: int = 0
    with_origins: bool = False
    eot_of_empty: bool = True
    as_one_text: bool = False
    keep_order: bool = False
    stats: Literal["piece", "label"] | None = None


@dataclass
class Rows:
    """Tokens of consecutive documents, end-of-text tokens included, the length of each, and which of them are of the
    second split, where both are kept together. ``meta``: a `Meta` of all, later a line of each, for layouts that keep
    ids."""

    tokens: npt.NDArray[Any]
    lengths: npt.NDArray[np.int64]
    meta: list[Any] | None = None
    held_out: npt.NDArray[np.bool_] | None = None

    def slice(self, start: int, stop: int) -> Rows:
        """Some of the documents; no tokens are copied."""
        ends = np.cumsum(self.lengths)
        first, last = (int(ends[at - 1]) if at else 0 for at in (start, stop))
        return Rows(
            self.tokens[first:last],
            self.lengths[start:stop],
            None if self.meta is None else self.meta[start:stop],
            None if self.held_out is None else self.held_out[start:stop],
        )

    def take(self, kept: npt.NDArray[np.bool_]) -> Rows:
        """The documents that a mask keeps."""
        return Rows(
            self.tokens[np.repeat(kept, self.lengths)],
            self.lengths[kept],
            None if self.meta is None else [line for line, take in zip(self.meta, kept, strict=True) if take],
        )

    def by_split(self) -> dict[str, Rows]:
        """The documents of each split by its name."""
        if self.held_out is None:
            return {"all": self}
        return {"train": self.take(~self.held_out), "val": self.take(self.held_out)}

    def __len__(self) -> int:
        return len(self.lengths)


@dataclass
class Encoded:
    """The result of consecutive blocks; ``splits`` has their tokens by the name of the split."""

    end: Position
    raw: int
    splits: dict[str, Rows]
    documents: int
    text_bytes: int
    blocks: list[tuple[int, int, Sums]]  # (number of the piece, number of records, checksums) of each
    problems: list[Problem] = field(default_factory=list)
    final_separator: bool | None = None
    stats: dict[int | str | None, dict[str, int]] | None = None  # by the piece or the id, see `run.tally`
    marks: int = 0  # byte order marks that were skipped


def encode_blocks(blocks: Sequence[Block], codec: Codec, rules: EncodingRules) -> Encoded:
    """Parse and encode blocks; small ones are encoded together."""
    if rules.as_one_text and len(blocks) == 1 and (encoded := _encode_as_one_text(blocks[0], codec, rules)):
        return encoded
    parsed = _parsed(blocks, rules.reading, rules)
    texts = _texts(parsed)
    try:
        ids, offsets = codec.encode(texts)
    except ValueError:
        parsed = _parsed(blocks, replace(rules.reading, checked=True), replace(rules, with_origins=True))
        alone = [row for documents in parsed for row in _encode_one_by_one(documents, codec, rules)]
        ids = np.concatenate([np.empty(0, np.uint32), *alone])
        offsets = np.cumsum([0, *map(len, alone)], dtype=np.int64)
        texts = _texts(parsed)
    problems = [problem for documents in parsed for problem in documents.problems]
    problems.sort(key=attrgetter("piece", "offset"))
    meta = stats = None
    if rules.stats is not None:
        stats = _stats(blocks, parsed, texts, np.diff(offsets), rules)
    if rules.with_origins:
        meta = [
            (name, number, record)
            for number, documents in enumerate(parsed)
            for name, record in documents.origins or ()
        ]
    rows = Rows(*_with_eot(ids, offsets, codec, rules), meta)
    if rules.val_fraction:
        rows.held_out = _held_out(texts, rules.val_fraction, rules.seed)
    separators = [documents.final_separator for documents in parsed if documents.final_separator is not None]
    return Encoded(
        end=blocks[-1].end,
        raw=sum(block.raw for block in blocks),
        splits={"all": rows} if rules.keep_order else rows.by_split(),
        documents=len(texts),
        text_bytes=sum(map(len, texts)),
        blocks=[
            (block.piece, documents.records, sums_of(block)) for block, documents in zip(blocks, parsed, strict=True)
        ],
        problems=problems,
        final_separator=separators[-1] if separators else None,
        stats=stats,
        marks=sum(documents.marks for documents in parsed),
    )


def _parsed(blocks: Sequence[Block], reading: Reading, rules: EncodingRules) -> list[Documents]:
    origins = rules.with_origins or rules.stats == "label"
    return [documents_of(block, reading, rules.on_error, with_origins=origins) for block in blocks]


def _texts(parsed: Sequence[Documents]) -> list[bytes]:
    return parsed[0].texts if len(parsed) == 1 else [text for documents in parsed for text in documents.texts]


def _stats(
    blocks: Sequence[Block], parsed: Sequence[Documents], texts: Sequence[bytes], lengths: npt.NDArray[np.int64],
    rules: EncodingRules,
) -> dict[int | str | None, dict[str, int]]:  # fmt: skip
    """The statistics of documents, whose lengths are without end-of-text tokens."""
    if rules.eot != "none":
        lengths = lengths + (np.True_ if rules.eot_of_empty else lengths > 0)
    groups: dict[int | str | None, list[int]] = {}
    number = 0
    for block, documents in zip(blocks, parsed, strict=True):
        for at in range(len(documents.texts)):
            label = block.piece if rules.stats == "piece" else (documents.origins or ())[at][0]
            groups.setdefault(label, []).append(number)
            number += 1
    return {
        label: count_lengths(lengths[chosen], sum(len(texts[one]) for one in chosen))
        for label, chosen in groups.items()
    }


def count_lengths(lengths: npt.NDArray[np.int64], size: int) -> dict[str, int]:
    """The numbers of a group of documents, of their lengths in tokens and the bytes of their text.

    >>> count_lengths(np.array([0, 1, 5, 7]), 40)
    {'documents': 4, 'tokens': 13, 'bytes': 40, 'lengths_0': 1, 'lengths_1': 1, 'lengths_4': 2}
    """
    bits, counts = np.unique(np.frexp(lengths)[1], return_counts=True)  # of 4 to 7: 3
    numbers = {"documents": len(lengths), "tokens": int(lengths.sum()), "bytes": size}
    return numbers | {
        f"lengths_{1 << bit >> 1}": count for bit, count in zip(bits.tolist(), counts.tolist(), strict=True)
    }


def _encode_as_one_text(block: Block, codec: Codec, rules: EncodingRules) -> Encoded | None:
    """A block without damage in one call; None if something is wrong, or unusual, which encoding one by one takes."""
    assert codec.encode_separated is not None
    joined = None if rules.stats == "label" else joined_documents(block, rules.reading)
    if joined is None:
        return None
    data, documents = joined
    try:
        ids = codec.encode_separated(data)
    except ValueError:
        return None
    terminated = data.endswith(rules.reading.separator)
    added = 0 if terminated else 1
    tokens = np.empty(len(ids) + added, rules.dtype)
    tokens[: len(ids)] = ids
    tokens[len(ids) :] = codec.eot_id
    ends = (tokens == codec.eot_id).nonzero()[0] + 1
    if documents not in (None, len(ends)):  # the separator is in a text
        return None
    lengths = ends.copy()
    lengths[1:] -= ends[:-1]
    size = len(data) - (len(ends) - added) * len(rules.reading.separator)
    return Encoded(
        end=block.end,
        raw=block.raw,
        splits={"all": Rows(tokens, lengths)},
        documents=len(ends),
        text_bytes=size,
        blocks=[(block.piece, len(ends), sums_of(block))],
        final_separator=terminated if block.form == "text" else None,
        stats={block.piece: count_lengths(lengths, size)} if rules.stats else None,
    )


def _encode_one_by_one(documents: Documents, codec: Codec, rules: EncodingRules) -> list[Ids]:
    """The ids of a block's documents; the policy treats a document that is refused."""
    assert documents.origins is not None
    what = "special-token" if codec.special == "error" else "unencodable"
    rows, kept = [], []
    for number, text in enumerate(documents.texts):
        try:
            row = codec.encode([text])[0]
        except ValueError as wrong:
            documents.problems.append(documents.problem(Flaw(what, str(wrong)), documents.origins[number][1]))
            if rules.on_error != "replace":
                continue
            try:
                row = codec.encode_ordinary([text])[0]
            except ValueError:
                documents.texts[number], row = b"", np.empty(0, np.uint32)
        kept.append(number)
        rows.append(row)
    documents.keep(kept)
    return rows


def _held_out(texts: Sequence[bytes], fraction: float, seed: int) -> npt.NDArray[np.bool_]:
    """The documents of the second split, by a hash of seed and content."""
    below, key = int(fraction * 2**64), str(seed).encode()
    return np.fromiter(
        (int.from_bytes(hashlib.blake2b(text, digest_size=8, key=key).digest(), "big") < below for text in texts),
        bool,
        len(texts),
    )


def _with_eot(
    ids: Ids, offsets: Offsets, codec: Codec, rules: EncodingRules
) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64]]:
    """(tokens with an end-of-text token for each document that gets one, length of each document)."""
    tokens, lengths = ids.astype(rules.dtype), np.diff(offsets)
    if rules.eot == "none" or not len(lengths):
        return tokens, lengths
    assert codec.eot_id is not None
    places = offsets[1:] if rules.eot == "append" else offsets[:-1]
    if rules.eot_of_empty:
        return np.insert(tokens, places, codec.eot_id), lengths + 1
    return np.insert(tokens, places[lengths > 0], codec.eot_id), lengths + (lengths > 0)
