"""The tables of a scanner; the tables of named patterns ship with the package.

Making tables takes a tenth of a second: `regex` is asked which code points are in the pattern's classes, so they depend
on its version of Unicode. `data/scanners-16.0.bin` holds the tables of all named patterns as a release of `regex` with
Unicode 16.0 gives them; `tools/scanner_tables.py` writes these files, and a test makes the installed release's
anew. (A newer release that is asked for 16.0 gives others in places: versions of Unicode change classes, too.)

Such a file holds a dict of the regular expressions -> their tables, compressed, in the form of `marshal`: plain values
in its second version, which every Python reads alike, and which takes no import.
"""
import marshal
import os
import sys
from collections.abc import Mapping
from importlib.machinery import PathFinder
from typing import Any, NamedTuple

from .vector_tables import Paged, Rows, VectorTables

__all__ = ["ScannerTables", "shipped", "to_file"]

#: The releases of ``regex`` that brought another version of Unicode, and the last one known; ascending.
RELEASES: tuple[tuple[tuple[int, ...], str], ...] = (
    ((2024, 9, 11), "16.0"),
    ((2025, 10, 22), "17.0"),
    ((2026, 9, 29), "18.0"),
    ((2026, 11, 19), "18.0"),
)


class ScannerTables(NamedTuple):
    """The tables of a scanner. Bytes by code and state are `table[code * states + state]`."""

    next: bytes
    out: bytes
    column: bytes  # code -> column: codes with one column do the same in every state
    synchronized: bytes  # by two columns: 1 + the state after both if it is the same from every state, else 0
    stage: bytes  # code point // 64 -> page number, 16 bits each
    pages: bytes  # page number * 64 + code point % 64 -> code
    states: int
    columns: int
    used_bits: int  # all bits that occur in an output
    mark_back: int  # distance of the mark in characters
    continuation: int  # the code of a character's bytes after the first
    end: int  # the code of the end of the text
    gapless: bool  # every pattern matches all of every text: no text lies between its matches
    vector: VectorTables | None  # the same transducer for 64 lanes, if it fits


def file_of(unicode: str) -> str:
    """The file with the tables for the version of Unicode of a release of ``regex``."""
    package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    return os.path.join(package, "data", f"scanners-{unicode}.bin")


def shipped(stages: tuple[str, ...]) -> ScannerTables | None:
    """The tables of regular expressions, each inside the parts of the one before, that ship with the package for the
    installed ``regex``, which is not imported; None if they do not."""
    known = _unicode_of_regex()
    if known is None or sys.byteorder != "little" or not os.path.isfile(file_of(known)):
        return None
    with open(file_of(known), "rb") as file:
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


def _unicode_of_regex() -> str | None:
    """The version of Unicode of the installed ``regex``, from its release; None if that is not known."""
    installed = _release_of_regex()
    if installed is None or not RELEASES[0][0] <= installed <= RELEASES[-1][0]:
        return None
    return [version for release, version in RELEASES if release <= installed][-1]


def _release_of_regex() -> tuple[int, ...] | None:
    # the folder beside the package says it; importlib.metadata takes as long as importing `regex`
    spec = PathFinder.find_spec("regex")
    folder = None if spec is None or spec.origin is None else os.path.dirname(os.path.dirname(spec.origin))
    names = [] if folder is None or not os.path.isdir(folder) else os.listdir(folder)
    releases = [name[6:-10].split(".") for name in names if name.startswith("regex-") and name.endswith(".dist-info")]
    if len(releases) != 1 or not all(part.isdigit() for part in releases[0]):
        return None
    return tuple(map(int, releases[0]))


def _tables(parts: tuple[Any, ...]) -> ScannerTables:
    *plain, vector = parts
    if vector is not None:
        transition, following, out, subset, all_states, rows = vector
        rows = None if rows is None else Rows(*rows)
        vector = VectorTables(Paged(*transition), following, out, Paged(*subset), all_states, rows)
    return ScannerTables._make((*plain, vector))
