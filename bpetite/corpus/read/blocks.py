"""Blocks of records, where reading goes on after each, and how to read: what the readers of all inputs share."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ...splitting.certain_cuts import CertainCuts
from .find import Input
from .problems import Flaw
from .streams import Stream, find_damage

#: Bytes of a block, about: blocks of text end at the first fitting place after a multiple of this.
BLOCK = 8 << 20

#: Bytes of a document that is held whole, unless told otherwise.
MAX_DOCUMENT = 1 << 30


class Position(NamedTuple):
    """A place where reading goes on."""

    input: int = 0
    offset: int = 0  # in bytes (text, jsonl) or records (others)
    continues: bool = False  # a document goes on here


class Piece(NamedTuple):
    """The blocks of an input that begin between two offsets."""

    input: int
    start: int = 0
    stop: int | None = None  # None for the end
    continues: bool = False  # a resumed run starts inside a document
    at_block: bool = True  # otherwise the first block is looked for


@dataclass
class Block:
    """Whole records of one input; of text also parts of documents."""

    form: str  # "text", "whole", "jsonl", "items", "too-long"
    data: Any  # bytes; for "items", a list of bytes and Flaws
    input: int
    start: int  # in bytes or records
    end: Position
    file_bytes: int = 0  # bytes of the file since the previous block
    continues: bool = False  # the first document began in an earlier block
    goes_on: bool = False  # the last document goes on in the next block
    line: int | None = None  # of ``start``, if it cannot be counted later
    ids: Sequence[object] | None = None  # for "items"
    damage: Flaw | None = None  # the file cannot be read any further

    @property
    def size(self) -> int:
        """Bytes held, roughly; empty documents take memory, too."""
        return sum(map(len, self.data)) + 64 * len(self.data) if self.form == "items" else len(self.data)


@dataclass(frozen=True)
class Reading:
    """The options of reading."""

    separator: bytes = b"<|endoftext|>"  # of documents of text
    text_key: str = "text"
    id_key: str | None = None
    block: int = BLOCK
    max_document: int = MAX_DOCUMENT
    stop: bool = False  # at a document that is longer, or damaged
    checked: bool = False  # documents are checked to be UTF-8
    cuts: CertainCuts | None = None  # None keeps documents of text whole

    def open(self, source: Input, *, ranges: bool = False) -> Stream:
        """The stream of an input. Unless reading stops at damage, a compressed file is tested first: documents of
        damaged members are not given."""
        tested = source.compression is not None and not (self.stop or source.read_once)
        return Stream(source, ranges=ranges, damage=find_damage(source) if tested else None)
