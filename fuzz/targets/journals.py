"""A run that goes on from a journal somebody else wrote: it fails, or goes on, and touches nothing but its output."""
from __future__ import annotations

import json
import zlib

from bpetite import Tokenizer
from bpetite.corpus import encode_corpus

from .scratch import fresh, scratch

__all__ = ["WORDS", "one", "seeds"]

WORDS = (
    b'"name"', b'"../keep"', b'"/keep"', b'"out.npy"', b'"finished"', b'"writers"', b'"files"', b'"position"',
    b'"tally"', b"null", b"[]", b"{}", b"-1", b"1e300", b'"outputs"', b'"partial"', b"\n", b'"out.npy.partial"',
)  # fmt: skip

TOK = Tokenizer.train("ab ab ab", 258)


def one(data: bytes) -> None:
    """Lines of JSON; each gets its checksum, and the whole is the journal of the run."""
    folder = fresh("journal")
    (folder / "in.txt").write_text("ab<|endoftext|>ab ab")
    (folder / "keep").write_text("keep")
    out = folder / "out"
    out.mkdir()
    lines = [line for line in data.split(b"\n") if line]
    records = [b"%08x %b\n" % (zlib.crc32(line), line) for line in lines]
    (out / "journal").write_bytes(b"".join([b"bpetite journal\n", *records]))  # without its head, nothing is read
    try:
        encode_corpus(folder / "in.txt", out, TOK, checkpoint_seconds=0)
    except Exception:  # a record with the right checksum is trusted for its shape, not for the names in it
        pass
    if (folder / "keep").read_text() != "keep":
        raise AssertionError("a file outside of the output was touched")
    if {path.name for path in folder.iterdir()} != {"in.txt", "keep", "out"}:
        raise AssertionError("a file outside of the output was made or deleted")


def seeds() -> list[bytes]:
    """The journals of runs that were stopped after each record."""
    from bpetite.corpus.output.durable import Journal

    folder = scratch("journal")
    records: list[dict[str, object]] = []
    append = Journal.append

    def noted(self: Journal, record: dict[str, object]) -> None:
        records.append(record)
        append(self, record)

    Journal.append = noted  # type: ignore[method-assign]
    try:
        fresh("journal")
        (folder / "in.txt").write_text("ab<|endoftext|>ab ab")
        encode_corpus(folder / "in.txt", f"{folder / 'out'}/", TOK, checkpoint_seconds=0)
    finally:
        Journal.append = append  # type: ignore[method-assign]
    lines = [json.dumps(record).encode() for record in records]
    return [b"\n".join(lines[:upto]) for upto in range(1, len(lines) + 1)]
