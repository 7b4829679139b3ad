"""Documents that a program gives, not files: iterables, datasets of Hugging Face, Arrow tables and streams.

A `datasets.Dataset` has a fingerprint and is read from any row on. Nothing says of others whether they are the
same when a run goes on: they are read again from their start, and a checksum of what comes before tells.
"""
from __future__ import annotations

import sys
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..segments import Segmented
from ..sources.find import GIVEN, Piece
from .blocks import Block, Position, Reading
from .parquet import binary_column, dig, find_column
from .records import Flaw, text_of_item

__all__ = ["UNNAMED", "Given", "checksum_of", "given_blocks", "given_documents"]

#: Documents that are taken out of a table at a time, and the most of a block.
ROWS = 1024
MOST = 16384

#: The name of documents that have no fingerprint.
UNNAMED = "<documents>"

#: (text, id of the record)
Item = tuple["bytes | Flaw", object]


@dataclass(frozen=True)
class Given(Piece):
    """A piece that holds its documents itself."""

    documents: Any = field(default=None, compare=False, repr=False)


class Items:
    """Texts of consecutive documents; the length is that of all of them together, in bytes."""

    def __init__(self) -> None:
        self.texts: list[bytes | Flaw] = []
        self.ids: list[object] = []
        self._bytes = 0

    def add(self, item: Item) -> None:
        """One more."""
        text, found = item
        self.texts.append(text)
        self.ids.append(found)
        self._bytes += len(text.replacement if isinstance(text, Flaw) else text)

    def __len__(self) -> int:
        return self._bytes


def given_documents(documents: Any) -> Given:
    """The piece of the documents that a program has.

    Raises:
        TypeError: They are one text or one record, or cannot be iterated over.
    """
    if isinstance(documents, str | bytes | Mapping):
        splits = f"; name one of its splits: {', '.join(map(str, documents))}" if _is(documents, "DatasetDict") else ""
        raise TypeError(f"documents is one {type(documents).__name__}, not many documents{splits}")
    if not (isinstance(documents, Iterable) or hasattr(documents, "__arrow_c_stream__")):
        raise TypeError(f"documents: a {type(documents).__name__} cannot be iterated over")
    path = UNNAMED
    if _is(documents, "Dataset"):
        path = f"<datasets.Dataset {documents._fingerprint}>"
    return Given(path, GIVEN, documents=documents)


def _is(documents: object, name: str) -> bool:
    """Whether something is of a class of datasets, which is not imported for that."""
    datasets = sys.modules.get("datasets")
    return datasets is not None and isinstance(documents, getattr(datasets, name))


def given_blocks(piece: Piece, position: Position, reading: Reading) -> Iterator[Block]:
    """The blocks of documents, from a position on.

    Raises:
        ValueError: There is no such column, or the documents before the position are not what they were.
    """
    assert isinstance(piece, Given)
    count, crc = 0, 0
    if piece.path != UNNAMED:
        count = position.offset
        items = _rows(piece.documents, reading, count)
    else:
        items = _items(piece.documents, reading)
        crc = _skip(items, position)
        count = position.offset
    start, block = count, Items()
    for item in items:
        block.add(item)
        count += 1
        crc = _add(crc, item)
        if len(block) >= reading.block or len(block.texts) == MOST:
            yield _block(block, position.piece, start, count, crc)
            start, block = count, Items()
    if block.texts:
        yield _block(block, position.piece, start, count, crc)


def checksum_of(piece: Piece, reading: Reading) -> list[int] | None:
    """[number, checksum] of all documents of a piece that has no fingerprint; None of one that has."""
    assert isinstance(piece, Given)
    if piece.path != UNNAMED:
        return None
    count = crc = 0
    for item in _items(piece.documents, reading):
        count, crc = count + 1, _add(crc, item)
    return [count, crc]


def _block(items: Items, piece: int, start: int, count: int, crc: int) -> Block:
    return Block("items", items, piece, start, Position(piece, count, crc=crc), len(items), ids=items.ids)


def _add(crc: int, item: Item) -> int:
    """The checksum with one more document."""
    text = item[0]
    data = text.replacement if isinstance(text, Flaw) else text
    if isinstance(text, Segmented):
        crc = zlib.crc32(repr(text.segments).encode(), crc)
    return zlib.crc32(data, zlib.crc32(b"%d %d" % (len(data), isinstance(text, Flaw)), crc))


def _skip(items: Iterator[Item], position: Position) -> int:
    """Pass over what a killed run has taken; returns its checksum."""
    crc = 0
    for number in range(position.offset):
        item = next(items, None)
        if item is None:
            raise ValueError(f"documents: {number} of them, but {position.offset} were taken last time; give the same "
                             "ones again to go on, or overwrite=True to start anew")
        crc = _add(crc, item)
    if crc != position.crc:
        raise ValueError(f"documents: the first {position.offset} are not what they were last time; give the same ones "
                         "again to go on, or overwrite=True to start anew")
    return crc


def _items(documents: Any, reading: Reading) -> Iterator[Item]:
    if hasattr(documents, "__arrow_c_stream__"):
        import pyarrow as pa

        stream = documents
        if not isinstance(documents, pa.RecordBatchReader):
            stream = pa.RecordBatchReader.from_stream(documents)
        for batch in stream:
            yield from _of_batch(batch, reading)
        return
    take = text_of_item(reading.text_key, reading.id_key, segments=reading.segments)
    for document in documents:
        yield take(document)


def _rows(dataset: Any, reading: Reading, start: int) -> Iterator[Item]:
    """The rows of a datasets.Dataset; with a transform of its own, as that gives them."""
    names = dataset.column_names
    columns = [key if key in names else key.split(".")[0] for key in (reading.text_key, reading.id_key or "")]
    custom = dataset.format["type"] == "custom"
    take = text_of_item(reading.text_key, reading.id_key, segments=reading.segments)
    if not custom:
        if columns[0] not in names:
            raise _no_column("datasets.Dataset", reading, names)
        dataset = dataset.select_columns([name for name in dict.fromkeys(columns) if name in names])
        dataset = dataset.with_format("arrow")
    for at in range(start, len(dataset), ROWS):
        rows = dataset[at : at + ROWS]
        if custom:
            for values in zip(*rows.values(), strict=True):
                yield take(dict(zip(rows, values, strict=True)))
        else:
            for batch in rows.to_batches():
                yield from _of_batch(batch, reading)


def _no_column(what: str, reading: Reading, names: Iterable[str]) -> ValueError:
    return ValueError(f"{what}: no column {reading.text_key!r} (there are: {', '.join(names)}); name it: text_key=")


def _of_batch(batch: Any, reading: Reading) -> Iterator[Item]:
    """The documents of an Arrow record batch."""
    import pyarrow as pa
    import pyarrow.compute

    text_path = find_column(batch.schema, reading.text_key, pa)
    if text_path is None:
        raise _no_column("documents", reading, batch.schema.names)
    id_path = find_column(batch.schema, reading.id_key, pa) if reading.id_key else None
    take = text_of_item(reading.text_key, None)
    for at in range(0, len(batch), ROWS):
        some = batch.slice(at, ROWS)
        texts = binary_column(dig(some, text_path, pa), pa, "documents", reading.text_key).to_pylist()
        ids: list[object] = dig(some, id_path, pa).to_pylist() if id_path else [None] * len(texts)
        yield from ((take(text)[0], found) for text, found in zip(texts, ids, strict=True))
