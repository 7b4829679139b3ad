"""Parquet: the rows of a column, a row group at a time."""
from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

from ..sources.find import Piece
from ..sources.stores import is_url
from ..sources.streams import Stream
from .blocks import Block, Position, Reading
from .problems import Flaw

__all__ = ["no_column", "parquet_blocks", "row_groups", "texts_of"]

#: Rows of a Parquet block at most; fewer where the file says that rows are large.
ROWS = 16384

#: The types of Arrow that hold text.
TEXT = ("string", "large_string", "string_view", "binary", "large_binary", "binary_view")


@lru_cache(maxsize=8)
def row_groups(piece: Piece) -> tuple[Any, list[tuple[int, int, int]]]:
    """(the metadata of a Parquet file; of each row group the first row, the one behind its last, and its bytes)."""
    import pyarrow.parquet as pq

    with Stream(piece, ranges=True) as stream, pq.ParquetFile(stream.file) as file:
        metadata = file.metadata
    groups, row = [], 0
    for number in range(metadata.num_row_groups):
        about = metadata.row_group(number)
        groups.append((row, row + about.num_rows, about.total_byte_size))
        row += about.num_rows
    return metadata, groups


def parquet_blocks(
    piece: Piece, position: Position, reading: Reading, limit: int | None = None
) -> Iterator[Block]:
    if piece.compression or piece.once:
        raise ValueError(f"{piece.path}: Parquet is read from a plain file (it is compressed inside)")
    with Stream(piece, ranges=True) as stream:
        yield from _row_groups(stream, piece, position, reading, limit)
        stream.check_unchanged()


def _row_groups(
    stream: Stream, piece: Piece, position: Position, reading: Reading, limit: int | None
) -> Iterator[Block]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        metadata, groups = row_groups(piece)
        # of an object, the columns of a row group are read in a few ranges; of a file, a buffer at a time
        file = pq.ParquetFile(
            stream.file, metadata=metadata, buffer_size=1 << 20, pre_buffer=is_url(piece.path),
            page_checksum_verification=True,
        )  # fmt: skip
    except (pa.ArrowException, OSError) as wrong:
        damage = Flaw("damaged-file", f"not a Parquet file: {_cause(wrong)}")
        yield Block("items", [], position.piece, 0, Position(position.piece + 1), damage=damage)
        return
    with file:
        names = file.schema_arrow.names
        if reading.text_key not in names:
            raise no_column(piece.path, reading, names)
        columns = [reading.text_key, *([reading.id_key] if reading.id_key in names else [])]
        total = max(1, metadata.num_rows)
        raw = piece.size * position.offset // total
        for group, (row, last, size) in enumerate(groups):
            if last <= position.offset:
                continue
            if limit is not None and row >= limit:
                break
            at_once = max(1, min(ROWS, reading.block * (last - row) // max(1, size)))
            batches = file.iter_batches(at_once, row_groups=[group], columns=columns, use_threads=False)
            while True:
                try:
                    batch = next(batches, None)
                except (pa.ArrowException, OSError) as wrong:
                    detail = f"row group {group}, {last - row:,} rows are lost: {_cause(wrong)}"
                    damage = Flaw("damaged-file", detail)
                    yield Block("items", [], position.piece, row, Position(position.piece, last), damage=damage)
                    break  # other row groups can be read
                if batch is None:
                    break
                skip = max(0, position.offset - row)
                row += len(batch)
                if skip >= len(batch):
                    continue
                batch = batch.slice(skip)
                texts = texts_of(batch.column(reading.text_key), piece.path, reading.text_key)
                ids = batch.column(reading.id_key).to_pylist() if reading.id_key in columns else None
                done = piece.size * row // total
                end = Position(position.piece, row)
                block = Block("items", texts, position.piece, row - len(batch), end, done - raw, ids=ids)
                raw = done
                yield block


def _cause(wrong: Exception) -> str:
    """Arrow's message in one line. An error of the system is raised: the file is not to blame."""
    if isinstance(wrong, OSError) and wrong.errno is not None:
        raise wrong
    return " ".join(str(wrong).split())


def no_column(what: str, reading: Reading, names: Iterable[str]) -> ValueError:
    return ValueError(f"{what}: no column {reading.text_key!r} (there are: {', '.join(names)}); name it: text_key=")


def texts_of(column: Any, what: str, key: str) -> list[bytes | Flaw]:
    """The texts of a column; a null has none. Other types are refused, because no row of them has text."""
    if hasattr(column, "storage"):  # of an extension, such as arrow.json, the type of Parquet's JSON columns
        column = column.storage
    if hasattr(column, "dictionary_decode"):
        column = column.dictionary_decode()
    if str(column.type) not in (*TEXT, "null"):
        raise ValueError(f"{what}: column {key!r} holds {column.type}, not text")
    texts, null = column.cast("large_binary").to_pylist(), Flaw("no-text", f"{key!r} is null")
    return [null if text is None else text for text in texts] if column.null_count else texts
