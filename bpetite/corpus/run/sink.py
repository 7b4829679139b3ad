"""The way of results, in order: documents are counted, shuffled if that is asked for, and given to the writers.

Shuffled are blocks of consecutive documents that fit in memory, each permuted by a seed. A block ends where the next
document would not fit, so the blocks, and with them the order, depend on the documents, the seed and the memory, and
not on jobs, on how the input was read or on interruptions.
"""
from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..encoding.rows import Encoded, Rows
from ..layouts.layout import fill, meta_line
from ..output.naming import REJECTED
from ..output.shards import ShardWriter
from ..reading.blocks import Position
from .plan import Plan
from .tally import Tally

__all__ = ["OVERHEAD", "Shuffle", "Sink", "permutation"]

#: Bytes that a document takes besides its tokens: its length, its place, and its id where there are ids.
OVERHEAD = 256

#: Tokens that are put together at a time.
AT_ONCE = 1 << 21


@dataclass
class _Taken:
    """A result whose documents have been taken, and the state that a checkpoint behind it records."""

    end: Position
    tally: dict[str, Any] | None  # None for the tally as it is
    rejected: list[bytes]


class Sink:
    """Takes results, and knows behind which of them a run could go on: one that begins at the ``last`` record of the
    journal of an earlier process."""

    def __init__(self, plan: Plan, tally: Tally, last: dict[str, Any] | None, threads: int) -> None:
        self._plan = plan
        self._tally = tally
        self._writers: dict[str, ShardWriter] = {}
        self._shuffle: Shuffle | None = None
        self._skip = self._given = 0  # documents behind the position that are in the files already
        self._waiting: list[_Taken] = []
        self._last = _Taken(Position(), None, [])
        try:
            self._open(last, threads)
        except BaseException:
            self.close()
            raise

    def _open(self, last: dict[str, Any] | None, threads: int) -> None:
        plan, seed = self._plan, self._plan.options.shuffle
        states = last["writers"] if last else {}
        if last is not None:
            self._last = _Taken(Position(**last["position"]), copy.deepcopy(last["tally"]), [])
        for stream in plan.streams:
            dtype, limit = plan.rules.dtype, plan.options.shard_tokens
            if stream == REJECTED:
                dtype, limit = "uint8", None
            self._writers[stream] = ShardWriter(
                plan.names, stream, dtype, None if plan.world_size > 1 else limit, state=states.get(stream),
                tokenizer=plan.codec.name, threads=threads,
            )  # fmt: skip
        if seed is not None:
            block, self._skip = last["shuffle"] if last else (0, 0)
            self._given = self._skip
            self._shuffle = Shuffle(seed, plan.options.memory, block)

    def add(self, encoded: Encoded) -> None:
        firsts = self._tally.add(encoded)
        rejected = []
        if REJECTED in self._writers:
            rejected = [self._tally.noted.record(problem) for problem in encoded.problems]
        taken = _Taken(encoded.end, None, rejected)
        if self._shuffle is None:
            for split, rows in encoded.splits.items():
                self._write(split, self._rows(rows, encoded, firsts))
            self._cover(taken)
            return
        taken.tally = copy.deepcopy(self._tally.state())
        if "all" in encoded.splits:
            self._shuffle_in(self._rows(encoded.splits["all"], encoded, firsts), self._shuffle)
        self._waiting.append(taken)

    def _rows(self, rows: Rows, encoded: Encoded, firsts: list[int]) -> Rows:
        meta, layout = None, self._plan.layout
        if rows.meta is not None:
            paths = [self._plan.pieces[piece].path for piece, *_ in encoded.blocks]
            for name, block, _ in rows.meta:
                if name is not None:  # the paths of all inputs have been checked
                    layout.check_meta(name, paths[block])
            meta = [meta_line(name, paths[block], firsts[block] + number) for name, block, number in rows.meta]
        return replace(rows, meta=meta)

    # Shuffling

    def _shuffle_in(self, rows: Rows, shuffle: Shuffle) -> None:
        at = min(self._skip, len(rows))  # in the files already, of a run that was interrupted
        self._skip -= at
        while at < len(rows):
            at = shuffle.fill(rows, at)
            if at < len(rows):
                self._flush(shuffle)
                self._given = at

    def _flush(self, shuffle: Shuffle) -> None:
        for rows in shuffle.empty():
            for split, its_rows in rows.by_split().items():
                self._write(split, its_rows)
        waiting, self._waiting = self._waiting, []
        for taken in waiting:
            self._cover(taken)
        self._given = 0

    # Writing

    def _write(self, split: str, rows: Rows) -> None:
        self._writers[split].add(rows.tokens, rows.lengths, rows.meta)

    def _cover(self, taken: _Taken) -> None:
        """Have the next checkpoint cover a result: the writers have all its documents."""
        if REJECTED in self._writers:
            self._writers[REJECTED].add(np.frombuffer(b"".join(taken.rejected), np.uint8))
        self._last = taken

    # Checkpoints

    @property
    def resumes_behind(self) -> Position:
        """The position where a run would go on that ended now."""
        return self._last.end

    def record(self, *, at_end: bool = False) -> dict[str, Any]:
        """Make everything durable; returns the record of the journal."""
        for writer in self._writers.values():
            writer.sync()
        tally = self._last.tally or self._tally.state()
        self._tally.recorded = tally["piece"]
        end = Position(len(self._plan.pieces)) if at_end else self._last.end
        record: dict[str, Any] = {
            "position": {"piece": end.piece, "offset": end.offset},
            "finished": {split: writer.take_finished() for split, writer in self._writers.items()},
        }
        record |= {
            "on_error": self._plan.options.on_error,
            "tally": tally,
            "writers": {split: writer.state() for split, writer in self._writers.items()},
        }
        if self._shuffle is not None:
            record["shuffle"] = [self._shuffle.block, self._given]
        return record

    def finish(self) -> None:
        if self._shuffle is not None:
            self._flush(self._shuffle)
        for writer in self._writers.values():
            writer.finish()

    def close(self) -> None:
        for writer in self._writers.values():
            writer.close()
        self._tally.noted.close()


def permutation(seed: int, block: int, count: int) -> npt.NDArray[np.int64]:
    """The order of the documents of a block: by the bits of PCG64, which every version of NumPy gives alike (NEP 19).

    >>> permutation(7, 0, 5).tolist(), permutation(7, 1, 5).tolist()
    ([3, 4, 0, 2, 1], [1, 3, 2, 4, 0])
    """
    return np.argsort(np.random.PCG64([seed % 2**64, block]).random_raw(count), kind="stable")


@dataclass
class Shuffle:
    """The block that is being filled."""

    seed: int
    memory: int  # of a block, unless it is a single document
    block: int = 0  # number of blocks before it
    _held: list[Rows] = field(default_factory=list)
    _size: int = 0

    def fill(self, rows: Rows, start: int) -> int:
        """Take documents from a number on, as many as fit; returns the number of the first that does not."""
        costs = np.cumsum(rows.lengths[start:] * rows.tokens.itemsize + OVERHEAD)
        count = int(np.searchsorted(costs, self.memory - self._size, side="right"))
        if not count and not self._size:
            count = 1
        if count:
            self._held.append(rows.slice(start, start + count))
            self._size += int(costs[count - 1])
        return start + count

    def empty(self) -> Iterator[Rows]:
        """The documents of the block in their new order, some at a time; then the next block begins."""
        held, self._held, self._size = self._held, [], 0
        documents: list[npt.NDArray[Any]] = []
        for rows in held:
            ends = np.cumsum(rows.lengths).tolist()
            documents += [rows.tokens[start:stop] for start, stop in zip([0, *ends], ends)]
        order = permutation(self.seed, self.block, len(documents))
        self.block += 1
        if not documents:
            return
        lengths = np.concatenate([rows.lengths for rows in held])[order]
        held_out = None
        if held[0].held_out is not None:
            held_out = np.concatenate([rows.held_out for rows in held])[order]
        meta = None if held[0].meta is None else [line for rows in held for line in rows.meta or ()]
        del held
        at = 0
        for count, _, _ in fill(lengths, 0, 0, AT_ONCE):
            stop = at + count
            chosen = order[at:stop].tolist()
            yield Rows(
                np.concatenate([documents[number] for number in chosen]),
                lengths[at:stop],
                None if meta is None else [meta[number] for number in chosen],
                None if held_out is None else held_out[at:stop],
            )
            at = stop
