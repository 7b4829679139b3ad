"""The rule by which a stream of documents is cut into shards, for `shards.ShardWriter` and of `run.assembly`."""
from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from ..layouts.layout import Layout

__all__ = ["fill", "shard_sizes"]


def fill(
    lengths: npt.NDArray[np.int64], tokens: int, documents: int, limit: int | None
) -> Iterator[tuple[int, int, bool]]:
    """Shards of whole documents: each takes as many as fit into ``limit`` tokens, and at least one.

    Args:
        lengths: Of the next documents.
        tokens, documents: In the open shard.
        limit: Of a shard; None for one shard.

    Yields:
        (documents that go into the open shard, their tokens, whether the next shard is opened behind them).

    >>> list(fill(np.array([3, 4, 9, 1]), 2, 1, 6))
    [(1, 3, True), (1, 4, True), (1, 9, True), (1, 1, False)]
    """
    ends = np.cumsum(lengths)
    done = start = 0
    while done < len(lengths):
        upto = len(lengths)
        if limit is not None:
            upto = int(np.searchsorted(ends, start + limit - tokens, side="right"))
            if upto <= done:
                upto = done if documents else done + 1  # a document larger than a shard has one of its own
        stop = int(ends[upto - 1]) if upto else 0
        yield upto - done, stop - start, upto < len(lengths)
        done, start = upto, stop
        tokens = documents = 0


def shard_sizes(total: int, limit: int | None, layout: Layout) -> list[int]:
    """Shards of exactly ``limit`` tokens; the last one has the rest, and never less than the layout's `least_tail`."""
    if limit is None:
        return [total]
    count = max(0, (total - layout.least_tail(limit)) // limit)
    return [limit] * count + [total - limit * count]
