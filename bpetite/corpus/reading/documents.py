"""The documents of a corpus as texts, for whoever does not want tokens of them: training counts them."""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from ..codec import Codec, Ids, Offsets
from ..tally import Tally
from ..work import Encoding, encode_blocks
from .readers import Reading, read_blocks
from .sources import Piece

__all__ = ["read_documents"]


def read_documents(
    pieces: Sequence[Piece],
    reading: Reading,
    *,
    on_error: str = "fail",
    log: Callable[[str], None] | None = None,
    progress: Callable[[int], object] | None = None,
) -> Iterator[bytes]:
    """The documents of a corpus, those with problems treated as ``on_error`` says.

    Args:
        pieces: What to read, from `find_sources`.
        reading: How to read it.
        on_error: "fail", "skip" or "replace".
        log: Told the first problem of each kind.
        progress: Told how many more bytes of the files have been read.

    Returns:
        An iterator over documents in UTF-8, in the order of the files; a block of them is held at a time.

    Raises:
        RecordError: A record is not as it should be, and the policy is "fail".
    """
    sieve = _Sieve()
    codec = Codec(sieve.encode, sieve.encode, lambda _: b"", 1, None, None, "", "")
    encoding = Encoding(reading, on_error, "none", "uint32")
    tally = Tally(tuple(pieces), on_error, log)
    for block in read_blocks(pieces, reading):
        encoded = encode_blocks([block], codec, encoding)
        tally.add(encoded)
        yield from sieve.take()
        if progress is not None:
            progress(encoded.raw)


@dataclass
class _Sieve:
    """A codec's encoder that gives no ids and keeps the documents that are UTF-8."""

    texts: list[bytes] = field(default_factory=list)

    def encode(self, texts: Sequence[bytes]) -> tuple[Ids, Offsets]:
        for text in texts:
            if not text.isascii():
                text.decode("utf-8")
        self.texts.extend(texts)
        return np.empty(0, np.uint32), np.zeros(len(texts) + 1, np.int64)

    def take(self) -> list[bytes]:
        texts, self.texts = self.texts, []
        return texts
