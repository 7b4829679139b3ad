"""The documents of a corpus as texts instead of tokens, for training."""
from __future__ import annotations

from codecs import getincrementaldecoder
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ..codec import Codec, Ids, Offsets
from ..encoding import EncodingRules, encode_blocks
from ..tally import Tally
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
    """The documents of a corpus; those with problems are treated as ``on_error`` says.

    Args:
        pieces: What to read, from `find_sources`.
        reading: How to read it.
        on_error: "fail", "skip" or "replace".
        log: Called with the first problem of each kind.
        progress: Called with the bytes of the files that have been read since the last call.

    Yields:
        Documents in UTF-8, in the order of the files; a block of them is in memory at a time.

    Raises:
        RecordError: A record has a problem, and the policy is "fail".
    """
    reading = replace(reading, stop=on_error == "fail")
    collector = _Collector()
    codec = Codec(collector.encode, collector.encode, lambda _: b"", 1, None, None, "", "")
    rules = EncodingRules(reading, on_error, "none", "uint32")
    tally = Tally(tuple(pieces), on_error, log)
    for block in read_blocks(pieces, reading):
        encoded = encode_blocks([block], codec, rules)
        tally.add(encoded)
        yield from collector.take()
        if progress is not None:
            progress(encoded.raw)


def _check_utf8(text: bytes) -> None:
    """Raises UnicodeDecodeError for bytes that are not UTF-8; a window at a time, because a str can take four bytes a
    character."""
    decoder = getincrementaldecoder("utf-8")()
    for at in range(0, len(text), 1 << 20):
        decoder.decode(text[at : at + (1 << 20)])
    decoder.decode(b"", final=True)


@dataclass
class _Collector:
    """A codec's encoder that gives no ids and keeps the documents that are UTF-8."""

    texts: list[bytes] = field(default_factory=list)

    def encode(self, texts: Sequence[bytes]) -> tuple[Ids, Offsets]:
        for text in texts:
            if not text.isascii():
                _check_utf8(text)
        self.texts.extend(texts)
        return np.empty(0, np.uint32), np.zeros(len(texts) + 1, np.int64)

    def take(self) -> list[bytes]:
        texts, self.texts = self.texts, []
        return texts
