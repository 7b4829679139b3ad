"""Unicode 16.0: the classes of characters that split patterns name, and which characters differ only in case.

Each version of Unicode adds letters, digits and spaces, and tiktoken 0.14 and tokenizers 0.23.3 have 16.0. The
package carries this version as data, so that an upgrade of `regex` or Python changes no id. `tools/unicode_data.py`
writes the file: compressed, in the second version of `marshal`, which every Python reads alike.
"""
from __future__ import annotations

import marshal
import os
from bisect import bisect_right
from functools import cache, lru_cache

UNICODE = "16.0"
FILE = os.path.join(os.path.dirname(__file__), "..", "..", "data", f"unicode-{UNICODE}.bin")

Ranges = tuple[tuple[int, int], ...]  # ascending, disjoint (start, stop)


def check_unicode(version: object) -> None:
    """Raise ValueError unless a file names this version of Unicode, or none."""
    if version not in (None, UNICODE):
        raise ValueError(f"unicode {version!r}: this release of bpetite has the characters of Unicode {UNICODE} only")


@cache
def _data() -> tuple[dict[str, int], tuple[Ranges, ...], tuple[tuple[int, ...], ...]]:
    """(name -> number of a class, the classes, the sets of characters that are equal where case is ignored)."""
    import zlib  # these two lines for patterns that do not ship

    with open(FILE, "rb") as file:
        content: tuple[dict[str, int], tuple[Ranges, ...], tuple[tuple[int, ...], ...]] = marshal.loads(
            zlib.decompress(file.read())
        )
    return content


def plain_name(name: str) -> str:
    """The name of a class in one spelling."""
    return name.lower().translate({ord("_"): None, ord("-"): None, ord(" "): None, ord(":"): "="})


def class_ranges(name: str) -> Ranges | None:
    r"""The code points of a class, named as inside ``\p{..}``; None if the data do not have it.

    >>> class_ranges("Join_Control"), class_ranges("no such class")
    (((8204, 8206),), None)
    """
    names, classes, _ = _data()
    number = names.get(plain_name(name))
    return None if number is None else classes[number]


@lru_cache(maxsize=256)
def ignoring_case(ranges: Ranges) -> Ranges:
    """These code points and those that differ from one of them only in case, by Unicode's simple case folding.

    >>> ignoring_case(((115, 116),))
    ((83, 84), (115, 116), (383, 384))
    """
    starts = [start for start, _ in ranges]

    def holds(point: int) -> bool:
        at = bisect_right(starts, point) - 1
        return at >= 0 and point < ranges[at][1]

    added = [(point, point + 1) for orbit in _data()[2] if any(map(holds, orbit)) for point in orbit]
    merged: list[tuple[int, int]] = []
    for start, stop in sorted([*ranges, *added]):
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(stop, merged[-1][1])
        else:
            merged.append((start, stop))
    return tuple(merged)
