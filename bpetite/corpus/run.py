"""Documents in, token files out: a rank that reads and encodes in parallel, writes in order, and can be resumed."""
from __future__ import annotations

import os
import platform
import shutil
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ..core._threads import in_order
from ..errors import check_integer, counted, file_exists
from .ahead import ahead
from .encode import Encoded, Rows, encode_blocks
from .layouts.layout import gzip_file, meta_line
from .plan import Plan
from .read.pieces import Block, Piece, Position, cut_pieces, group_pieces, grouped, shares, text_in_shares
from .read.problems import Problems
from .read.readers import read_blocks, require
from .write.growing import NO_ROOM, GrowingFile, explained, file_entry
from .write.manifest import VERSION, entries_in, file_entries, read_manifest
from .write.names import REJECTED
from .write.partial import PartialFolder, clean_up
from .write.shards import ShardWriter

#: Called with (bytes of input read since the last call, tokens written so far, documents written so far).
Progress = Callable[[int, int, int], None]

#: Results with tokens of a group of pieces that wait in memory until they are due.
RESULTS_AHEAD = 4

#: The file of rejected records while a run goes on.
REJECTED_LINES = "rejected.jsonl"


def ignore(*_: object) -> None:
    """The default of ``progress`` and ``log``."""


def encode_share(
    plan: Plan, at: Position | None, jobs: int, spill_folder: Path | None = None
) -> Generator[Encoded, None, None]:
    """Encode the share of a rank from a place on, by ``jobs`` threads. Yields the results in the order of the inputs;
    `ahead` explains ``spill_folder``."""
    pieces = cut_pieces(plan.inputs, plan.share, at)
    if any(source.read_once for source in plan.inputs):  # this thread alone waits for a pipe
        with (
            closing(_batches(plan, pieces)) as batches,
            closing(in_order(partial(_encode_together, plan), batches, jobs)) as results,
        ):
            yield from results
        return
    sources = (_encode_group(plan, group) for group in group_pieces(pieces, plan.inputs))
    most = RESULTS_AHEAD if plan.output else 1 << 16
    with closing(ahead(sources, jobs, most, spill_folder)) as results:
        yield from results


def _encode_group(plan: Plan, pieces: list[Piece]) -> Iterator[Encoded]:
    with closing(_batches(plan, pieces)) as batches:
        for blocks in batches:
            yield _encode_together(plan, blocks)


def _batches(plan: Plan, pieces: Iterable[Piece]) -> Generator[list[Block], None, None]:
    """The blocks of pieces; small ones together. Compressed files are read in another thread."""
    pieces = list(pieces)
    blocks: Any = read_blocks(plan.inputs, pieces, plan.reading)
    inputs = [plan.inputs[piece.input] for piece in pieces]
    if any(one.compression for one in inputs) and not any(one.read_once for one in inputs):
        blocks = ahead([blocks], most_in_memory=2)

    def size(block: Block) -> int:
        alone = block.continues or block.goes_on
        return plan.block + 1 if alone else block.size

    with closing(blocks):
        yield from grouped(blocks, size, plan.block, 1000)


def _encode_together(plan: Plan, blocks: list[Block]) -> Encoded:
    encoded = encode_blocks(blocks, plan)
    if not plan.output:  # results that wait are small
        tokens = sum(int(rows.lengths.sum()) for rows in encoded.splits.values())
        encoded.splits = {"all": Rows(np.empty(0, np.uint8), np.array([tokens]))}
    return encoded


@dataclass
class Tally:
    """The totals of a rank so far."""

    documents: int = 0  # that have ended
    tokens: int = 0
    bytes: int = 0
    continues: bool = False  # the first document began in another rank
    goes_on: bool = False  # the last document has not ended
    final_separator: bool | None = None  # whether a separator follows the last document of text
    input: int = 0  # that is read
    records: int = 0  # of it that have been read
    problems: dict[str, dict[str, Any]] = field(default_factory=dict)

    def add(self, encoded: Encoded, problems: Problems) -> list[int]:
        """Count a result. Return the number of each block's first record in its input."""
        for problem in encoded.problems:
            problems.add(problem)
        if encoded.problems:
            problems.check_limit()
        if not (self.documents or self.goes_on):
            self.continues = encoded.continues
        self.goes_on = encoded.goes_on
        self.documents += encoded.documents
        self.bytes += encoded.text_bytes
        self.tokens += sum(int(rows.lengths.sum()) for rows in encoded.splits.values())
        if encoded.final_separator is not None:
            self.final_separator = encoded.final_separator
        firsts = []
        for number, records in encoded.blocks:
            if number != self.input:
                self.input, self.records = number, 0
            firsts.append(self.records)
            self.records += records
        return firsts


def check_plan(plan: Plan) -> None:
    """Raise an error for any wrong option or missing package, before a file is touched."""
    _ = plan.run_digest, plan.share
    plan.layout.require()
    plan.check_inputs_apart()
    for source in plan.inputs:
        plan.layout.check_meta(None, source.path)
    require(plan.inputs)


def dry_run(plan: Plan) -> dict[str, Any]:
    """Check everything and write nothing. "ranks" has the bytes of text of each rank, estimated."""
    check_plan(plan)
    if not plan.options.overwrite and finished(plan) is None and not plan.names.folder.exists():
        plan.names.refuse_existing(plan.splits)
    cut = shares(plan.inputs, plan.options.world_size, whole=plan.layout.meta)
    return {
        "files": len(plan.inputs), "bytes": sum(source.size for source in plan.inputs),
        "ranks": text_in_shares(plan.inputs, cut, whole=plan.layout.meta),
    }  # fmt: skip


def run(
    plan: Plan, *, jobs: int = 1, progress: Progress | None = None, problems: Callable[[int], object] | None = None,
    log: Callable[[str], None] | None = None,
) -> dict[str, Any]:
    """Do the rest of a rank's work; a finished rank has none. Arguments, result and errors are those of
    `bpetite.corpus.encode_corpus`. ``problems`` is called with the number of problems so far, before ``progress``."""
    check_integer("jobs", jobs, 1)
    began, log = time.perf_counter(), log or ignore
    check_plan(plan)
    done = None if plan.options.overwrite else finished(plan)
    if done is not None:
        log(f"{plan.names.manifest}: complete already, nothing was done")
        clean_up(plan.names, done["run"])
        return summary_of(plan, done, time.perf_counter() - began, 0)
    if plan.share.start == plan.share.stop:
        log("this rank has nothing to read; give smaller files, or fewer ranks")
    if (warning := plan.warning) is not None:
        log(warning)
    partial = PartialFolder(plan.names, overwrite=plan.options.overwrite)
    try:
        manifest, resumed = _Run(plan, partial, log).go(jobs, progress or ignore, problems or ignore)
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise
        advice = "the same command goes on from its last checkpoint once there is room" if partial.state else \
            "nothing was kept; the same command begins anew once there is room"
        error = explained(error, plan.names.folder)
        raise OSError(error.errno, f"{error.strerror}; {advice}", error.filename) from None
    finally:
        if partial.state is None:  # it failed before its first state
            partial.delete()
        else:
            partial.unlock()
    return summary_of(plan, manifest, time.perf_counter() - began, resumed)


class _Run:
    def __init__(self, plan: Plan, partial: PartialFolder, log: Callable[[str], None]) -> None:
        self._plan = plan
        self._partial = partial
        self._log = log
        self._problems = Problems(plan.inputs, plan.options.on_error, log, plan.options.max_errors)
        self._tally = Tally(problems=self._problems.by_kind)
        self._position: Position | None = None
        self._finished: dict[str, list[dict[str, Any]]] = {split: [] for split in plan.splits}
        self._writers: dict[str, ShardWriter] = {}
        self._rejected: GrowingFile | None = None

    def go(self, jobs: int, progress: Progress, problems: Callable[[int], object]) -> tuple[dict[str, Any], int]:
        plan, partial, tally = self._plan, self._partial, self._tally
        self._check_state()
        if (manifest := partial.publish_rest(overwrite=plan.options.overwrite)) is not None:
            return manifest, manifest["tokens"]
        if partial.state is None:
            if not (plan.options.overwrite or partial.claimed):
                plan.names.refuse_existing(plan.splits)
            if not isinstance(plan.names.place, Path):
                self._log(f"files grow in {plan.names.folder} and are uploaded when they are finished")
        partial.begin()
        try:
            self._open()
            resumed = tally.tokens
            if self._position is not None:
                progress(self._read_before(self._position), tally.tokens, tally.documents)
            saved = time.monotonic()
            with closing(encode_share(plan, self._position, jobs, partial.folder)) as results:
                for encoded in results:
                    self._add(encoded)
                    problems(self._problems.count)
                    progress(encoded.file_bytes, tally.tokens, tally.documents)
                    due = time.monotonic() - saved >= plan.options.checkpoint_seconds
                    if due or any(writer.has_finished for writer in self._writers.values()):
                        self._save()
                        saved = time.monotonic()
            for writer in self._writers.values():
                writer.finish(empty=plan.options.world_size == 1)
            self._position = Position(len(plan.inputs))
            self._save()
            manifest = self._manifest()
        finally:
            self._problems.close()
            for writer in self._writers.values():
                writer.close()
            if self._rejected is not None:
                self._rejected.close()
        partial.publish(manifest, overwrite=plan.options.overwrite)
        return manifest, resumed

    def _check_state(self) -> None:
        """Start over unless the run can go on from a state. Raises ValueError if that state has other inputs or
        options."""
        plan, partial = self._plan, self._partial
        if (state := partial.state) is not None:
            single = next((source.path for source in plan.inputs if source.read_once), None)
            # no problem was passed over under "fail", so a resume may change that policy, once
            may_differ = ("on_error", "rejected") if state["identity"]["on_error"] == "fail" else ()
            differences = plan.differences(state["identity"], may_differ=may_differ)
            anew = plan.options.overwrite and (differences or single or not state["overwrite"])
            if differences and not anew:
                raise ValueError(f"{partial.folder}: begun {'; begun '.join(differences[:4])}; give the inputs, "
                                 "options and tokenizer of then, or overwrite=True to start anew")
            if single and not anew:
                self._log(f"begins anew: {single} can be read only once")
            if not (anew or single):
                return
        partial.start_over()

    def _open(self) -> None:
        plan, partial = self._plan, self._partial
        writers, lists = {}, {}
        if (state := partial.state) is not None:
            writers, lists = state["writers"], state["lists"]
            partial.go_on()
            self._tally.__dict__.update(state["tally"])
            self._problems.by_kind = self._tally.problems
            self._finished = state["finished"]
            self._position = Position(*state["position"])
            tally = self._tally
            done = f"{counted(tally.documents, 'document')}, {counted(tally.tokens, 'token')} done"
            self._log(f"going on from {partial.folder}: {done}")
        for split in plan.splits:
            self._writers[split] = ShardWriter(
                plan.names, split, plan.dtype, plan.codec.name, plan.shard_tokens, writers.get(split)
            )
        if plan.options.rejected:
            self._rejected = GrowingFile(partial.folder / REJECTED_LINES, state=lists.get(REJECTED_LINES))

    def _read_before(self, position: Position) -> int:
        """Bytes of input before a place. A compressed file counts when all of it has been read."""
        inputs = self._plan.inputs
        before = sum(source.size for source in inputs[: position.input])
        if position.input < len(inputs) and inputs[position.input].compression is None:
            before += min(position.offset, inputs[position.input].size)
        return before

    def _add(self, encoded: Encoded) -> None:
        firsts = self._tally.add(encoded, self._problems)
        if self._rejected is not None:
            self._rejected.append(b"".join(map(self._problems.record, encoded.problems)))
        paths = [self._plan.inputs[number].path for number, _ in encoded.blocks]
        for split, rows in encoded.splits.items():
            for name, block, _ in rows.meta or ():
                if name is not None:  # the paths of all inputs have been checked
                    self._plan.layout.check_meta(name, paths[block])
            meta = [meta_line(name, paths[block], firsts[block] + record) for name, block, record in rows.meta or ()]
            continues, goes_on = encoded.continues, encoded.goes_on
            self._writers[split].add(rows.tokens, rows.lengths, meta, continues=continues, goes_on=goes_on)
        self._position = encoded.end

    def _save(self) -> None:
        """Sync all files, then write a state that lists them."""
        new = {split: writer.take_finished() for split, writer in self._writers.items()}
        for split, shards in new.items():
            self._finished[split] += shards
        assert self._position is not None
        lists = {}
        if self._rejected is not None:
            self._rejected.drain(sync=True)
            lists[REJECTED_LINES] = self._rejected.state()
        state = {
            "identity": self._plan.identity,
            "overwrite": self._plan.options.overwrite,
            "position": self._position,
            "tally": asdict(self._tally),
            "finished": self._finished,
            "writers": {split: writer.state() for split, writer in self._writers.items()},
            "lists": lists,
            "progress": {
                "time": round(time.time(), 3), "host": platform.node(), "pid": os.getpid(),
                "bytes_read": self._read_before(self._position),
                "bytes_total": sum(source.size for source in self._plan.inputs),
            },
        }  # fmt: skip
        self._partial.save(state, [shard for shards in new.values() for shard in shards])

    def _manifest(self) -> dict[str, Any]:
        tally = self._tally
        manifest = {
            "manifest": VERSION,
            **self._plan.identity,
            "share": [list(self._plan.share.start), list(self._plan.share.stop)],
            "continues": tally.continues,
            "goes_on": tally.goes_on,
            "final_separator": tally.final_separator,
            "documents": tally.documents + tally.goes_on,
            "tokens": tally.tokens,
            "bytes": tally.bytes,
            "problems": tally.problems,
            "files": file_entries(self._finished),
        }
        if self._rejected is not None:
            self._rejected.drain()
            records = sum(problem["count"] for problem in tally.problems.values())
            with self._rejected.path.open("rb") as lines:
                manifest[REJECTED] = write_rejected(self._partial.folder / self._plan.names.rejected, [lines], records)
        return manifest


def write_rejected(path: Path, files: Iterable[Any], records: int) -> dict[str, Any]:
    """Join files of lines into a synced gzip file. Return its entry in a manifest."""
    with path.open("wb") as file:
        with gzip_file(file) as packed:
            for lines in files:
                shutil.copyfileobj(lines, packed)
        file.flush()
        os.fsync(file.fileno())
    return file_entry(path, records=records)


def finished(plan: Plan) -> dict[str, Any] | None:
    """The manifest of this output, if it is complete; raises FileExistsError if another run made it, or may have."""
    path = plan.names.manifest
    if not path.exists():
        return None
    manifest = read_manifest(path)
    differences = [f"made {one}" for one in plan.differences(manifest)]
    for file in entries_in(manifest) if not differences else ():
        try:
            changed = (plan.names.place / file["name"]).stat().st_size != file["bytes"]
        except FileNotFoundError:
            changed = True
        differences += [f"{file['name']} has changed"] * changed
    if single := [source.path for source in plan.inputs if source.read_once]:
        differences.append(f"{single[0]} can be read only once, and nothing says whether it is the same")
    if differences:
        raise file_exists(path, f"exists already: {'; '.join(differences[:4])}; overwrite=True replaces it")
    return manifest


def summary_of(plan: Plan, manifest: dict[str, Any], seconds: float, resumed: int) -> dict[str, Any]:
    """The totals of a manifest for the caller; see `encode_corpus`."""
    return {
        **{name: manifest[name] for name in ("documents", "tokens", "bytes", "problems", "on_error")},
        "files": [file["name"] for file in manifest["files"]],
        **({REJECTED: manifest[REJECTED]["name"]} if REJECTED in manifest else {}),
        "manifest": str(plan.names.manifest),
        "tokens_before": resumed,
        "seconds": round(seconds, 3),
    }
