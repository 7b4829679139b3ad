"""Writes `bpetite/data/character-maps.bin`: what Lowercase and StripAccents of `tokenizers` make of characters.

    python tools/character_maps.py

They have tables of their own: Lowercase that of Rust, for each character alone; StripAccents an older class Mn.
"""
from __future__ import annotations

import marshal
import zlib
from pathlib import Path

from tokenizers import normalizers

from bpetite.steps.normalizers import MAPS, MAPS_FILE


def main() -> None:
    made: dict[str, dict[int, str]] = {}
    for name in MAPS:
        normalize = getattr(normalizers, name)().normalize_str
        made[name] = {
            code: mapped for code in range(0x110000) if not 0xD800 <= code < 0xE000
            and (mapped := normalize(chr(code))) != chr(code)
        }  # fmt: skip
    Path(MAPS_FILE).write_bytes(zlib.compress(marshal.dumps(made, 2), 9))


if __name__ == "__main__":
    main()
