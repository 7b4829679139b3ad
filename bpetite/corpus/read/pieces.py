"""The inputs of a corpus cut into pieces, once: ranks, tasks and threads take runs of neighbouring pieces.

The cut depends only on the inputs, so every rank finds the same pieces. Plain text and JSON lines are cut at multiples
of `PIECE`, where the reader finds the next block; Parquet at row groups. Other inputs are one piece each. Readers make
blocks of a piece, as a `Reading` says.
"""
from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, pairwise
from operator import itemgetter
from typing import Any, NamedTuple, TypeVar

from ...errors import FormatError
from ...splitting.certain_cuts import CertainCuts
from .find import GIVEN, STDIN, Input
from .problems import Flaw
from .stores import is_url
from .streams import Stream, find_damage

Item = TypeVar("Item")

#: Bytes of a block, about: blocks of text end at the first fitting place after a multiple of this.
BLOCK = 8 << 20

#: Bytes of a document that is held whole, unless told otherwise.
MAX_DOCUMENT = 1 << 30

PIECE = 4 * BLOCK  # bytes

#: Bytes of text of a byte on disk, about: of compressed files, and of Parquet, which is compressed inside.
EXPANSION = {"gz": 3, "zst": 3, "bz2": 4, "xz": 4, "parquet": 2}


class Position(NamedTuple):
    """A place where reading goes on."""

    input: int = 0
    offset: int = 0  # in bytes (text, jsonl) or records (others)
    continues: bool = False  # a document goes on here


class Piece(NamedTuple):
    """The blocks of an input that begin between two offsets."""

    input: int
    start: int = 0
    stop: int | None = None  # None for the end
    continues: bool = False  # a resumed run starts inside a document
    at_block: bool = True  # otherwise the first block is looked for


@dataclass
class Block:
    """Whole records of one input; of text also parts of documents."""

    form: str  # "text", "whole", "jsonl", "items", "too-long"
    data: Any  # bytes; for "items", a list of bytes and Flaws
    input: int
    start: int  # in bytes or records
    end: Position
    file_bytes: int = 0  # bytes of the file since the previous block
    continues: bool = False  # the first document began in an earlier block
    goes_on: bool = False  # the last document goes on in the next block
    line: int | None = None  # of ``start``, if it cannot be counted later
    ids: Sequence[object] | None = None  # for "items"
    damage: Flaw | None = None  # the file cannot be read any further

    @property
    def size(self) -> int:
        """Bytes held, roughly; empty documents take memory, too."""
        return sum(map(len, self.data)) + 64 * len(self.data) if self.form == "items" else len(self.data)


@dataclass(frozen=True)
class Reading:
    """The options of reading."""

    separator: bytes = b"<|endoftext|>"  # of documents of text
    text_key: str = "text"
    id_key: str | None = None
    block: int = BLOCK
    max_document: int = MAX_DOCUMENT
    stop: bool = False  # at a document that is longer, or damaged
    checked: bool = False  # documents are checked to be UTF-8
    cuts: CertainCuts | None = None  # None keeps documents of text whole

    def open(self, source: Input, *, ranges: bool = False) -> Stream:
        """The stream of an input. Unless reading stops at damage, a compressed file is tested first: documents of
        damaged members are not given."""
        tested = source.compression is not None and not (self.stop or source.read_once)
        return Stream(source, ranges=ranges, damage=find_damage(source) if tested else None)


def grouped(
    items: Iterable[Item], size: Callable[[Item], int], most: int, most_items: int | None = None
) -> Iterator[list[Item]]:
    """Neighbouring items together: as many as have the size ``most``, but at least one.

    >>> list(grouped([3, 1, 9, 2], int, 4))
    [[3, 1], [9], [2]]
    """
    group: list[Item] = []
    held = 0
    for item in items:
        more = size(item)
        if group and (held + more > most or len(group) == most_items):
            yield group
            group, held = [], 0
        group.append(item)
        held += more
        if held > most:  # nothing else fits: do not hold it while the next item is read
            yield group
            group, held = [], 0
    if group:
        yield group


class Share(NamedTuple):
    """The share of a rank: the pieces that begin between two places."""

    start: Position
    stop: Position


def cut_pieces(
    inputs: Sequence[Input], share: Share, at: Position | None = None, size: int = PIECE
) -> Iterator[Piece]:
    """The pieces of a share, from the place ``at`` on, where an earlier run ended. ``size`` is a multiple of the size
    of a block."""
    first = share.start if at is None else max(at, share.start)
    for number in range(first.input, min(len(inputs), share.stop.input + bool(share.stop.offset))):
        low = share.start.offset if number == share.start.input else 0
        high = share.stop.offset if number == share.stop.input else None
        for start, stop in _ranges(inputs[number], size):
            if start < low or (high is not None and start >= high):
                continue
            if at is None or number > at.input:
                yield Piece(number, start, stop, at_block=start == 0 or inputs[number].kind == "parquet")
            elif stop is None or stop > at.offset:
                yield Piece(number, at.offset, stop, at.continues)
                at = None


def _ranges(source: Input, size: int) -> Iterable[tuple[int, int | None]]:
    """(start, stop) of the pieces of an input."""
    if source.compression is None and not source.read_once:
        if source.kind in ("text", "whole", "jsonl"):
            starts = range(0, max(1, source.size), size)
            return ((start, start + size if start + size < source.size else None) for start in starts)
        if source.kind == "parquet" and not is_url(source.path):
            with suppress(FormatError):  # the reader says what is wrong
                runs = grouped(row_groups(source)[1], itemgetter(2), size)
                return [(run[0][0], run[-1][1]) for run in runs] or [(0, None)]
    return [(0, None)]


@lru_cache(maxsize=8)
def row_groups(source: Input) -> tuple[Any, list[tuple[int, int, int]]]:
    """(the metadata of a Parquet file; (first row, row after the last, bytes) of each row group);
    raises FormatError for a file that is none."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with Stream(source, ranges=True) as stream:
        try:
            metadata = pq.read_metadata(stream.file)
        except (pa.ArrowException, OSError) as wrong:
            raise FormatError(cause_of(wrong)) from None
    groups, row = [], 0
    for number in range(metadata.num_row_groups):
        about = metadata.row_group(number)
        groups.append((row, row + about.num_rows, about.total_byte_size))
        row += about.num_rows
    return metadata, groups


def cause_of(wrong: Exception) -> str:
    """Arrow's message in one line. An error of the system is raised: the file is not to blame."""
    if isinstance(wrong, OSError) and wrong.errno is not None:
        raise wrong
    return " ".join(str(wrong).split())


def group_pieces(pieces: Iterable[Piece], inputs: Sequence[Input], size: int = PIECE) -> Iterator[list[Piece]]:
    """Neighbouring pieces together, so that a run of small files is as much work as a piece of a large one."""

    def text(piece: Piece) -> int:
        return text_of(inputs[piece.input]) if piece.stop is None else piece.stop - piece.start

    return grouped(pieces, text, size)


def shares(inputs: Sequence[Input], world_size: int, *, whole: bool = False) -> list[Share]:
    """The `Share` of each rank; in the order of ranks, the shares are the whole.

    Args:
        inputs: From `find_sources`.
        whole: Keep every input whole.

    Raises:
        ValueError: An input can be read only once.
    """
    end = Position(len(inputs))
    if world_size == 1:
        return [Share(Position(), end)]
    for source in inputs:
        if source.kind == GIVEN:
            raise ValueError("documents= cannot be shared between ranks: give each process its own part, such as "
                             "dataset.shard(...), and an output of its own")
        if source.read_once:
            name = "standard input (-)" if source.path == STDIN else source.path
            raise ValueError(f"{name} can be read only once, and cannot be shared between ranks; name files")
    places, bases = _weighed(inputs, whole)
    starts = [0]
    for rank in range(1, world_size):
        wanted = bases[-1] * rank / world_size
        at = bisect_left(bases, wanted)
        at -= at > 0 and wanted - bases[at - 1] < bases[at] - wanted  # the nearest one
        left = world_size - rank  # ranks that are to have a piece each, while there are enough
        starts.append(max(starts[-1], min(max(at, starts[-1] + 1), len(places) - left)))
    cuts = [*(places[at] if at < len(places) else end for at in starts), end]
    return [Share(low, high) for low, high in pairwise(cuts)]


def text_in_shares(inputs: Sequence[Input], cut: Sequence[Share], *, whole: bool = False) -> list[int]:
    """Bytes of text in each share, about."""
    places, bases = _weighed(inputs, whole)
    ends = [bases[bisect_left(places, one.stop)] for one in cut]
    return [end - start for start, end in pairwise([0, *ends])]


def _weighed(inputs: Sequence[Input], whole: bool) -> tuple[list[Position], list[int]]:
    """(the places where pieces begin, the bytes of text before each, and of all)."""
    places: list[Position] = []
    sizes: list[int] = []
    for number, source in enumerate(inputs):
        ranges = [(0, None)] if whole else list(_ranges(source, PIECE))
        sizes += [text_of(source) // len(ranges)] * len(ranges)
        places += [Position(number, start) for start, _ in ranges]
    return places, [0, *accumulate(sizes)]


def text_of(source: Input) -> int:
    """Bytes of text, about: the size on disk times a fixed ratio of compression. To look into thousands of files takes
    a rank minutes, and files of a corpus pack alike."""
    return source.size * EXPANSION.get(source.compression or source.kind, 1)

