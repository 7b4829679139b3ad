"""Blocks to tokens: the second half of the work that threads share, and the only module that calls a tokenizer.

The result of a block depends on nothing but the block and the options, so any worker, on any machine, at any time,
makes the same one.
"""
from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ..reading.blocks import Block, Position, Reading
from ..reading.cutting import LONG
from ..reading.records import Documents, Problem, documents_of
from .codec import Codec, Ids, Offsets, join_rows

__all__ = ["EOT", "Encoded", "EncodingRules", "SplitTokens", "encode_blocks", "place_eot"]

#: Where the end-of-text token goes.
EOT = ("append", "prepend", "none")

#: (id of the record, number of the block, number of the record in the block)
Meta = list[tuple[str | None, int, int]]


@dataclass(frozen=True)
class EncodingRules:
    """How documents become tokens: everything that the result of a block depends on, besides the tokenizer.

    ``together`` allows encoding documents without cutting them apart: the separator is the end-of-text token's literal,
    and the token goes where the literal is. ``keep_order`` leaves the documents of all splits together, in order.
    """

    reading: Reading
    on_error: str
    eot: str
    dtype: str
    val_fraction: float = 0.0
    seed: int = 0
    with_origins: bool = False
    eot_of_empty: bool = True
    together: bool = False
    keep_order: bool = False


@dataclass
class SplitTokens:
    """Tokens of consecutive documents, end-of-text tokens included, the length of each document, and its `Meta` if
    that was asked for. ``held_out`` marks the documents of the second split where both are kept together."""

    tokens: npt.NDArray[Any]
    lengths: npt.NDArray[np.int64]
    meta: Meta | None = None
    held_out: npt.NDArray[np.bool_] | None = None


@dataclass
class Encoded:
    """The result of consecutive blocks; ``splits`` has their tokens by the name of the split."""

    end: Position
    raw: int
    splits: dict[str, SplitTokens]
    documents: int
    text_bytes: int
    blocks: list[tuple[int, int]]  # (number of the piece, number of records) of each
    problems: list[Problem] = field(default_factory=list)
    final_separator: bool | None = None


def encode_blocks(blocks: Sequence[Block], codec: Codec, rules: EncodingRules) -> Encoded:
    """Parse and encode blocks; small ones are encoded together."""
    if rules.together and len(blocks) == 1 and _goes_together(blocks[0], rules):
        encoded = _encode_together(blocks[0], codec, rules)
        if encoded is not None:
            return encoded
    parsed = [_parsed(block, rules) for block in blocks]
    problems = [problem for documents in parsed for problem in documents.problems]
    texts = parsed[0].texts if len(parsed) == 1 else [text for documents in parsed for text in documents.texts]
    meta = None
    if rules.with_origins:
        meta = [
            (found, number, record)
            for number, documents in enumerate(parsed)
            for found, record in documents.origins or ()
        ]
    try:
        ids, offsets = codec.encode(texts)
    except ValueError:
        found = _encode_one_by_one(blocks, parsed, codec, rules)
        ids, offsets = join_rows(found.rows)
        texts = found.texts
        problems = sorted(problems + found.problems, key=_place)
        if meta is not None:
            meta = [meta[index] for index in found.kept]
    separators = [documents.final_separator for documents in parsed if documents.final_separator is not None]
    return Encoded(
        end=blocks[-1].end,
        raw=sum(block.raw for block in blocks),
        splits=_split(texts, ids, offsets, meta, codec, rules),
        documents=len(texts),
        text_bytes=sum(map(len, texts)),
        blocks=[(block.piece, documents.records) for block, documents in zip(blocks, parsed, strict=True)],
        problems=problems,
        final_separator=separators[-1] if separators else None,
    )


def _place(problem: Problem) -> tuple[int, int, int]:
    """The order of problems."""
    return problem.piece, problem.offset, problem.line or 0


def _parsed(block: Block, rules: EncodingRules) -> Documents:
    """The documents of a block. One with a long document gives up its own copy of it: that is parsed only once."""
    long = block.data.nbytes >= LONG if block.form == "rows" else block.form == "jsonl" and block.data.long
    documents = documents_of(block, rules.reading, rules.on_error, with_origins=rules.with_origins or long)
    if long:
        block.data = None
    return documents


def _goes_together(block: Block, rules: EncodingRules) -> bool:
    """Whether a block is text without anything that needs a look at each document."""
    data = block.data
    return block.form == "text" and block.damage is None and not (data.dropped or data.long) and (
        0 < len(data) <= rules.reading.max_document
    )


def _encode_together(block: Block, codec: Codec, rules: EncodingRules) -> Encoded | None:
    """A block of text in one call; None if something is wrong in it, which encoding one by one will name."""
    assert codec.encode_separated is not None
    data = block.data.join()
    try:
        ids = codec.encode_separated(data)
    except ValueError:
        return None
    terminated = data.endswith(rules.reading.separator)
    added = 0 if terminated else 1
    tokens = np.empty(len(ids) + added, rules.dtype)
    tokens[: len(ids)] = ids
    tokens[len(ids) :] = codec.eot_id
    ends = np.flatnonzero(tokens == codec.eot_id) + 1
    separators = len(ends) - added
    return Encoded(
        end=block.end,
        raw=block.raw,
        splits={"all": SplitTokens(tokens, np.diff(ends, prepend=0))},
        documents=len(ends),
        text_bytes=len(data) - separators * len(rules.reading.separator),
        blocks=[(block.piece, len(ends))],
        final_separator=terminated,
    )


@dataclass
class _OneByOne:
    """Documents that could be encoded, their ids and their numbers among all, and what was wrong with others."""

    rows: list[Ids] = field(default_factory=list)
    texts: list[bytes] = field(default_factory=list)
    kept: list[int] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


def _encode_one_by_one(
    blocks: Sequence[Block], parsed: Sequence[Documents], codec: Codec, rules: EncodingRules
) -> _OneByOne:
    """Encode documents of which at least one cannot be encoded; that one is treated by the policy."""
    out = _OneByOne()
    index = -1
    for block, documents in zip(blocks, parsed, strict=True):
        if documents.origins is None:  # now they are needed, to say where a problem is
            documents = documents_of(block, rules.reading, rules.on_error, with_origins=True)
        assert documents.origins is not None
        places: list[tuple[int, int]] | None = None
        for number, text in enumerate(documents.texts):
            index += 1
            try:
                row = codec.encode([text])[0]
            except ValueError as wrong:
                if places is None:
                    places = _places(block, rules.reading)
                problem = _problem(wrong, text, documents.origins[number][1], block, places, codec)
                out.problems.append(problem)
                if rules.on_error != "replace":
                    continue
                text, row = _replacement(problem.what, text, codec, rules)
            out.texts.append(text)
            out.kept.append(index)
            out.rows.append(row)
    return out


def _problem(
    wrong: ValueError, text: bytes, record: int, block: Block, places: list[tuple[int, int]], codec: Codec
) -> Problem:
    """What is wrong with the document of a record of a block, which the tokenizer refused, and where it is."""
    what, detail, inside = "special-token" if codec.special == "error" else "unencodable", str(wrong), 0
    try:
        text.decode("utf-8")
    except UnicodeDecodeError as bad:
        what, detail, inside = "invalid-utf8", f"byte {text[bad.start]:#04x} is not UTF-8 ({bad.reason})", bad.start
    offset, line = block.start + record, None
    if block.form == "values":
        line = block.lines[record]
    elif block.form not in ("rows", "items"):
        start, lines = places[record] if places else (0, 0)
        if block.form == "jsonl":
            inside = 0  # of the text, not of the line
        offset = block.start + start + inside
        if block.lines is not None:
            line = block.lines + lines + text.count(b"\n", 0, inside)
    return Problem(what, detail, block.piece, offset, line)


def _places(block: Block, reading: Reading) -> list[tuple[int, int]]:
    """(offset in the block, line feeds before it) of each record of text or JSON lines; nothing where there is one."""
    if block.form not in ("text", "jsonl") or block.data is None:
        return []
    separator = b"\n" if block.form == "jsonl" else reading.separator
    places, offset, lines = [], 0, 0
    for record in block.data.split(separator):
        if block.form == "text" or (record and not record.isspace()):
            places.append((offset, lines))
        offset += len(record) + len(separator)
        lines += record.count(b"\n") + separator.count(b"\n")
    return places


def _replacement(what: str, text: bytes, codec: Codec, rules: EncodingRules) -> tuple[bytes, Ids]:
    """The nearest document that can be encoded."""
    if what == "invalid-utf8":
        text = text.decode("utf-8", "replace").encode()
    try:
        return text, codec.encode_ordinary([text])[0]
    except ValueError:
        return b"", np.empty(0, np.uint32)


def _split(
    texts: list[bytes], ids: Ids, offsets: Offsets, meta: Meta | None, codec: Codec, rules: EncodingRules
) -> dict[str, SplitTokens]:
    """The tokens of each split, with end-of-text tokens and in the type of the file."""
    dtype = np.dtype(rules.dtype)
    if not rules.val_fraction:
        return {"all": SplitTokens(*_with_eot(ids, offsets, codec, rules, dtype), meta)}
    held_out = _held_out(texts, rules.val_fraction, rules.seed)
    if rules.keep_order:
        return {"all": SplitTokens(*_with_eot(ids, offsets, codec, rules, dtype), meta, held_out)}
    lengths = np.diff(offsets)
    of_tokens = np.repeat(held_out, lengths)
    splits = {}
    for name, chosen, tokens in (("train", ~held_out, ids[~of_tokens]), ("val", held_out, ids[of_tokens])):
        ends = np.zeros(int(chosen.sum()) + 1, np.int64)
        np.cumsum(lengths[chosen], out=ends[1:])
        rows = None if meta is None else [row for row, take in zip(meta, chosen, strict=True) if take]
        splits[name] = SplitTokens(*_with_eot(tokens, ends, codec, rules, dtype), rows)
    return splits


def _held_out(texts: Sequence[bytes], fraction: float, seed: int) -> npt.NDArray[np.bool_]:
    """The documents of the second split, by a hash of seed and content."""
    below, key = int(fraction * 2**64), str(seed).encode()
    return np.fromiter(
        (int.from_bytes(hashlib.blake2b(text, digest_size=8, key=key).digest(), "big") < below for text in texts),
        bool,
        len(texts),
    )


def _with_eot(
    ids: Ids, offsets: Offsets, codec: Codec, rules: EncodingRules, dtype: npt.DTypeLike
) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64]]:
    """`place_eot`, for the documents that get one."""
    empty = np.diff(offsets) == 0
    if rules.eot_of_empty or not empty.any():
        return place_eot(ids, offsets, codec.eot_id, rules.eot, dtype)
    tokens, placed = place_eot(ids, np.concatenate([offsets[:1], offsets[1:][~empty]]), codec.eot_id, rules.eot, dtype)
    lengths = np.zeros(len(empty), np.int64)
    lengths[~empty] = placed
    return tokens, lengths


def place_eot(
    ids: Ids, offsets: Offsets, eot_id: int | None, eot: str, dtype: npt.DTypeLike
) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64]]:
    """(tokens with an end-of-text token for each document, length of each document).

    >>> tokens, lengths = place_eot(np.array([5, 6, 7], np.uint32), np.array([0, 2, 2, 3]), 9, "append", "uint16")
    >>> tokens.tolist(), lengths.tolist()
    ([5, 6, 9, 9, 7, 9], [3, 1, 2])
    """
    lengths = np.diff(offsets)
    count = len(lengths)
    if eot == "none" or not count:
        return ids.astype(dtype), lengths
    tokens = np.empty(len(ids) + count, dtype)
    shift = 0 if eot == "append" else 1
    eot_at = (offsets[:-1] if shift else offsets[1:]) + np.arange(count)
    if len(ids) > 256 * count:
        # long documents: copying each is cheaper than a mask over every token
        for number, (start, stop) in enumerate(zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)):
            tokens[start + number + shift : stop + number + shift] = ids[start:stop]
    else:
        is_text = np.ones(len(tokens), bool)
        is_text[eot_at] = False
        tokens[is_text] = ids
    tokens[eot_at] = eot_id
    return tokens, lengths + 1
