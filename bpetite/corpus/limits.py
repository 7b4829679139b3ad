"""Which documents are too short or too long, and what becomes of them."""
from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .encoding.codec import Ids, Offsets
from .reading.records import Documents

__all__ = ["LONG_DOCUMENTS", "Limits"]

#: What becomes of documents with too many tokens.
LONG_DOCUMENTS = ("cut", "split", "skip")


@dataclass(frozen=True)
class Limits:
    """Limits of documents, besides the one of `Reading`, which is kept while they are read.

    Attributes:
        min_bytes: Documents with fewer bytes as UTF-8 are left out.
        max_tokens: The most tokens of a document, its end-of-text token not counted; None for any number.
        long_documents: "cut" keeps the first ``max_tokens``, "split" makes documents of that many, "skip" leaves out.
    """

    min_bytes: int = 0
    max_tokens: int | None = None
    long_documents: str = "cut"

    def __bool__(self) -> bool:
        return self.min_bytes > 0 or self.max_tokens is not None

    def leave_out_short(self, documents: Documents) -> int:
        """Take short documents out; returns their number. The documents have their origins."""
        before, least = len(documents.texts), self.min_bytes
        documents.keep([number for number, text in enumerate(documents.texts) if len(text) >= least])
        return before - len(documents.texts)

    def shorten(self, ids: Ids, offsets: Offsets) -> tuple[Ids, Offsets, npt.NDArray[np.int64], int] | None:
        """What documents with too many tokens become.

        Returns:
            Ids and offsets of the documents that are kept or made, the number of the document that each is or is part
            of, and how many were too long; None if none was.

        >>> ids, offsets = np.arange(7, dtype=np.uint32), np.array([0, 5, 7])
        >>> for how in LONG_DOCUMENTS:
        ...     kept, ends, number, _ = Limits(0, 2, how).shorten(ids, offsets)
        ...     kept.tolist(), ends.tolist(), number.tolist()
        ([0, 1, 5, 6], [0, 2, 4], [0, 1])
        ([0, 1, 2, 3, 4, 5, 6], [0, 2, 4, 5, 7], [0, 0, 0, 1])
        ([5, 6], [0, 2], [1])
        """
        most = self.max_tokens
        lengths = np.diff(offsets)
        if most is None or int(lengths.max(initial=0)) <= most:
            return None
        long = lengths > most
        numbers = np.arange(len(lengths))
        if self.long_documents == "split":
            parts = np.maximum(1, -(-lengths // most))
            numbers = np.repeat(numbers, parts)
            inside = np.arange(len(numbers)) - np.repeat(np.cumsum(parts) - parts, parts)  # number of the part
            lengths = np.minimum(most, lengths[numbers] - inside * most)
        elif self.long_documents == "cut":
            at = np.arange(len(ids)) - np.repeat(offsets[:-1] - offsets[0], lengths)
            ids, lengths = ids[at < most], np.minimum(most, lengths)
        else:
            ids, numbers, lengths = ids[np.repeat(~long, lengths)], numbers[~long], lengths[~long]
        ends = np.zeros(len(lengths) + 1, np.int64)
        np.cumsum(lengths, out=ends[1:])
        return ids, ends, numbers, int(long.sum())
