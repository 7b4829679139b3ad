"""Parquet: read the rows of a column, one row group at a time."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...errors import FormatError
from .find import Input
from .pieces import Block, Piece, Position, Reading, cause_of, grouped, row_groups
from .problems import Flaw
from .stores import is_url
from .streams import Stream

ROWS = 16384  # of a block; fewer where the file says that rows are large

#: The types of Arrow that hold text.
TEXT = ("string", "large_string", "string_view", "binary", "large_binary", "binary_view")


def parquet_blocks(source: Input, piece: Piece, reading: Reading) -> Iterator[Block]:
    """The blocks of the rows of a piece; a file that cannot be read is a block without rows, with its damage."""
    if source.compression or source.read_once:
        raise ValueError(f"{source.path}: Parquet is read from a plain file (it is compressed inside)")
    with Stream(source, ranges=True) as stream:
        yield from _rows(stream, source, piece, reading)
        stream.check_unchanged()


def _rows(stream: Stream, source: Input, piece: Piece, reading: Reading) -> Iterator[Block]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    def damaged(what: str, detail: str, row: int = 0, after: int | None = None) -> Block:
        end = Position(piece.input + 1) if after is None else Position(piece.input, after)
        return Block("items", [], piece.input, row, end, damage=Flaw(what, detail))

    try:
        metadata, groups = row_groups(source)
        # of an object, the columns of a row group are read in a few ranges; of a file, a buffer at a time
        file = pq.ParquetFile(
            stream.file, metadata=metadata, buffer_size=1 << 20, pre_buffer=is_url(source.path),
            page_checksum_verification=True,
        )  # fmt: skip
    except (pa.ArrowException, OSError, FormatError) as wrong:
        yield damaged("damaged-file", f"not a Parquet file: {cause_of(wrong)}")
        return
    with file:
        try:
            check_column(file.schema_arrow, reading)
        except ValueError as wrong:
            yield damaged("no-text", str(wrong))
            return
        columns = [reading.text_key, *([reading.id_key] if reading.id_key in file.schema_arrow.names else [])]
        total = max(1, metadata.num_rows)
        told = source.size * piece.start // total
        for group, (row, last, size) in enumerate(groups):
            if last <= piece.start:
                continue
            if piece.stop is not None and row >= piece.stop:
                break
            at_once = max(1, min(ROWS, reading.block * (last - row) // max(1, size)))
            batches = file.iter_batches(at_once, row_groups=[group], columns=columns, use_threads=False)
            while True:
                try:
                    batch = next(batches, None)
                except (pa.ArrowException, OSError) as wrong:
                    detail = f"row group {group}, {last - row:,} rows are lost: {cause_of(wrong)}"
                    yield damaged("damaged-file", detail, row, last)
                    break  # other row groups can be read
                if batch is None:
                    break
                skip = min(len(batch), max(0, piece.start - row))
                row += skip
                for some in _slices(batch.slice(skip), reading):
                    row += len(some)
                    texts = texts_of(some.column(reading.text_key), reading.text_key)
                    ids = some.column(reading.id_key).to_pylist() if reading.id_key in columns else None
                    now = source.size * row // total
                    end = Position(piece.input, row)
                    yield Block("items", texts, piece.input, row - len(some), end, now - told, ids=ids)
                    told = now


def _slices(batch: Any, reading: Reading) -> Iterator[Any]:
    """A batch in slices of about a block of text: a dictionary column may be far larger than in the file."""
    column = batch.column(reading.text_key)
    if not hasattr(column, "dictionary"):
        yield from [batch] if len(batch) else []
        return
    sizes = [len(text) if text else 0 for text in column.dictionary.cast("large_binary").to_pylist()]
    start = 0
    indices = column.indices.to_pylist()
    for rows in grouped(indices, lambda index: 0 if index is None else sizes[index], reading.block):
        yield batch.slice(start, len(rows))
        start += len(rows)


def check_column(schema: Any, reading: Reading) -> None:
    """Raises ValueError unless a column of an Arrow schema holds text."""
    if reading.text_key not in schema.names:
        raise ValueError(f"no column {reading.text_key!r} (there are: {', '.join(schema.names)})")
    stored = schema.field(reading.text_key).type
    stored = getattr(stored, "storage_type", stored)  # of an extension, such as arrow.json, the type of JSON columns
    stored = getattr(stored, "value_type", stored) if str(stored).startswith("dictionary") else stored
    if str(stored) not in (*TEXT, "null"):
        raise ValueError(f"column {reading.text_key!r} holds {stored}, not text (there are: {', '.join(schema.names)})")


def texts_of(column: Any, key: str) -> list[bytes | Flaw]:
    """The texts of a column that `check_column` allows; a null has none."""
    column = getattr(column, "storage", column)
    if hasattr(column, "dictionary_decode"):
        column = column.dictionary_decode()
    texts, null = column.cast("large_binary").to_pylist(), Flaw("no-text", f"{key!r} is null")
    return [null if text is None else text for text in texts] if column.null_count else texts
