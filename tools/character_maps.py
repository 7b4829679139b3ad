"""Writes `bpetite/data/character-maps.bin`: what `tokenizers` makes of characters in some normalizers.

    python tools/character_maps.py

They have tables of their own: Lowercase that of Rust, for each character alone; StripAccents, and BertNormalizer after
NFD, two classes of marks. Each is a map of SentencePiece (`bpetite/headers/charsmap.h`): its nodes are put where the
first free units are.
"""
from __future__ import annotations

import marshal
import struct
import zlib
from pathlib import Path
from typing import Any

from tokenizers import normalizers

from bpetite.steps.normalizers import BERT_ACCENTS, MAPS, MAPS_FILE


def main() -> None:
    made: dict[str, bytes] = {}
    bert = normalizers.BertNormalizer(False, False, strip_accents=True, lowercase=False)
    steps = dict(zip((*MAPS, BERT_ACCENTS), (normalizers.Lowercase(), normalizers.StripAccents(), bert), strict=True))
    for name, normalizer in steps.items():
        chars = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
        made[name] = charsmap({
            char: mapped for char in chars if (mapped := normalizer.normalize_str(char)) != char
            and (name != BERT_ACCENTS or not mapped)
        })  # fmt: skip
    Path(MAPS_FILE).write_bytes(zlib.compress(marshal.dumps(made, 2), 9))


def charsmap(replacements: dict[str, str]) -> bytes:
    """The map of characters to what replaces them."""
    root: dict[int, Any] = {}  # byte -> the node that it leads to; 0 -> the place of a replacement
    contents = bytearray()
    for char, made in replacements.items():
        node = root
        for byte in char.encode():
            node = node.setdefault(byte, {})
        data = made.encode() + b"\0"
        if data not in contents:
            contents += data
        node[0] = contents.index(data)
    units = {0: 0}
    put(units, {0}, 0, root)
    size = max(units) + 1
    return struct.pack(f"<I{size}I", 4 * size, *(units.get(at, 0) for at in range(size))) + contents


def put(units: dict[int, int], taken: set[int], at: int, node: dict[int, Any]) -> None:
    """Add what lies below the unit of a node, at an offset that is not `taken` by another node."""
    free = (one for one in range(1 << 21) if one not in taken)
    below = next(one for one in free if not any(one ^ label in units for label in node))
    taken.add(below)
    units[at] |= (at ^ below) << 10 | (0 in node) << 8
    units |= {below ^ label: label or 1 << 31 | node[0] for label in node}
    for label, inner in node.items():
        if label:
            put(units, taken, below ^ label, inner)


if __name__ == "__main__":
    main()
