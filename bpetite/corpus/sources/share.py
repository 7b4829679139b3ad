"""The pieces of a corpus shared out to workers."""
from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate

from .find import GIVEN, STDIN, Piece

__all__ = ["TASK_BYTES", "check_rank", "empty_ranks", "share", "shares", "text_of"]

#: Bytes of input of a task on a cluster, unless told otherwise.
TASK_BYTES = 256 << 20

#: Bytes of text of a byte on disk, about: of compressed files, and of Parquet, which is compressed inside.
EXPANSION = {"gz": 3, "zst": 3, "bz2": 4, "xz": 4, "parquet": 2}


def share(pieces: Sequence[Piece], rank: int, world_size: int, *, cut_files: bool = True) -> tuple[Piece, ...]:
    """The share of one of several equal workers; in the order of ranks, the shares are the whole, each document once.

    A document belongs to the rank in whose range of the concatenated files it starts; a compressed file counts as the
    text that it probably holds. Plain text and JSON lines are cut at any byte (the reader finds the next document);
    other files go as a whole to the rank in which they start.

    Args:
        pieces: Whole files, as :func:`find_sources` gives them, or parts of them.
        rank: In 0 .. world_size - 1.
        world_size: Number of workers.
        cut_files: False keeps every file whole.

    Raises:
        ValueError: The rank is out of range, or an input can be read only once.
    """
    check_rank(rank, world_size)
    return next(shares(pieces, world_size, ranks=[rank], cut_files=cut_files))


def check_rank(rank: int, world_size: int) -> None:
    """Raises ValueError for the number of a worker that there is not."""
    if not 0 <= rank < world_size:
        raise ValueError(f"rank {rank} is not in 0..{world_size - 1}")


def shares(
    pieces: Sequence[Piece], world_size: int, *, ranks: Iterable[int] | None = None, cut_files: bool = True
) -> Iterator[tuple[Piece, ...]]:
    """The `share` of each of some ranks, or of all."""
    if world_size == 1:
        yield tuple(pieces)
        return
    for piece in pieces:
        if piece.kind == GIVEN:
            raise ValueError("documents= cannot be shared between ranks: give each process its own part, such as "
                             "dataset.shard(...), and an output of its own")
        if piece.once:
            name = "standard input (-)" if piece.path == STDIN else piece.path
            raise ValueError(f"{name} can be read only once, and cannot be shared between ranks; name files")
    bases = [0, *accumulate(map(text_of, pieces))]
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
            if cut_files and _can_be_cut(piece):
                start, stop = max(0, low - base), min(piece.raw_bytes, high - base)
                if start < stop:
                    mine.append(replace(piece, start=piece.start + start, stop=piece.start + stop))
            elif low <= base < high or (base == total and last):
                mine.append(piece)
        yield tuple(mine)


def empty_ranks(pieces: Sequence[Piece], world_size: int, *, cut_files: bool = True) -> str | None:
    """A warning for people if ranks have nothing to read, because an input cannot be cut."""
    empty = sum(not share for share in shares(pieces, world_size, cut_files=cut_files))
    whole = [piece for piece in pieces if not (cut_files and _can_be_cut(piece))]
    if not empty or not whole:
        return None
    largest = max(whole, key=text_of)
    return (
        f"{empty} of {world_size} ranks have nothing to read: {largest.path} cannot be cut, and is about "
        f"{text_of(largest) / max(1, sum(map(text_of, pieces))):.0%} of the text; give smaller files, or fewer ranks"
    )


def text_of(piece: Piece) -> int:
    """Bytes of text, about."""
    return piece.raw_bytes * EXPANSION.get(piece.compression or piece.kind, 1)


def _can_be_cut(piece: Piece) -> bool:
    return piece.kind in ("text", "jsonl") and piece.compression is None and piece.size > 0
