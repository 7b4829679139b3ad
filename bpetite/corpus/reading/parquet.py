"""Parquet: the rows of a column, a row group at a time."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..sources.files import RemoteFile
from ..sources.find import STDIN, Piece
from ..sources.streams import open_stream
from .blocks import Block, Position, Reading
from .cutting import LONG, Damage

__all__ = ["binary_column", "dig", "find_column", "parquet_blocks"]

#: Rows of a Parquet block at most; fewer where the file says that rows are large.
ROWS = 16384


def parquet_blocks(piece: Piece, position: Position, reading: Reading) -> Iterator[Block]:
    """The blocks of a Parquet file, from a position on.

    Raises:
        OSError: The file cannot be read.
        ValueError: It is compressed as a whole, or has no such column of text.
    """
    if piece.compression or piece.path == STDIN:
        raise ValueError(f"{piece.path}: Parquet is read from a plain file (it is compressed inside)")
    with open_stream(piece) as stream:
        yield from _row_groups(stream.arrow_source(), piece, position, reading)
        stream.check_unchanged()


def _row_groups(
    source: str | RemoteFile, piece: Piece, position: Position, reading: Reading
) -> Iterator[Block]:
    import pyarrow as pa
    import pyarrow.compute
    import pyarrow.parquet as pq

    try:
        # of an object, the columns of a row group are read in a few ranges; of a file, a buffer at a time
        file = pq.ParquetFile(
            source, buffer_size=1 << 20, pre_buffer=source is not piece.path, page_checksum_verification=True
        )
    except (pa.ArrowException, OSError) as wrong:
        damage = Damage("damaged-file", f"not a Parquet file: {_cause(wrong)}")
        yield Block("rows", pa.array([], pa.binary()), position.piece, 0, Position(position.piece + 1), damage=damage)
        return
    with file:
        schema = file.schema_arrow
        text_path = find_column(schema, reading.text_key, pa)
        if text_path is None:
            names = ", ".join(schema.names)
            raise ValueError(f"{piece.path}: no column {reading.text_key!r} (there are: {names}); name it: text_key=")
        id_path = find_column(schema, reading.id_key, pa) if reading.id_key else None
        columns = [".".join(path) for path in (text_path, id_path) if path]
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
                    detail = f"row group {group}, of which {last - row:,} rows are lost: {_cause(wrong)}"
                    damage = Damage("damaged-file", detail)
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
                texts = binary_column(dig(batch, text_path, pa), pa, piece.path, reading.text_key)
                ids = dig(batch, id_path, pa).to_pylist() if id_path else None
                done = piece.size * row // total
                end = Position(position.piece, row)
                block = Block("rows", texts, position.piece, row - len(batch), end, done - raw, ids=ids)
                raw = done
                del batch, texts  # only the block holds them from now on
                if row == last and block.size >= LONG:
                    next(batches, None)  # has the reader free its pages, which can be twice as large as the rows
                    pa.default_memory_pool().release_unused()
                yield block
                del block


def _cause(wrong: Exception) -> str:
    """What Arrow found, in one line. An error of the system is raised: it is none of the file."""
    if isinstance(wrong, OSError) and wrong.errno is not None:
        raise wrong
    return " ".join(str(wrong).split())


def find_column(schema: Any, key: str, pa: Any) -> tuple[str, ...] | None:
    """The path of a column: its literal name, or names of nested structs joined by dots."""
    if key in schema.names:
        return (key,)
    path = tuple(key.split("."))
    if path[0] not in schema.names:
        return None
    kind = schema.field(path[0]).type
    for name in path[1:]:
        if not pa.types.is_struct(kind) or kind.get_field_index(name) < 0:
            return None
        kind = kind.field(name).type
    return path


def _views(pa: Any) -> list[Any]:
    """The tests for the types ``string_view`` and ``binary_view``, which older releases of Arrow do not have."""
    found = [getattr(pa.types, f"is_{name}_view", None) for name in ("string", "binary")]
    return [is_view for is_view in found if is_view is not None]


def dig(batch: Any, path: tuple[str, ...], pa: Any) -> Any:
    """The column at a path."""
    column = batch.column(path[0])
    for name in path[1:]:
        column = pa.compute.struct_field(column, name)
    return column


def binary_column(column: Any, pa: Any, path: str, key: str) -> Any:
    """A string or binary column as binary; other types are refused, because no row of them has text."""
    kind = column.type
    if isinstance(kind, pa.BaseExtensionType):  # such as arrow.json, the type of Parquet's JSON columns
        column, kind = column.storage, kind.storage_type
    if pa.types.is_dictionary(kind):
        column, kind = column.dictionary_decode(), kind.value_type
    if any(is_view(kind) for is_view in _views(pa)):
        target = pa.large_binary()
    elif pa.types.is_string(kind) or pa.types.is_binary(kind):
        target = pa.binary()
    elif pa.types.is_large_string(kind) or pa.types.is_large_binary(kind):
        target = pa.large_binary()
    elif pa.types.is_null(kind):
        return column
    else:
        raise ValueError(f"{path}: column {key!r} holds {kind}, not text")
    return column.cast(target)
