"""Maps of SentencePiece's normalizers (nmt_nfkc and the like), which replace some strings by others.

A map is a double array (of Darts-clone) of the strings. Their values are places in a list of replacements, each with a
NUL after it.

Sources: ``normalizer.cc`` in https://github.com/google/sentencepiece, https://github.com/s-yata/darts-clone, and for
graphemes https://github.com/huggingface/spm_precompiled
"""
import re
from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from typing import ClassVar, NamedTuple

from ..errors import short_repr

#: The most bytes of a grapheme that tokenizers looks up as a whole.
GRAPHEME = 5
#: The most places that are visited to read the strings; strings share their ends, and nmt_nfkc has half a million.
MOST = 1 << 22


@dataclass(frozen=True)
class Precompiled:
    """Replace characters by a map of SentencePiece.

    Args:
        charsmap: The map in base64.
        graphemes: Look up whole graphemes and single characters, as ``tokenizers`` does; false for the longest entry at
            each place, as SentencePiece does.
        kept: A regular expression of what stays as it is; "" for nothing.
    """

    saved_name: ClassVar[str] = "Precompiled"
    charsmap: str
    graphemes: bool = False
    kept: str = ""

    def __repr__(self) -> str:  # of nmt_nfkc, the map has 320,000 characters
        return f"Precompiled({short_repr(self.charsmap)}, graphemes={self.graphemes}, kept={self.kept!r})"


class CharsMap(NamedTuple):
    table: dict[str, str]  # string -> replacement
    longest: int  # characters of a string
    #: Its first group matches text that is kept; otherwise it matches the first character of strings in the table.
    places: re.Pattern[str]


@lru_cache(maxsize=8)
def compiled(step: Precompiled) -> CharsMap:
    """The table of a map. ValueError if it is no map, or `kept` is no regular expression."""
    import binascii  # these not at the top: most files do without them
    import struct
    from base64 import b64decode

    try:
        data = b64decode(step.charsmap, validate=True)
        (size,) = struct.unpack_from("<I", data)
        table = _read(struct.unpack_from(f"<{size // 4}I", data, 4), data[4 + size :])
        alone = char_class(key for key in table if len(key) == 1)
        first, second = (char_class(key[at] for key in table if len(key) > 1) for at in (0, 1))
        places = re.compile(f"({step.kept or '(?!)'})|{alone}|{first}(?={second})")
    except (binascii.Error, struct.error, re.error, UnicodeDecodeError, IndexError) as bad:
        raise ValueError(f"normalization: no map of SentencePiece, or a damaged one: {bad}") from None
    return CharsMap(table, max(map(len, table), default=0), places)


def char_class(chars: Iterable[str]) -> str:
    """A regular expression of any of some characters, in ranges.

    >>> char_class("acb")
    '[a-c]'
    """
    ranges = ""
    for _, group in groupby(enumerate(sorted(set(chars))), lambda one: ord(one[1]) - one[0]):
        run = [re.escape(char) for _, char in group]
        ranges += f"{run[0]}-{run[-1]}"
    return f"[{ranges}]" if ranges else "(?!)"


def _read(units: tuple[int, ...], replaced: bytes) -> dict[str, str]:
    """The strings of a double array: a unit has the byte that leads to it, which is the exclusive or of its place and
    its parent's offset, its own offset, and a mark if a string ends there."""
    children: defaultdict[int, array[int]] = defaultdict(lambda: array("q"))
    for at, unit in enumerate(units):
        if 0 < unit & 0x800000FF < 0x100:
            children[at ^ (unit & 0xFF)].append(at)
    table: dict[str, str] = {}
    visits, waiting = 0, [(_offset(units[0]), b"")]
    while waiting:
        offset, string = waiting.pop()
        for at in children[offset]:
            visits += 1
            if visits > MOST:
                raise IndexError("too many strings")
            unit = units[at]
            key = string + bytes([unit & 0xFF])
            below = at ^ _offset(unit)
            waiting.append((below, key))
            if unit & 0x100:
                start = units[below] & 0x7FFFFFFF
                table[key.decode("utf-8")] = replaced[start : replaced.index(b"\0", start)].decode("utf-8")
    return table


def _offset(unit: int) -> int:
    return unit >> 10 << ((unit & 0x200) >> 6)


def mapped(step: Precompiled, text: str) -> Iterator[tuple[int, int, str]]:
    """Yield (start, end, replacement) of what a step replaces in a text."""
    charsmap = compiled(step)
    if step.graphemes:
        yield from _of_graphemes(charsmap.table, text)
        return
    at = 0
    while place := charsmap.places.search(text, at):
        if place[1] is not None:
            at = max(place.end(), at + 1)
            continue
        at = place.start()
        size = next((size for size in range(charsmap.longest, 0, -1) if text[at : at + size] in charsmap.table), 0)
        if size:
            end = min(at + size, len(text))
            yield at, end, charsmap.table[text[at:end]]
        at += size or 1


def _of_graphemes(table: dict[str, str], text: str) -> Iterator[tuple[int, int, str]]:
    import regex  # not at the top: most files do without it, which is slow to import

    for place in regex.finditer(r"\X", text):
        whole = place[0]
        if len(whole.encode("utf-8")) <= GRAPHEME:
            key = next((whole[:size] for size in range(1, len(whole) + 1) if whole[:size] in table), None)
            if key is not None:  # that string stands for all of the grapheme
                yield *place.span(), table[key]
                continue
        for at, char in enumerate(whole, place.start()):
            if char in table:
                yield at, at + 1, table[char]
