"""What happens to results, in order: duplicates are dropped, documents counted, shuffled and given to the writers."""
from __future__ import annotations

import copy
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ..duplicates import Duplicates
from ..encoding.rows import Encoded, SplitTokens, drop_duplicates
from ..layouts.layouts import meta_line
from ..output.naming import REJECTED
from ..output.rejected import rejected_writer
from ..output.shards import ShardWriter
from ..reading.readers import Position
from .plan import Plan
from .shuffling import Rows, Shuffle
from .tally import Tally

__all__ = ["Sink"]


@dataclass
class _Taken:
    """A result whose documents have been taken, and what a checkpoint behind them records."""

    end: Position
    tally: dict[str, Any] | None  # None for the tally as it is
    rejected: list[bytes]
    digests: bytes = b""


class Sink:
    """Takes results, and knows behind which of them a run could go on.

    Args:
        plan: What is written.
        tally: Counts the results.
        last: The last record of the journal of an earlier process.
        threads: That write.
    """

    def __init__(self, plan: Plan, tally: Tally, last: dict[str, Any] | None, threads: int) -> None:
        self._plan = plan
        self._tally = tally
        self._writers: dict[str, ShardWriter] = {}
        self._shuffle: Shuffle | None = None
        self._duplicates: Duplicates | None = None
        self._skip = self._given = 0  # documents behind the position that are in the files already
        self._waiting: list[_Taken] = []
        self._last = _Taken(Position(), None, [])
        try:
            self._open(last, threads)
        except BaseException:
            self.close()
            raise

    def _open(self, last: dict[str, Any] | None, threads: int) -> None:
        plan, options = self._plan, self._plan.options
        states = last["writers"] if last else {}
        if last is not None:
            self._last = _Taken(Position(**last["position"]), copy.deepcopy(last["tally"]), [])
        common: dict[str, Any] = {"overwrite": plan.overwrite, "durable": plan.durable, "taken": plan.names.taken}
        for split in plan.splits:
            self._writers[split] = ShardWriter(
                partial(plan.names.base, split), plan.layout, plan.rules.dtype, options.shard_tokens,
                state=states.get(split), tokenizer=plan.codec.name, threads=threads,
                pad=plan.codec.eot_id if options.pack_last == "pad" else None, **common,
            )  # fmt: skip
        if options.rejected:
            self._writers[REJECTED] = rejected_writer(plan.names, state=states.get(REJECTED), **common)
        if options.shuffle is not None:
            block, self._skip = last["shuffle"] if last else (0, 0)
            self._given = self._skip
            self._shuffle = Shuffle(options.shuffle, plan.memory, block)
        if options.drop_duplicates:
            path = plan.names.digests
            self._duplicates = Duplicates(path, plan.memory, last["digests"] if last else None)

    def add(self, encoded: Encoded) -> None:
        """Take the next result.

        Raises:
            RecordError: See `Tally.add`.
            ValueError: The table of duplicates is full; a layout cannot hold an id.
            OSError: A file cannot be written.
        """
        digests = b"" if self._duplicates is None else self._drop(encoded, self._duplicates)
        firsts = self._tally.add(encoded)
        rejected = []
        if REJECTED in self._writers:
            rejected = [self._tally.noted.locator.record(one, self._plan.options.on_error) for one in encoded.problems]
        taken = _Taken(encoded.end, None, rejected, digests)
        if self._shuffle is None:
            for split, part in encoded.splits.items():
                rows = self._rows(part, encoded, firsts)
                self._give(rows) if rows.held_out is not None else self._write(split, rows)
            self._cover(taken)
            return
        taken.tally = copy.deepcopy(self._tally.state())
        if "all" in encoded.splits:
            self._shuffle_in(self._rows(encoded.splits["all"], encoded, firsts), self._shuffle)
        self._waiting.append(taken)

    def _rows(self, part: SplitTokens, encoded: Encoded, firsts: list[int]) -> Rows:
        meta, layout = None, self._plan.layout
        if part.meta is not None:
            paths = [self._plan.pieces[piece].path for piece, _ in encoded.blocks]
            for found, block, _ in part.meta:
                layout.check_meta(found, paths[block])
            meta = [meta_line(found, paths[block], firsts[block] + number) for found, block, number in part.meta]
        return Rows(part.tokens, part.lengths, meta, part.held_out)

    def _drop(self, encoded: Encoded, duplicates: Duplicates) -> bytes:
        """Take the documents out that there have been already; returns the hashes of the others."""
        new = drop_duplicates(encoded, duplicates.add)
        return b"" if encoded.originals is None else encoded.originals.digests[new].tobytes()

    # Shuffling

    def _shuffle_in(self, rows: Rows, shuffle: Shuffle) -> None:
        skipped = min(self._skip, len(rows))  # in the files already, of a run that was interrupted
        self._skip -= skipped
        at = skipped
        while at < len(rows):
            at = shuffle.fill(rows, at)
            if at < len(rows):
                self._flush(shuffle)
                self._given = at

    def _flush(self, shuffle: Shuffle) -> None:
        for rows in shuffle.empty():
            self._give(rows)
        waiting, self._waiting = self._waiting, []
        for taken in waiting:
            self._cover(taken)
        self._given = 0

    # Writing

    def _give(self, rows: Rows) -> None:
        """Write documents, each to its output."""
        if rows.held_out is None:
            self._write("all", rows)
        else:
            self._write("train", rows.take(~rows.held_out))
            self._write("val", rows.take(rows.held_out))

    def _write(self, split: str, rows: Rows) -> None:
        self._writers[split].add(rows.tokens, rows.lengths, rows.meta)

    def _cover(self, taken: _Taken) -> None:
        """Have the next checkpoint cover a result, all documents of which are with the writers."""
        if taken.rejected or REJECTED in self._writers:
            self._writers[REJECTED].add(np.frombuffer(b"".join(taken.rejected), np.uint8))
        if self._duplicates is not None:
            self._duplicates.cover(taken.digests)
        self._last = taken

    # Checkpoints

    @property
    def resumes_behind(self) -> Position:
        """Where a run would go on that ended now."""
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
        if self._duplicates is not None:
            record["digests"] = self._duplicates.sync()
        return record

    def finish(self) -> None:
        """Write what is left, and finish the last shards."""
        if self._shuffle is not None:
            self._flush(self._shuffle)
        for writer in self._writers.values():
            writer.finish()

    def close(self, *, remove: bool = False) -> None:
        """Close all files; ``remove`` deletes those that only a run that goes on would need."""
        for writer in self._writers.values():
            writer.close()
        if self._duplicates is not None:
            self._duplicates.close(remove=remove)
        self._tally.noted.locator.close()
