"""Blocks of records, where reading goes on behind each, and how to read: what the readers of all files share."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..sources.find import Piece
from ..sources.streams import Stream, open_stream
from .cutting import Damage

__all__ = ["BLOCK", "MAX_DOCUMENT", "Block", "Position", "Reading"]

#: Bytes of a block, unless one record is longer.
BLOCK = 4 << 20

#: Bytes of a document, unless told otherwise.
MAX_DOCUMENT = 1 << 30

@dataclass(frozen=True)
class Position:
    """Where reading goes on: a piece, and in it a byte offset (text, jsonl) or a number of records (json, parquet).

    For standard input, which cannot be read a second time, it also has the number of newlines and a checksum of all
    bytes before it, so that a resumed run can check that it is given the same input again. ``damaged`` counts the
    damaged stretches of a compressed file before it.
    """

    piece: int = 0
    offset: int = 0
    newlines: int = 0
    crc: int = 0
    damaged: int = 0


@dataclass
class Block:
    """Whole records of one file.

    Attributes:
        form: "text" or "jsonl" (a Segment), "whole" (bytes of one document), "values" (parsed JSON or Damage) or "rows"
            (an Arrow array of binary, or of nothing but nulls)
            or "items" (`objects.Items`).
        data: The records, of the type that ``form`` says.
        piece: Number of the piece.
        start: Offset of the first byte, or number of the first record.
        end: Where reading goes on.
        raw: Bytes of the file read since the previous block.
        lines: Line of each record of "values"; of text, the line at ``start`` if it cannot be counted later.
        ids: For "rows" and "items", the id of each record.
        damage: The file cannot be read any further.
    """

    form: str
    data: Any
    piece: int
    start: int
    end: Position
    raw: int = 0
    lines: Any = None
    ids: Sequence[object] | None = None
    damage: Damage | None = None

    @property
    def size(self) -> int:
        """Bytes held, roughly."""
        if self.form == "rows":
            return int(self.data.nbytes)
        return 256 * len(self.data) if isinstance(self.data, list) else len(self.data)


@dataclass(frozen=True)
class Reading:
    """How to read: the separator of text, the keys of text and id in records, the size of blocks, the most bytes of a
    document, whether to stop at one that is longer or damaged, and whether documents may be segments with labels."""

    separator: bytes = b"<|endoftext|>"
    text_key: str = "text"
    id_key: str | None = None
    block: int = BLOCK
    max_document: int = MAX_DOCUMENT
    stop: bool = False
    segments: bool = False

    def open(self, piece: Piece) -> Stream:
        """The stream of a piece. Where a run goes on behind damage, a compressed file is checked first."""
        return open_stream(piece, checked=not self.stop)
