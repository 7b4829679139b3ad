"""Documents that a program gives, not files: iterables, datasets of Hugging Face, Arrow tables and streams.

A `datasets.Dataset` has a fingerprint and is read from any row on. Others have no identity: they are read once, and an
interrupted run begins anew.
"""
from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from .find import GIVEN, Input
from .parquet import check_column, texts_of
from .pieces import Block, Piece, Position, Reading, grouped
from .problems import Flaw
from .records import text_of_item

ROWS = 1024  # taken out of a table at a time
MOST = 16384  # documents of a block

#: (text, id of the record)
Item = tuple["bytes | Flaw", object]


@dataclass(frozen=True)
class ProgramDocuments(Input):
    """An input that holds its documents itself."""

    documents: Any = field(default=None, compare=False, repr=False)


def given_documents(documents: Any) -> ProgramDocuments:
    """The input of the documents that a program has."""
    if isinstance(documents, str | bytes | Mapping):
        splits = ""
        if _is(documents, "DatasetDict"):
            splits = f"; name one of its splits: {', '.join(map(str, documents))}"
        raise TypeError(f"documents is one {type(documents).__name__}, not many documents{splits}")
    if not (isinstance(documents, Iterable) or hasattr(documents, "__arrow_c_stream__")):
        raise TypeError(f"documents: a {type(documents).__name__} cannot be iterated over")
    if _is(documents, "Dataset"):
        return ProgramDocuments(f"<datasets.Dataset {documents._fingerprint}>", GIVEN, documents=documents)
    return ProgramDocuments("<documents>", GIVEN, read_once=True, documents=documents)


def _is(documents: object, name: str) -> bool:
    """True for an object of a class of datasets, which is not imported for that."""
    datasets = sys.modules.get("datasets")
    return datasets is not None and isinstance(documents, getattr(datasets, name))


def given_blocks(source: Input, piece: Piece, reading: Reading) -> Iterator[Block]:
    """The blocks of documents. Only documents with a fingerprint are read from another record than the first."""
    assert isinstance(source, ProgramDocuments)
    start = piece.start
    items = _items(source.documents, reading) if source.read_once else _rows(source.documents, reading, start)
    for together in grouped(items, lambda item: len(item[0]), reading.block, MOST):
        texts, ids = [text for text, _ in together], [name for _, name in together]
        end = Position(piece.input, start + len(together))
        yield Block("items", texts, piece.input, start, end, sum(map(len, texts)), ids=ids)
        start = end.offset


def _items(documents: Any, reading: Reading) -> Iterator[Item]:
    if hasattr(documents, "__arrow_c_stream__"):
        import pyarrow as pa

        read = isinstance(documents, pa.RecordBatchReader)
        for batch in documents if read else pa.RecordBatchReader.from_stream(documents):
            yield from _of_batch(batch, reading)
        return
    yield from map(text_of_item(reading.text_key, reading.id_key), documents)


def _rows(dataset: Any, reading: Reading, start: int) -> Iterator[Item]:
    """The rows of a datasets.Dataset; with a transform of its own, as that gives them."""
    rows = dataset.select(range(start, len(dataset)))
    if dataset.format["type"] == "custom":
        yield from map(text_of_item(reading.text_key, reading.id_key), rows)
        return
    names = [name for name in dataset.column_names if name in (reading.text_key, reading.id_key)]
    if reading.text_key not in names:
        raise ValueError(f"datasets.Dataset: no column {reading.text_key!r} (there are: "
                         f"{', '.join(dataset.column_names)}); text_key= names another column")
    for table in rows.select_columns(names).with_format("arrow").iter(ROWS):
        for batch in table.to_batches():
            yield from _of_batch(batch, reading)


def _of_batch(batch: Any, reading: Reading) -> Iterator[Item]:
    try:
        check_column(batch.schema, reading)
    except ValueError as wrong:
        raise ValueError(f"documents: {wrong}; text_key= names another column") from None
    for at in range(0, len(batch), ROWS):
        some = batch.slice(at, ROWS)
        texts = texts_of(some.column(reading.text_key), reading.text_key)
        ids: list[object] = [None] * len(texts)
        if reading.id_key in batch.schema.names:
            ids = some.column(reading.id_key).to_pylist()
        yield from zip(texts, ids, strict=True)
