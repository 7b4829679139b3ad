"""Parquet: the rows of a column, a row group at a time."""
from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ..sources.find import Piece
from ..sources.streams import Stream, open_stream
from ..sources.urls import is_url
from .blocks import Block, Position, Reading
from .problems import Flaw

__all__ = ["binary_column", "no_column", "parquet_blocks"]

#: Rows of a Parquet block at most; fewer where the file says that rows are large.
ROWS = 16384

#: The types of Arrow that hold text.
TEXT = ("string", "large_string", "string_view", "binary", "large_binary", "binary_view")


def parquet_blocks(piece: Piece, position: Position, reading: Reading) -> Iterator[Block]:
    """The blocks of a Parquet file, from a position on.

    Raises:
        OSError: The file cannot be read.
        ValueError: It is compressed as a whole, or has no such column of text.
    """
    if piece.compression or piece.once:
        raise ValueError(f"{piece.path}: Parquet is read from a plain file (it is compressed inside)")
    with open_stream(piece, ranges=True) as stream:
        yield from _row_groups(stream, piece, position, reading)
        stream.check_unchanged()


def _row_groups(stream: Stream, piece: Piece, position: Position, reading: Reading) -> Iterator[Block]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        # of an object, the columns of a row group are read in a few ranges; of a file, a buffer at a time
        file = pq.ParquetFile(
            stream.file, buffer_size=1 << 20, pre_buffer=is_url(piece.path), page_checksum_verification=True
        )
    except (pa.ArrowException, OSError) as wrong:
        damage = Flaw("damaged-file", f"not a Parquet file: {_cause(wrong)}")
        yield Block("rows", pa.array([], pa.binary()), position.piece, 0, Position(position.piece + 1), damage=damage)
        return
    with file:
        names = file.schema_arrow.names
        if reading.text_key not in names:
            raise no_column(piece.path, reading, names)
        columns = [reading.text_key, *([reading.id_key] if reading.id_key in names else [])]
        total = max(1, file.metadata.num_rows)
        row, raw = 0, piece.size * position.offset // total
        for group in range(file.num_row_groups):
            about = file.metadata.row_group(group)
            rows = about.num_rows
            if row + rows <= position.offset:
                row += rows
                continue
            at_once = max(1, min(ROWS, reading.block * rows // max(1, about.total_byte_size)))
            last = row + rows
            batches = file.iter_batches(at_once, row_groups=[group], columns=columns, use_threads=False)
            while True:
                try:
                    batch = next(batches, None)
                except (pa.ArrowException, OSError) as wrong:
                    detail = f"row group {group}, {last - row:,} rows are lost: {_cause(wrong)}"
                    damage = Flaw("damaged-file", detail)
                    end, nothing = Position(position.piece, last), pa.array([], pa.binary())
                    yield Block("rows", nothing, position.piece, row, end, damage=damage)
                    row = last  # other row groups can be read
                    break
                if batch is None:
                    break
                skip = max(0, position.offset - row)
                row += len(batch)
                if skip >= len(batch):
                    continue
                batch = batch.slice(skip)
                texts = binary_column(batch.column(reading.text_key), piece.path, reading.text_key)
                ids = batch.column(reading.id_key).to_pylist() if reading.id_key in columns else None
                done = piece.size * row // total
                end = Position(position.piece, row)
                block = Block("rows", texts, position.piece, row - len(batch), end, done - raw, ids=ids)
                raw = done
                yield block


def _cause(wrong: Exception) -> str:
    """Arrow's message in one line. An error of the system is raised: the file is not to blame."""
    if isinstance(wrong, OSError) and wrong.errno is not None:
        raise wrong
    return " ".join(str(wrong).split())


def no_column(what: str, reading: Reading, names: Iterable[str]) -> ValueError:
    """The error of a table without the column of the text."""
    return ValueError(f"{what}: no column {reading.text_key!r} (there are: {', '.join(names)}); name it: text_key=")


def binary_column(column: Any, what: str, key: str) -> Any:
    """A column of text as binary; other types are refused, because no row of them has text."""
    if hasattr(column, "storage"):  # of an extension, such as arrow.json, the type of Parquet's JSON columns
        column = column.storage
    if hasattr(column, "dictionary_decode"):
        column = column.dictionary_decode()
    if str(column.type) == "null":
        return column
    if str(column.type) not in TEXT:
        raise ValueError(f"{what}: column {key!r} holds {column.type}, not text")
    return column.cast("large_binary")
