"""Pieces to blocks: whole records, a few megabytes together, which `records.py` parses later, in parallel."""
from __future__ import annotations

import importlib
import importlib.util
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from ...errors import MissingExtraError
from .blocks import Block, Piece, Position, Reading
from .expanding import DamagedError
from .find import GIVEN, Input
from .given import given_blocks
from .parquet import parquet_blocks
from .problems import Flaw
from .records import texts_of_values
from .streams import BOM, Stream
from .text import Cutter, text_blocks


def read_blocks(inputs: Sequence[Input], pieces: Iterable[Piece], reading: Reading) -> Iterator[Block]:
    """The blocks of pieces, in order."""
    for piece in pieces:
        source = inputs[piece.input]
        yield from _READERS[source.kind](source, piece, reading)


def require(inputs: Sequence[Input]) -> None:
    """Raises MissingExtraError before a run if an input needs a package that is missing."""
    read = {source.kind for source in inputs} | {source.compression for source in inputs}
    for package, what in (("pyarrow", "parquet"), ("zstandard", "zst")):
        if what in read:
            try:
                importlib.import_module(package)
            except ModuleNotFoundError:
                raise MissingExtraError(f"reading .{what}", package, "corpus") from None


def parsers(inputs: Sequence[Input]) -> dict[str, str]:
    """The versions of the installed packages that parse these inputs."""
    kinds = {source.kind for source in inputs}
    versions = {}
    for package, needed in (("orjson", {"jsonl"}), ("pyarrow", {"parquet"})):
        if kinds & needed and importlib.util.find_spec(package) is not None:
            versions[package] = importlib.import_module(package).__version__  # its metadata takes an import of email
    return versions


def _json(source: Input, piece: Piece, reading: Reading) -> Iterator[Block]:
    """Files named .json hold JSON lines as often as an array; the first line shows which. An array is read whole."""
    most = reading.max_document
    with reading.open(source) as stream:
        if _holds_lines(stream, reading):
            yield from Cutter(stream, source, piece, reading).blocks()
            stream.check_unchanged()
            return
        damage, data = None, b""
        try:
            data = stream.window(0, most + 1)
        except DamagedError as error:
            damage = Flaw("damaged-file", str(error))
        raw = stream.raw_offset
        stream.check_unchanged()
    if len(data) > most:
        damage = Flaw("too-long", f"a .json file of more than {most} bytes; make it JSON lines, as jq -c '.[]' does")
    if damage is not None:
        yield Block("items", [], piece.input, 0, Position(piece.input + 1), raw, damage=damage)
        return
    try:
        content = json.loads(data.decode("utf-8", "surrogateescape").removeprefix("\ufeff")) if data.strip() else []
    except (ValueError, RecursionError) as wrong:
        content = Flaw("malformed-json", str(wrong))
    values = content if isinstance(content, list) else [content]
    at_once = max(1, len(values) * reading.block // max(1, len(data)))
    for start in range(piece.start, len(values), at_once):
        texts, ids = texts_of_values(values[start : start + at_once], reading)
        yield Block("items", texts, piece.input, start, Position(piece.input, start + len(texts)), raw, ids=ids)
        raw = 0


def _holds_lines(stream: Stream, reading: Reading) -> bool:
    """True if the first line is a JSON object of its own."""
    try:
        size, start = reading.block, stream.window(0, reading.block)
        while b"\n" not in start and len(start) == size < reading.max_document:
            size = min(4 * size, reading.max_document)
            start = stream.window(0, size)
        line, newline, _ = start.removeprefix(BOM).partition(b"\n")
        return bool(newline) and isinstance(json.loads(line.decode("utf-8")), dict)
    except (ValueError, RecursionError):
        return False


_READERS: dict[str, Callable[[Input, Piece, Reading], Any]] = {
    "text": text_blocks, "jsonl": text_blocks, "whole": text_blocks, "json": _json, "parquet": parquet_blocks,
    GIVEN: given_blocks,
}  # fmt: skip
