"""Writes `bpetite/data/normal-forms-9.0.bin`: what the normal forms of Unicode 9.0 do to characters.

    python tools/normal_forms.py

They are those of `tokenizers`, which are asked at the end. Unicode never changes the forms of a character that it has
assigned, so that those of any later version, read from Python, hold for the characters of 9.0. All others stay as they
are. `bpetite/steps/normalizers.py` tells what the file holds.
"""
from __future__ import annotations

import marshal
import unicodedata
import zlib
from collections import defaultdict
from pathlib import Path

from tokenizers import normalizers

from bpetite.splitting.pattern.unicode_data import class_ranges
from bpetite.steps.normalizers import FORMS_FILE


def main() -> None:
    known = [chr(code) for start, stop in class_ranges("Age=9.0") for code in range(start, stop) if code < 0xAC00
             or code > 0xDFFF]  # fmt: skip
    marks: defaultdict[int, str] = defaultdict(str)
    for char in known:
        marks[unicodedata.combining(char)] += char
    del marks[0]
    canonical = {char: made for char in known if (made := unicodedata.normalize("NFD", char)) != char}
    compatible = {
        char: made for char in known if (made := unicodedata.normalize("NFKD", char)) != canonical.get(char, char)
    }
    pairs = {}
    for char in canonical:
        pair = "".join(chr(int(part, 16)) for part in unicodedata.decomposition(char).split())
        if len(pair) == 2 and unicodedata.normalize("NFC", pair) == char:
            pairs[pair] = char
    for made, form in ((canonical, normalizers.NFD()), (canonical | compatible, normalizers.NFKD())):
        assert all(form.normalize_str(char) == made.get(char, char) for char in map(chr, points()))
    assert all(normalizers.NFC().normalize_str(pair) == char for pair, char in pairs.items())
    data = marshal.dumps((dict(marks), canonical, compatible, pairs), 2)
    Path(FORMS_FILE).write_bytes(zlib.compress(data, 9))


def points() -> list[int]:
    return [code for code in range(0x110000) if not 0xAC00 <= code <= 0xDFFF]


if __name__ == "__main__":
    main()
