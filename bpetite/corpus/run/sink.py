"""The way of results, in order: documents are counted, shuffled if that is asked for, and given to the writers."""
from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..encoding.rows import Encoded, Rows
from ..layouts.layout import meta_line
from ..output.naming import REJECTED
from ..output.shards import ShardWriter
from ..reading.blocks import Position
from .plan import Plan
from .shuffling import Shuffle
from .tally import Tally

__all__ = ["Sink"]


@dataclass
class _Taken:
    """A result whose documents have been taken, and the state that a checkpoint behind it records."""

    end: Position
    tally: dict[str, Any] | None  # None for the tally as it is
    rejected: list[bytes]


class Sink:
    """Takes results, and knows behind which of them a run could go on.

    Args:
        plan: Of the output.
        tally: Counts the results.
        last: The last record of the journal of an earlier process.
        threads: That write.
    """

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
        """Take the next result.

        Raises:
            RecordError: See `Tally.add`.
            ValueError: A layout cannot hold an id.
            OSError: A file cannot be written.
        """
        firsts = self._tally.add(encoded)
        rejected = []
        if REJECTED in self._writers:
            rejected = [self._tally.noted.locator.record(one, self._plan.options.on_error) for one in encoded.problems]
        taken = _Taken(encoded.end, None, rejected)
        if self._shuffle is None:
            for split, part in encoded.splits.items():
                self._write(split, self._rows(part, encoded, firsts))
            self._cover(taken)
            return
        taken.tally = copy.deepcopy(self._tally.state())
        if "all" in encoded.splits:
            self._shuffle_in(self._rows(encoded.splits["all"], encoded, firsts), self._shuffle)
        self._waiting.append(taken)

    def _rows(self, part: Rows, encoded: Encoded, firsts: list[int]) -> Rows:
        meta, layout = None, self._plan.layout
        if part.meta is not None:
            paths = [self._plan.pieces[piece].path for piece, _ in encoded.blocks]
            for found, block, _ in part.meta:
                if found is not None:  # the paths of all inputs have been checked
                    layout.check_meta(found, paths[block])
            meta = [meta_line(found, paths[block], firsts[block] + number) for found, block, number in part.meta]
        return replace(part, meta=meta)

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
            for split, part in rows.by_split().items():
                self._write(split, part)
        waiting, self._waiting = self._waiting, []
        for taken in waiting:
            self._cover(taken)
        self._given = 0

    # Writing

    def _write(self, split: str, rows: Rows) -> None:
        self._writers[split].add(rows.tokens, rows.lengths, rows.meta)

    def _cover(self, taken: _Taken) -> None:
        """Have the next checkpoint cover a result, all documents of which are with the writers."""
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
        record: dict[str, Any] = {
            "position": (Position(len(self._plan.pieces)) if at_end else self._last.end).state(),
            "finished": {split: writer.take_finished() for split, writer in self._writers.items()},
        }
        record |= {
            "on_error": self._plan.options.on_error,
            "tally": self._last.tally or self._tally.state(),
            "writers": {split: writer.state() for split, writer in self._writers.items()},
        }
        if self._shuffle is not None:
            record["shuffle"] = [self._shuffle.block, self._given]
        return record

    def finish(self) -> None:
        """Write the rest, and finish the last shards."""
        if self._shuffle is not None:
            self._flush(self._shuffle)
        for writer in self._writers.values():
            writer.finish()

    def close(self) -> None:
        """Close all files."""
        for writer in self._writers.values():
            writer.close()
        self._tally.noted.locator.close()
