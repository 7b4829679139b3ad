"""Blocks to tokens: the second half of what workers do in parallel, and the only place that calls a tokenizer.

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

from .codec import Codec, Ids, Offsets
from .reading.readers import Block, Position, Reading
from .reading.records import Documents, Problem, documents_of, offset_of

__all__ = ["EOT", "Encoded", "Encoding", "Part", "encode_blocks", "place_eot"]

#: Where the end-of-text token goes.
EOT = ("append", "prepend", "none")


@dataclass(frozen=True)
class Encoding:
    """How documents become tokens: everything that the result of a block depends on, besides the tokenizer.

    ``together`` allows to encode documents without cutting them apart: the separator is the end-of-text token's
    literal, and the token is to stand where the literal does.
    """

    reading: Reading
    on_error: str
    eot: str
    dtype: str
    val_fraction: float = 0.0
    seed: int = 0
    with_ids: bool = False
    together: bool = False


@dataclass
class Part:
    """Tokens of consecutive documents, end-of-text tokens included, and the length of each document.

    ``meta`` has, where asked for, (id, number of the block, number of the record in the block) of each document.
    """

    tokens: npt.NDArray[Any]
    lengths: npt.NDArray[np.int64]
    meta: list[tuple[str | None, int, int]] | None = None


@dataclass
class Encoded:
    """What became of a run of blocks."""

    end: Position
    raw: int
    parts: dict[str, Part]
    documents: int
    text_bytes: int
    blocks: list[tuple[int, int]]  # piece and records of each
    problems: list[Problem] = field(default_factory=list)
    final_separator: bool | None = None


def encode_blocks(blocks: Sequence[Block], codec: Codec, encoding: Encoding) -> Encoded:
    """Parse and encode blocks; small ones are encoded together."""
    if encoding.together and len(blocks) == 1 and blocks[0].kind == "text" and blocks[0].damage is None:
        encoded = _encode_together(blocks[0], codec, encoding)
        if encoded is not None:
            return encoded
    parsed = [
        documents_of(block, encoding.reading, encoding.on_error, with_ids=encoding.with_ids) for block in blocks
    ]
    problems = [problem for documents in parsed for problem in documents.problems]
    texts = parsed[0].texts if len(parsed) == 1 else [text for documents in parsed for text in documents.texts]
    meta = None
    if encoding.with_ids:
        meta = [
            (found, number, record)
            for number, documents in enumerate(parsed)
            for found, record in zip(documents.ids or (), documents.numbers or (), strict=True)
        ]
    try:
        ids, offsets = codec.encode(texts)
    except ValueError:
        found = _encode_one_by_one(blocks, parsed, codec, encoding)
        ids, offsets, texts, kept = found.ids, found.offsets, found.texts, found.kept
        problems = sorted(problems + found.problems, key=lambda problem: (problem.piece, problem.place))
        if meta is not None:
            meta = [meta[index] for index in kept]
    separators = [documents.final_separator for documents in parsed if documents.final_separator is not None]
    return Encoded(
        end=blocks[-1].end,
        raw=sum(block.raw for block in blocks),
        parts=_parts(texts, ids, offsets, meta, codec, encoding),
        documents=len(texts),
        text_bytes=sum(map(len, texts)),
        blocks=[(block.piece, documents.records) for block, documents in zip(blocks, parsed, strict=True)],
        problems=problems,
        final_separator=separators[-1] if separators else None,
    )


def _encode_together(block: Block, codec: Codec, encoding: Encoding) -> Encoded | None:
    """A block of text in one go; None if something is wrong in it, for the slow way to say what."""
    assert codec.encode_separated is not None
    data = block.data.join()
    try:
        ids = codec.encode_separated(data)
    except ValueError:
        return None
    terminated = data.endswith(encoding.reading.separator)
    tokens = np.empty(len(ids) + (not terminated), encoding.dtype)
    tokens[: len(ids)] = ids
    if not terminated:
        tokens[-1] = codec.eot_id
    ends = np.flatnonzero(tokens == codec.eot_id) + 1
    separators = len(ends) - (not terminated)
    return Encoded(
        end=block.end,
        raw=block.raw,
        parts={"all": Part(tokens, np.diff(ends, prepend=0))},
        documents=len(ends),
        text_bytes=len(data) - separators * len(encoding.reading.separator),
        blocks=[(block.piece, len(ends))],
        final_separator=terminated,
    )


@dataclass
class _Found:
    ids: Ids
    offsets: Offsets
    texts: list[bytes]
    kept: list[int]
    problems: list[Problem]


def _encode_one_by_one(
    blocks: Sequence[Block], parsed: Sequence[Documents], codec: Codec, encoding: Encoding
) -> _Found:
    """Encode documents of which at least one is not as it should be, dealing with those by the policy."""
    rows: list[Ids] = []
    out = _Found(np.empty(0, np.uint32), np.zeros(1, np.int64), [], [], [])
    index = -1
    for block, documents in zip(blocks, parsed, strict=True):
        if documents.numbers is None:  # now the places of records are needed
            documents = documents_of(block, encoding.reading, encoding.on_error, with_ids=True)
        for number, text in enumerate(documents.texts):
            index += 1
            try:
                row = codec.encode([text])[0]
            except ValueError as wrong:
                problem = _problem(wrong, text, number, block, documents, codec, encoding.reading)
                out.problems.append(problem)
                if encoding.on_error != "replace":
                    continue
                text, row = _replacement(problem.kind, text, codec)
            out.texts.append(text)
            out.kept.append(index)
            rows.append(row)
    out.offsets = np.zeros(len(rows) + 1, np.int64)
    np.cumsum([len(row) for row in rows], out=out.offsets[1:])
    if rows:
        out.ids = np.concatenate(rows)
    return out


def _problem(
    wrong: ValueError, text: bytes, number: int, block: Block, documents: Documents, codec: Codec, reading: Reading
) -> Problem:
    """What kind of document it is that the tokenizer refused, and where it stands."""
    kind, detail, inside = "special-token" if codec.special == "error" else "unencodable", str(wrong), 0
    try:
        text.decode("utf-8")
    except UnicodeDecodeError as bad:
        kind, detail, inside = "invalid-utf8", f"byte {text[bad.start]:#04x} is not UTF-8 ({bad.reason})", bad.start
    if block.kind == "text":
        before = offset_of(block, documents.texts, reading.separator, number) - block.start + inside
        place = block.start + before
        line = None if block.lines is None else block.lines + block.data.join().count(b"\n", 0, before)
    elif block.kind == "whole":
        place = block.start + inside
        line = None if block.lines is None else block.lines + block.data.count(b"\n", 0, inside)
    else:
        assert documents.numbers is not None
        record = documents.numbers[number]
        place, line = block.start + record, None
        if block.kind == "jsonl":
            place, line = _line_start(block, record)
        elif block.kind == "values":
            line = block.lines[record]
    return Problem(kind, detail, block.piece, place, line)


def _line_start(block: Block, wanted: int) -> tuple[int, int | None]:
    """Offset and, if it cannot be counted later, line of a record among JSON lines."""
    place = block.start
    for line_number, line in enumerate(block.data.split(b"\n")):
        if line and not line.isspace():
            if wanted == 0:
                return place, None if block.lines is None else block.lines + line_number
            wanted -= 1
        place += len(line) + 1
    return block.start, block.lines


def _replacement(kind: str, text: bytes, codec: Codec) -> tuple[bytes, Ids]:
    """The nearest document that can be encoded."""
    if kind == "invalid-utf8":
        text = text.decode("utf-8", "replace").encode()
    try:
        return text, codec.encode_ordinary([text])[0]
    except ValueError:
        return b"", np.empty(0, np.uint32)


def _parts(
    texts: list[bytes],
    ids: Ids,
    offsets: Offsets,
    meta: list[tuple[str | None, int, int]] | None,
    codec: Codec,
    encoding: Encoding,
) -> dict[str, Part]:
    """The tokens of each split, with end-of-text tokens and in the type of the file."""
    dtype = np.dtype(encoding.dtype)
    if not encoding.val_fraction:
        return {"all": Part(*place_eot(ids, offsets, codec.eot_id, encoding.eot, dtype), meta)}
    key = str(encoding.seed).encode()
    below = int(encoding.val_fraction * 2**64)
    held_out = np.fromiter(
        (int.from_bytes(hashlib.blake2b(text, digest_size=8, key=key).digest(), "big") < below for text in texts),
        bool,
        len(texts),
    )
    lengths = np.diff(offsets)
    of_tokens = np.repeat(held_out, lengths)
    parts = {}
    for name, chosen, tokens in (("train", ~held_out, ids[~of_tokens]), ("val", held_out, ids[of_tokens])):
        ends = np.zeros(int(chosen.sum()) + 1, np.int64)
        np.cumsum(lengths[chosen], out=ends[1:])
        rows = None if meta is None else [row for row, take in zip(meta, chosen, strict=True) if take]
        parts[name] = Part(*place_eot(tokens, ends, codec.eot_id, encoding.eot, dtype), rows)
    return parts


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
    if len(ids) > 256 * count:
        # long documents: a copy each is cheaper than a look at every token
        for number, (start, stop) in enumerate(zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)):
            tokens[start + number + shift : stop + number + shift] = ids[start:stop]
        tokens[(offsets[:-1] if shift else offsets[1:]) + np.arange(count)] = eot_id
    else:
        is_text = np.ones(len(tokens), bool)
        is_text[(offsets[:-1] if shift else offsets[1:]) + np.arange(count)] = False
        tokens[is_text] = ids
        tokens[~is_text] = eot_id
    return tokens, lengths + 1
