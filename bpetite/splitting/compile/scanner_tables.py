"""The tables of a scanner; the tables of named patterns ship with the package.

Making tables takes a tenth of a second. `tools/scanner_tables.py` writes the tables of all named patterns into
`data/scanners-16.0.bin`, and a test makes them anew.

The file holds a dict of the regular expressions -> their tables, compressed, in the form of `marshal`: plain values
in its second version, which every Python reads alike, and which takes no import.
"""
import marshal
import os
import sys
from collections.abc import Mapping
from typing import Any, NamedTuple

from ..pattern.unicode_data import UNICODE
from .vector_tables import Paged, VectorTables

FILE = os.path.join(os.path.dirname(__file__), "..", "..", "data", f"scanners-{UNICODE}.bin")


class ScannerTables(NamedTuple):
    """The tables of a scanner. Bytes by code and state are `table[code * states + state]`."""

    next: bytes
    out: bytes
    column: bytes  # code -> column: codes with one column do the same in every state
    synchronized: bytes  # by two columns: 1 + the state after both if it is the same from every state, else 0
    page_of: bytes  # code point // 64 -> page number, 16 bits each
    pages: bytes  # page number * 64 + code point % 64 -> code
    states: int
    columns: int
    used_bits: int  # all bits that occur in an output
    mark_back: int  # distance of the mark in characters
    continuation: int  # the code of a character's bytes after the first
    end: int  # the code of the end of the text
    gapless: bool  # every pattern matches all of every text: no text lies between its matches
    vector: VectorTables | None  # the same transducer for 64 lanes, if it fits


def shipped(stages: tuple[str, ...]) -> ScannerTables | None:
    """The tables of regular expressions, each inside the parts of the one before, that ship with the package; None if
    they do not."""
    if sys.byteorder != "little":
        return None
    with open(FILE, "rb") as file:
        packed = marshal.load(file).get(stages)
    if packed is None:
        return None
    import zlib

    return _tables(marshal.loads(zlib.decompress(packed)))


def to_file(tables: Mapping[tuple[str, ...], ScannerTables]) -> bytes:
    """The content of a file."""
    import zlib

    return marshal.dumps({key: zlib.compress(marshal.dumps(_plain(one), 2), 9) for key, one in tables.items()}, 2)


def _plain(value: Any) -> Any:
    return tuple(map(_plain, value)) if isinstance(value, tuple) else value


def _tables(parts: tuple[Any, ...]) -> ScannerTables:
    *plain, vector = parts
    if vector is not None:
        transition, following, out, subset, all_states = vector
        vector = VectorTables(Paged(*transition), following, out, Paged(*subset), all_states)
    return ScannerTables._make((*plain, vector))
