"""Documents in segments, of which each is trained on or not: for supervised fine-tuning.

A document is a list of objects with a text and a label, as the trainers of such data have it, or a str, which is one
segment that is trained on. Until its tokens are in their files, the label of a token is its highest bit: so nothing
between encoding and writing has to know of labels.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .encoding.codec import Ids, Offsets

__all__ = ["TRAINED", "Segmented", "encode_segments", "split_labels"]

#: The bit of a token that is trained on; ids are smaller.
TRAINED = 1 << 31


class Segmented(bytes):
    """The text of a document, as all of its segments together, and (end in bytes, whether it is trained on) of each."""

    segments: tuple[tuple[int, bool], ...]

    @classmethod
    def of(cls, parts: Sequence[tuple[bytes, bool]]) -> Segmented:
        """The document of (text, label) of segments."""
        made = cls(b"".join(text for text, _ in parts))
        ends = np.cumsum([len(text) for text, _ in parts]).tolist()
        made.segments = tuple((end, label) for end, (_, label) in zip(ends, parts, strict=True))
        return made


def encode_segments(
    texts: Sequence[bytes], encode: Callable[[Sequence[bytes]], tuple[Ids, Offsets]]
) -> tuple[Ids, Offsets]:
    """Ids, with the labels of their segments, and offsets of documents; each segment is encoded for itself.

    >>> def encode(texts):
    ...     return np.frombuffer(b"".join(texts), np.uint8).astype(np.uint32), np.cumsum([0, *map(len, texts)])
    >>> ids, offsets = encode_segments([Segmented.of([(b"a", False), (b"bc", True)]), b"d"], encode)
    >>> split_labels(ids)[0].tolist(), split_labels(ids)[1].tolist(), offsets.tolist()
    ([97, 98, 99, 100], [0, 1, 1, 1], [0, 3, 4])
    """
    pieces: list[bytes] = []
    labels: list[bool] = []
    counts = [0]
    for text in texts:
        start = 0
        segments = text.segments if isinstance(text, Segmented) else ((len(text), True),)
        for end, label in segments:
            pieces.append(text[start:end])
            labels.append(label)
            start = end
        counts.append(len(segments))
    ids, ends = encode(pieces)
    trained = np.repeat(np.array(labels, np.uint32), np.diff(ends))
    return ids | (trained << np.uint32(31)), ends[np.cumsum(counts)]


def split_labels(tokens: npt.NDArray[Any]) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint8]]:
    """(ids, 1 for each that is trained on, else 0)."""
    return tokens & np.uint32(TRAINED - 1), (tokens >> np.uint32(31)).astype(np.uint8)
