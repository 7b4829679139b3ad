"""The pieces of a corpus shared out to workers."""
from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate

from .find import GIVEN, STDIN, Piece

__all__ = ["TASK_BYTES", "share", "shares"]

#: Bytes of input of a task on a cluster, unless told otherwise.
TASK_BYTES = 256 << 20


def share(pieces: Sequence[Piece], rank: int, world_size: int, *, cut_files: bool = True) -> tuple[Piece, ...]:
    """The share of one of several equal workers; in the order of ranks, the shares are the whole, each document once.

    A document belongs to the rank in whose range of the concatenated files it starts. Plain text and JSON lines are
    cut at any byte (the reader finds the next document); other files go as a whole to the rank in which they start.

    Args:
        pieces: Whole files, as :func:`find_sources` gives them, or parts of them.
        rank: In 0 .. world_size - 1.
        world_size: Number of workers.
        cut_files: False keeps every file whole.

    Raises:
        ValueError: The rank is out of range, or the input is standard input, which only one process can read.
    """
    if not 0 <= rank < world_size:
        raise ValueError(f"rank {rank} is not in 0..{world_size - 1}")
    return next(shares(pieces, world_size, ranks=[rank], cut_files=cut_files))


def shares(
    pieces: Sequence[Piece], world_size: int, *, ranks: Iterable[int] | None = None, cut_files: bool = True
) -> Iterator[tuple[Piece, ...]]:
    """The `share` of each of some ranks, or of all."""
    if world_size == 1:
        yield tuple(pieces)
        return
    if any(piece.path == STDIN for piece in pieces):
        raise ValueError("standard input (-) cannot be shared between ranks; name files")
    if any(piece.kind == GIVEN for piece in pieces):
        raise ValueError("documents= cannot be shared between ranks: give each process its own part, such as "
                         "dataset.shard(...), and an output of its own")
    bases = [0, *accumulate(piece.raw_bytes for piece in pieces)]
    total = bases[-1]
    for rank in range(world_size) if ranks is None else ranks:
        low, high = total * rank // world_size, total * (rank + 1) // world_size
        last = rank == world_size - 1
        mine = []
        # from the piece that holds the first byte of the range on
        first = max(0, bisect_left(bases, low) - 1)
        for number in range(first, len(pieces)):
            piece, base = pieces[number], bases[number]
            if base >= high and not last:
                break
            if cut_files and piece.kind in ("text", "jsonl") and piece.compression is None and piece.size:
                start, stop = max(0, low - base), min(piece.raw_bytes, high - base)
                if start < stop:
                    mine.append(replace(piece, start=piece.start + start, stop=piece.start + stop))
            elif low <= base < high or (base == total and last):
                mine.append(piece)
        yield tuple(mine)
