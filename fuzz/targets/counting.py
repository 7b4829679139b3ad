"""Files of counts: read, or refused with FormatError. What was read can be written and read back."""
from __future__ import annotations

import struct
import zlib

from bpetite import FormatError, PretokenCounts, count_pretokens, patterns

from .scratch import fresh, write

__all__ = ["one", "seeds"]


def one(data: bytes) -> None:
    """The file as it is, and with its checksum set right, so that what lies behind the checksum is reached."""
    for content in (data, data[:-4] + struct.pack("<I", zlib.crc32(data[:-4])) if len(data) > 4 else data):
        path = write("counts", "one.counts", content)
        try:
            counts = PretokenCounts.load(path)
        except FormatError:
            continue
        again = fresh("counts") / "again.counts"
        counts.save(again)
        if dict(PretokenCounts.load(again)) != dict(counts):
            raise AssertionError("saved and loaded, they are other counts")


def seeds() -> list[bytes]:
    made = []
    for counts in (
        PretokenCounts({b" the": 3, b"cat": 1}, documents=4),
        count_pretokens(["ab ab 12 的 é" * 5], pattern=patterns.CL100K, special_tokens=["<s>"]),
        PretokenCounts({b"x": 2**63 - 1}, pattern=None, normalization="NFC"),
    ):
        path = fresh("counts") / "seed.counts"
        counts.save(path)
        made.append(path.read_bytes())
    return made
