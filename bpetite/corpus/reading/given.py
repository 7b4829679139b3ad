"""Documents that a program gives, not files: iterables, datasets of Hugging Face, Arrow tables and streams.

A `datasets.Dataset` has a fingerprint and is read from any row on. Others have no identity: they are read once, and an
interrupted run begins anew.
"""
from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..sources.find import GIVEN, Piece
from .blocks import Block, Position, Reading
from .problems import Flaw
from .records import text_of_item
from .row_groups import no_column, texts_of

__all__ = ["Given", "given_blocks", "given_documents"]

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


def given_documents(documents: Any) -> Given:
    """The piece of the documents that a program has: not one text or one record."""
    if isinstance(documents, str | bytes | Mapping):
        splits = ""
        if _is(documents, "DatasetDict"):
            splits = f"; name one of its splits: {', '.join(map(str, documents))}"
        raise TypeError(f"documents is one {type(documents).__name__}, not many documents{splits}")
    if not (isinstance(documents, Iterable) or hasattr(documents, "__arrow_c_stream__")):
        raise TypeError(f"documents: a {type(documents).__name__} cannot be iterated over")
    if _is(documents, "Dataset"):
        return Given(f"<datasets.Dataset {documents._fingerprint}>", GIVEN, documents=documents)
    return Given(UNNAMED, GIVEN, once=True, documents=documents)


def _is(documents: object, name: str) -> bool:
    """True for an object of a class of datasets, which is not imported for that."""
    datasets = sys.modules.get("datasets")
    return datasets is not None and isinstance(documents, getattr(datasets, name))


def given_blocks(piece: Piece, position: Position, reading: Reading) -> Iterator[Block]:
    """The blocks of documents, from a position on: other than the start only where they have a fingerprint."""
    assert isinstance(piece, Given)
    number = position.piece
    start = count = position.offset
    items = _items(piece.documents, reading) if piece.once else _rows(piece.documents, reading, count)
    texts: list[bytes | Flaw] = []
    ids: list[object] = []
    size = 0
    for text, name in items:
        texts.append(text)
        ids.append(name)
        size += len(text)
        count += 1
        if size >= reading.block or len(texts) == MOST:
            yield Block("items", texts, number, start, Position(number, count), size, ids=ids)
            start, texts, ids, size = count, [], [], 0
    if texts:
        yield Block("items", texts, number, start, Position(number, count), size, ids=ids)


def _items(documents: Any, reading: Reading) -> Iterator[Item]:
    if hasattr(documents, "__arrow_c_stream__"):
        import pyarrow as pa

        stream = documents
        if not isinstance(documents, pa.RecordBatchReader):
            stream = pa.RecordBatchReader.from_stream(documents)
        for batch in stream:
            yield from _of_batch(batch, reading)
        return
    take = text_of_item(reading.text_key, reading.id_key)
    for document in documents:
        yield take(document)


def _rows(dataset: Any, reading: Reading, start: int) -> Iterator[Item]:
    """The rows of a datasets.Dataset; with a transform of its own, as that gives them."""
    rows = dataset.select(range(start, len(dataset)))
    if dataset.format["type"] == "custom":
        yield from map(text_of_item(reading.text_key, reading.id_key), rows)
        return
    names = [name for name in dataset.column_names if name in (reading.text_key, reading.id_key)]
    if reading.text_key not in names:
        raise no_column("datasets.Dataset", reading, dataset.column_names)
    for table in rows.select_columns(names).with_format("arrow").iter(ROWS):
        for batch in table.to_batches():
            yield from _of_batch(batch, reading)


def _of_batch(batch: Any, reading: Reading) -> Iterator[Item]:
    """The documents of an Arrow record batch."""
    names = batch.schema.names
    if reading.text_key not in names:
        raise no_column("documents", reading, names)
    for at in range(0, len(batch), ROWS):
        some = batch.slice(at, ROWS)
        texts = texts_of(some.column(reading.text_key), "documents", reading.text_key)
        ids: list[object] = [None] * len(texts)
        if reading.id_key in names:
            ids = some.column(reading.id_key).to_pylist()
        yield from zip(texts, ids, strict=True)
