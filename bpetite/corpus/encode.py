"""Blocks to tokens: the only module that calls a tokenizer. A result depends on blocks and options alone."""
from __future__ import annotations

import hashlib
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any

import numpy as np
import numpy.typing as npt

from .codec import Ids, Offsets
from .plan import Plan
from .read.pieces import Block, Position
from .read.problems import Flaw, Problem
from .read.records import Documents, documents_of, joined_documents

#: (id of the record, number of the block, number of the record in the block) of a document.
Meta = tuple[str | None, int, int]


@dataclass
class Rows:
    """The tokens of consecutive documents with their end-of-text tokens; the length of each document, and a `Meta` of
    each for layouts that keep ids."""

    tokens: npt.NDArray[Any]
    lengths: npt.NDArray[np.int64]
    meta: list[Meta] | None = None

    def take(self, kept: npt.NDArray[np.bool_]) -> Rows:
        """The documents that a mask keeps."""
        meta = None if self.meta is None else list(itertools.compress(self.meta, kept))
        return Rows(self.tokens[np.repeat(kept, self.lengths)], self.lengths[kept], meta)


@dataclass
class Encoded:
    """The result of consecutive blocks; ``splits`` has their tokens by the name of the split. A result that is
    ``continues`` or ``goes_on`` has one split and one block."""

    end: Position
    file_bytes: int
    splits: dict[str, Rows]
    documents: int  # that end here
    text_bytes: int
    blocks: list[tuple[int, int]]  # (number of the input, number of records) of each
    problems: list[Problem] = field(default_factory=list)
    final_separator: bool | None = None
    continues: bool = False  # the first document began in an earlier block
    goes_on: bool = False  # the last document goes on in the next block


def encode_blocks(blocks: Sequence[Block], plan: Plan) -> Encoded:
    """Parse and encode blocks, those of whole documents together; a block with a part of one comes alone."""
    if plan.as_one_text and len(blocks) == 1 and (encoded := _encode_as_one_text(blocks[0], plan)):
        return encoded
    on_error = plan.options.on_error
    parsed = [documents_of(block, plan.reading, on_error, with_origins=plan.layout.meta) for block in blocks]
    texts = _texts(parsed)
    try:
        ids, offsets = plan.codec.encode(texts)
    except ValueError:
        checked = replace(plan.reading, checked=True)
        parsed = [documents_of(block, checked, on_error, with_origins=True) for block in blocks]
        alone = [row for documents in parsed for row in _encode_one_by_one(documents, plan)]
        ids = np.concatenate([np.empty(0, np.uint32), *alone])
        offsets = np.cumsum([0, *map(len, alone)], dtype=np.int64)
        texts = _texts(parsed)
    problems = [problem for documents in parsed for problem in documents.problems]
    problems.sort(key=attrgetter("input", "offset"))
    meta = [
        (name, number, record) for number, documents in enumerate(parsed) for name, record in documents.origins or ()
    ]
    continues, goes_on = blocks[0].continues and bool(texts), blocks[-1].goes_on and bool(texts)
    rows = Rows(*_with_eot(ids, offsets, plan, continues, goes_on), meta if plan.layout.meta else None)
    splits = {"all": rows}
    if plan.options.val_fraction:
        below, key = int(plan.options.val_fraction * 2**64), str(plan.options.seed).encode()
        hashes = (hashlib.blake2b(text, digest_size=8, key=key).digest() for text in texts)
        held_out = np.array([int.from_bytes(one, "big") < below for one in hashes], bool)
        splits = {"train": rows.take(~held_out), "val": rows.take(held_out)}
    separators = [documents.final_separator for documents in parsed if documents.final_separator is not None]
    return Encoded(
        end=blocks[-1].end,
        file_bytes=sum(block.file_bytes for block in blocks),
        splits=splits,
        documents=len(texts) - goes_on,
        text_bytes=sum(map(len, texts)),
        blocks=[(block.input, documents.records) for block, documents in zip(blocks, parsed, strict=True)],
        problems=problems,
        final_separator=separators[-1] if separators else None,
        continues=continues,
        goes_on=goes_on,
    )


def _texts(parsed: Sequence[Documents]) -> list[bytes]:
    return parsed[0].texts if len(parsed) == 1 else [text for documents in parsed for text in documents.texts]


def _encode_as_one_text(block: Block, plan: Plan) -> Encoded | None:
    """Encode a block in one call; None if something in it is wrong or unusual."""
    codec, separator = plan.codec, plan.reading.separator
    assert codec.encode_separated is not None
    joined = joined_documents(block, plan.reading)
    if joined is None:
        return None
    data, documents = joined
    try:
        ids = codec.encode_separated(data)
    except ValueError:
        return None
    terminated = data.endswith(separator)
    added = not (terminated or block.goes_on)
    tokens = ids.astype(plan.dtype, copy=False)
    if added:
        tokens = np.append(tokens, np.array(codec.eot_id, plan.dtype))
    ends = (tokens == codec.eot_id).nonzero()[0] + 1
    if documents not in (None, len(ends)):  # the separator is in a text
        return None
    separators = len(ends) - added
    if block.goes_on:
        ends = np.append(ends, len(tokens))
    lengths = ends.copy()
    lengths[1:] -= ends[:-1]
    return Encoded(
        end=block.end,
        file_bytes=block.file_bytes,
        splits={"all": Rows(tokens, lengths)},
        documents=len(ends) - block.goes_on,
        text_bytes=len(data) - separators * len(separator),
        blocks=[(block.input, len(ends) - block.goes_on)],
        final_separator=terminated if block.form == "text" and not block.goes_on else None,
        continues=block.continues,
        goes_on=block.goes_on,
    )


def _encode_one_by_one(documents: Documents, plan: Plan) -> list[Ids]:
    """The ids of a block's documents; the policy decides about a document that the codec refuses."""
    assert documents.origins is not None
    codec, on_error = plan.codec, plan.options.on_error
    what = "special-token" if codec.special == "error" else "unencodable"
    rows, kept = [], []
    for number, text in enumerate(documents.texts):
        try:
            row = codec.encode([text])[0]
        except ValueError as wrong:
            documents.problems.append(documents.problem(Flaw(what, str(wrong)), documents.origins[number][1]))
            if on_error != "replace" and number not in documents.cut_documents:
                continue
            try:
                row = codec.encode_ordinary([text if on_error == "replace" else b""])[0]
            except ValueError:
                row = np.empty(0, np.uint32)
            documents.texts[number] = text if len(row) else b""
        kept.append(number)
        rows.append(row)
    documents.keep(kept)
    return rows


def _with_eot(
    ids: Ids, offsets: Offsets, plan: Plan, continues: bool, goes_on: bool
) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64]]:
    """(tokens with an end-of-text token for each document that gets one, length of each document)."""
    tokens, lengths = ids.astype(plan.dtype, copy=False), np.diff(offsets)
    if plan.eot == "none" or not len(lengths):
        return tokens, lengths
    assert plan.codec.eot_id is not None
    gets_one = np.ones(len(lengths), bool) if plan.layout.eot_of_empty else (lengths > 0)
    if plan.eot == "append":
        places = offsets[1:]
        gets_one[-1] &= not goes_on
        gets_one[0] |= continues and not (goes_on and len(lengths) == 1)  # an earlier block has text of it
    else:
        places = offsets[:-1]
        gets_one[0] &= not continues
        gets_one[-1] |= goes_on and not (continues and len(lengths) == 1)
    return np.insert(tokens, places[gets_one], plan.codec.eot_id), lengths + gets_one.astype(np.int64)
