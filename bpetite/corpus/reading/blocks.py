"""Blocks of records, where reading goes on behind each, and how to read: what the readers of all files share."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..sources.find import Piece
from ..sources.streams import Stream, Torn, find_damage
from .problems import Flaw

__all__ = ["BLOCK", "MAX_DOCUMENT", "Block", "Position", "Reading", "TornError"]

#: Bytes of a block, unless one record is longer.
BLOCK = 8 << 20

#: Bytes of a document, unless told otherwise.
MAX_DOCUMENT = 1 << 30


@dataclass(frozen=True)
class Position:
    """A place where reading goes on: a piece, and in it a byte offset (text, jsonl) or a number of records (others).

    ``certain`` is false inside a member of a compressed file whose checksum has not been read: documents before such a
    position may turn out to be damaged, so nothing may rely on it.
    """

    piece: int = 0
    offset: int = 0
    certain: bool = True


class TornError(Exception):
    """A compressed file is damaged behind documents that have been given already.

    Reading begins anew at a certain position, with ``torn`` among the known damage of `Reading`.
    """

    def __init__(self, path: str, torn: Torn) -> None:
        super().__init__(f"{path}: {torn.cause}")
        self.path: str = path
        self.torn: Torn = torn


@dataclass
class Block:
    """Whole records of one file.

    Attributes:
        form: "text", "jsonl" or "whole" (bytes), "items" (a list of bytes and Flaws), or "too-long" (a record that was
            not kept; of text, whether a separator ends it).
        data: The records, of the type that ``form`` says.
        piece: Number of the piece.
        start: Offset of the first byte, or number of the first record.
        end: Where reading goes on.
        raw: Bytes of the file read since the previous block.
        line: The line at ``start``, of what can be read only once, where it cannot be counted later.
        ids: For "items", the id of each record.
        damage: The file cannot be read any further.
    """

    form: str
    data: Any
    piece: int
    start: int
    end: Position
    raw: int = 0
    line: int | None = None
    ids: Sequence[object] | None = None
    damage: Flaw | None = None

    @property
    def size(self) -> int:
        """Bytes held, roughly."""
        if self.form == "items":
            return sum(map(len, self.data))
        return len(self.data) if isinstance(self.data, bytes) else 0


@dataclass(frozen=True)
class Reading:
    """The options of reading.

    Attributes:
        separator: Ends a document of text.
        text_key, id_key: Of text and id in records.
        block: Bytes of a block.
        max_document: The most bytes of a document.
        stop: Whether to stop at a document that is longer, or damaged.
        checked: Whether documents are checked to be UTF-8.
        damage: The known damage of compressed files, by path; whoever gives it treats a `TornError`. Where it is None,
            and reading does not stop at damage, compressed files are decompressed once before they are read, so that
            no documents of damaged members are given.
    """

    separator: bytes = b"<|endoftext|>"
    text_key: str = "text"
    id_key: str | None = None
    block: int = BLOCK
    max_document: int = MAX_DOCUMENT
    stop: bool = False
    checked: bool = False
    damage: Mapping[str, Torn] | None = None

    def open(self, piece: Piece, *, ranges: bool = False) -> Stream:
        """The stream of a piece, up to its damage."""
        torn = None
        if piece.compression is not None and not self.stop:
            torn = find_damage(piece) if self.damage is None else self.damage.get(piece.path)
        return Stream(piece, ranges=ranges, torn=torn)
