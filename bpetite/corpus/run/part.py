"""Documents in, token files out: a part that reads, encodes in parallel, writes in order, and can be resumed.
"""
from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np

from ...core._threads import in_order
from ...errors import file_exists
from ..encoding.rows import Encoded, Rows, encode_blocks
from ..output.durable import NO_ROOM, Journal, explained, read_records
from ..output.manifest import VERSION, listed_files, read_manifest, write_manifest, write_small
from ..output.naming import REJECTED, Names
from ..output.shards import publish
from ..output.upload import Publisher, begin_staging, end_staging, leave_staging
from ..reading.blocks import Block, Position, TornError
from ..reading.handoff import read_ahead
from ..reading.problems import error_limit
from ..reading.readers import cut_ranges, has_ranges, read_blocks, read_range, require
from ..sources.find import GIVEN, Piece
from ..sources.paths import exists, sizes_in
from ..sources.share import empty_ranks, text_of
from ..sources.streams import Stream, Torn
from .outputs import begun, run_lines, stamp
from .plan import Plan
from .sink import Sink
from .tally import Tally

__all__ = ["Part", "Progress", "finished", "remove", "summary_of"]

#: Called with (bytes of input read since the last call, tokens written so far, documents written so far).
Progress = Callable[[int, int, int], None]

#: Bytes of input, for each thread, that batches being worked on may hold together, unless it is a single one.
HELD = 32 << 20

#: Seconds between two signs of life where nothing can be recorded.
SIGN_SECONDS = 15.0

WAY_OUT = "give the same command again to go on, or overwrite=True to start anew"

#: Blocks of a compressed file that are read ahead, so that decompressing goes on while others encode; and results of a
#: stretch that wait in memory.
AHEAD = 4

#: Results of a stretch that wait where nothing is written.
MOST = 1 << 16

#: Blocks of text, about, of a stretch of inputs at least: so small files are worked on together.
STRETCH = 4

#: The most small blocks that are worked on together.
TOGETHER = 1024


@dataclass
class Batch:
    """Blocks that are worked on together; or a range of a piece, (its number, start, stop), that the worker reads."""

    blocks: list[Block]
    size: int
    range: tuple[int, int, int] | None = None


class Part(Plan):
    """A picklable call: pieces of input to finished token files or, of several parts, to a spool. Run again, however it
    ended, it goes on from its journal or, once finished, does nothing."""

    def run(
        self, *, jobs: int = 1, progress: Progress | None = None, problems: Callable[[int], object] | None = None,
        log: Callable[[str], None] | None = None,
    ) -> dict[str, Any]:
        """Do the work, or the rest of it.

        Args:
            jobs, progress, log: As of `bpetite.corpus.encode_corpus`, whose result and errors these are; reading,
                writing and checksums have threads of their own.
            problems: Called before ``progress`` with the number of problems so far.
        """
        if jobs < 1:
            raise ValueError(f"jobs {jobs} is not at least 1")
        began = time.perf_counter()
        log, progress = log or ignore, progress or ignore
        self.check()
        header = self._header()
        if self.left_out:
            more = f" and {len(self.left_out) - 1} more" if len(self.left_out) > 1 else ""
            log(f"not read, because they are files of this output: {self.left_out[0]}{more}")
        if self.world_size > 1 and self.known_digest is None and (
            warning := empty_ranks(self.inputs, self.world_size, cut_files=self.cuts_files)
        ):  # fmt: skip
            log(warning)
        begin_staging(self.names)
        done = None if self.overwrite else finished(self)
        if done is not None:
            return summary_of(self, done, time.perf_counter() - began, 0)
        journal = Journal(self.names.journal, self.names.stored(self.names.journal))
        try:
            manifest, resumed = self._run_again(journal, header, jobs, progress, problems, log)
            journal.close(remove=True)
            end_staging(self.names)
        except OSError as error:
            if error.errno not in NO_ROOM:
                raise
            raise explained(error, self.names.journal) from None
        finally:
            try:
                if journal.records == [header]:  # it failed, and nothing was done that could be gone on from
                    with suppress(OSError):
                        self.names.clear_temporary(unknown=True)
                        journal.restart()
                    end_staging(self.names)
            finally:
                journal.close(remove=not journal.records)
                if not journal.records:
                    leave_staging(self.names)
        return summary_of(self, manifest, time.perf_counter() - began, resumed)

    def check(self) -> None:
        """Find every mistake in the options, and what is missing, before a file is touched."""
        error_limit(self.max_errors)
        _ = self.run_digest
        self.layout.require()
        for piece in self.pieces:
            self.layout.check_meta(None, piece.path)
        require(self.pieces)

    def _run_again(self, *arguments: Any) -> tuple[dict[str, Any], int]:
        """Run, and begin again at the last checkpoint where a compressed file turns out to be damaged behind it."""
        if any(piece.once for piece in self.pieces):
            return self._run(*arguments)
        damage: dict[str, Torn] = {}
        while True:
            try:
                return replace(self, damage=damage)._run(*arguments)
            except TornError as torn:
                damage = {**damage, torn.path: torn.torn}

    def _run(
        self,
        journal: Journal,
        header: dict[str, Any],
        jobs: int,
        progress: Progress,
        problems: Callable[[int], object] | None,
        log: Callable[[str], None],
    ) -> tuple[dict[str, Any], int]:
        publisher = Publisher(self.names, journal)
        last, tally, shards = self._resume(journal, header, publisher, log)
        resumed = tally.tokens
        sink = Sink(self, tally, last, jobs)
        position, run = sink.resumes_behind, {"run": begun()}
        try:
            if resumed:
                progress(_raw_before(self.pieces, position), tally.tokens, tally.documents)
            last_time = last_sign = time.monotonic()
            with closing(self.results(position, jobs, self.names.folder)) as results:
                for encoded in results:
                    sink.add(encoded)
                    if problems is not None:
                        problems(tally.noted.count)
                    progress(encoded.raw, tally.tokens, tally.documents)
                    # where documents are shuffled, documents behind the position may be in the files
                    behind = sink.resumes_behind
                    moved = behind.certain and behind != position
                    if moved and time.monotonic() - last_time >= self.checkpoint_seconds:
                        self._checkpoint(publisher, sink.record(), shards, run)
                        position, last_time = behind, time.monotonic()
                    if time.monotonic() - max(last_time, last_sign) >= SIGN_SECONDS:
                        os.utime(self.names.journal)
                        last_sign = time.monotonic()
            tally.check_limit(at_end=True)
            sink.finish()
            self._checkpoint(publisher, sink.record(at_end=True), shards, run)
            publisher.finish()
        except BaseException as error:
            if not isinstance(error, TornError):
                self._note(error, journal)
            raise
        finally:
            publisher.close()
            sink.close()
        manifest = self.manifest(tally, shards)
        write_small(self.names.runs, run_lines(journal.records), self.names.folder)
        write_manifest(self.names.manifest, manifest, staging=self.names.folder)
        return manifest, resumed

    def results(self, position: Position, jobs: int, aside: Path | None = None) -> Generator[Encoded, None, None]:
        """The results of the blocks from a position on, in order: read, and encoded by `jobs` threads. Where there are
        several stretches, as many are worked on at a time; what is not due yet is put into files in the folder
        ``aside``, if anything is written."""
        together = jobs == 1 or any(piece.once for piece in self.pieces)  # no thread waits for a pipe
        stretches = [(position, len(self.pieces))] if together else self._stretches(position)
        sources = [
            self._encoded(*stretch, max(1, jobs // (len(stretches) - number)))
            for number, stretch in enumerate(stretches)
        ]
        in_turn = sources[0] if len(sources) == 1 else read_ahead(sources, jobs, AHEAD if self.output else MOST, aside)
        with closing(in_turn):
            yield from in_turn

    def _stretches(self, position: Position) -> list[tuple[Position, int]]:
        """(start, number of the piece behind it) of consecutive inputs: many where there are compressed ones, each of
        which can be read by one thread alone."""
        starts, start, size = [], position, 0
        for number in range(position.piece + 1, len(self.pieces)):
            before, piece = self.pieces[number - 1 : number + 1]
            size += text_of(before)
            if size >= STRETCH * self.block and (before.compression or piece.compression):
                starts.append((start, number))
                start, size = Position(number), 0
        return [*starts, (start, len(self.pieces))]

    def _encoded(self, position: Position, stop: int, threads: int) -> Generator[Encoded, None, None]:
        batches = self.batches(position, threads, stop)
        pool = in_order(self.work, batches, threads, size=attrgetter("size"), held=HELD * threads)
        with closing(batches), closing(pool):
            yield from pool

    def work(self, batch: Batch) -> Encoded:
        """The result of a batch, by a worker."""
        blocks = batch.blocks
        if batch.range is not None:
            number, start, stop = batch.range
            blocks = list(read_range(self.pieces[number], number, start, stop, self.rules.reading))
            if not blocks:  # no document starts here
                return Encoded(Position(number, stop, certain=False), 0, {}, 0, 0, [])
        encoded = encode_blocks(blocks, self.codec, self.rules)
        if not self.output:  # nothing is written: so results that wait are small
            tokens = [int(rows.lengths.sum()) for rows in encoded.splits.values()]
            encoded.splits = {"all": Rows(np.empty(0, np.uint8), np.array([sum(tokens)]))}
        return encoded

    def batches(self, position: Position, jobs: int = 1, stop: int | None = None) -> Generator[Batch, None, None]:
        """Blocks from a position on, up to a piece, small ones together. Of several jobs, each reads ranges of large
        files by itself."""
        reading, stop = self.rules.reading, len(self.pieces) if stop is None else stop
        for number in range(position.piece, stop):
            piece = self.pieces[number]
            if jobs > 1 and piece.raw_bytes > 2 * self.block and has_ranges(piece, reading):
                yield from self._blocks(position, number)
                offset = position.offset if number == position.piece else 0
                for start, behind, size in cut_ranges(piece, offset, reading):
                    yield Batch([], size, (number, start, behind))
                position = Position(number + 1)
        yield from self._blocks(position, stop)

    def _blocks(self, position: Position, stop: int) -> Generator[Batch, None, None]:
        """The blocks from a position on, up to a piece."""
        left = self.pieces[position.piece : stop]
        blocks_of = read_blocks(self.pieces[:stop], self.rules.reading, position)
        # standard input may keep a reader waiting; records that are not plain are parsed with the interpreter lock, for
        # which a reader would wait after each block
        if left and all(not piece.once and (piece.compression or piece.kind == "text") for piece in left):
            blocks_of = read_ahead([blocks_of], 1, AHEAD if any(piece.compression for piece in left) else 1)
        blocks: list[Block] = []
        size = 0
        for block in blocks_of:
            more = block.size
            if blocks and (size + more > self.block or len(blocks) == TOGETHER):
                yield Batch(blocks, size)
                blocks, size = [], 0
            blocks.append(block)
            size += more
        if blocks:
            yield Batch(blocks, size)

    # Crash safety

    def _checkpoint(
        self, publisher: Publisher, record: dict[str, Any], shards: dict[str, list[dict[str, Any]]],
        run: dict[str, Any],
    ) -> None:  # fmt: skip
        read = _raw_before(self.pieces, Position(**record["position"]))
        total = sum(piece.raw_bytes for piece in self.pieces)
        publisher.checkpoint({**record, "stamp": stamp(read, total), **run})
        run.clear()  # the first record of a process has it
        _list_finished(record, shards)

    def _note(self, error: BaseException, journal: Journal) -> None:
        """Record what has ended a run, for `status`; a later run goes on at the record before."""
        with suppress(OSError):
            written = read_records(self.names.journal)  # an append may have failed when all was written
            if len(written) > 1:
                said = " ".join(str(error).split()) or type(error).__name__
                journal.append({**written[-1], "finished": {}, "error": said})

    def _header(self) -> dict[str, Any]:
        """The first record of the journal, as it is read back."""
        header: dict[str, Any] = json.loads(json.dumps(self.identity))
        touched = [piece.touched for piece in self.pieces]
        return {"journal": VERSION, **header, "overwrite": self.overwrite, "touched": touched}

    def _resume(
        self, journal: Journal, header: dict[str, Any], publisher: Publisher, log: Callable[[str], None]
    ) -> tuple[dict[str, Any] | None, Tally, dict[str, list[dict[str, Any]]]]:
        """The state to go on from: (last record of the journal, counts, finished shards)."""
        tally = Tally(self.pieces, self.options.on_error, log, self.max_errors, self.options.stats_by)
        if journal.adopted:  # the files here belong to another one
            self.names.clear_temporary(unknown=True)
        # the journal of the same command, killed after it had begun to replace the output, is gone on from
        goes_on = journal.records[:1] == [header] and not any(piece.once for piece in self.pieces)
        if self.overwrite and not goes_on:
            self._try()
            publisher.claim()
            clear(self.names, journal)
            journal.restart()
        if journal.records and (why := self._begins_anew(journal.records)):
            self.check_same_run(journal.records)
            log(f"begins anew: {why}")
            clear(self.names, journal)
            journal.restart()
        if not journal.records:
            if not self.overwrite:
                self.names.refuse_finished(self.streams)
            self.names.clear_temporary(unknown=journal.existed or self.overwrite)
            publisher.claim()
            free, text = self.names.free_bytes(), sum(map(text_of, self.pieces))
            needed = text // 4 * np.dtype(self.rules.dtype).itemsize
            if free is not None and needed > free:
                log(f"{self.names.folder}: {free:,} bytes are free, and at 4 bytes a token {needed:,} are needed")
            if self.names.home is not None:
                log(f"files grow in {self.names.folder} and are uploaded when they are finished")
            journal.append(header)
            journal.push()
            return None, tally, {}
        self.check_same_run(journal.records)
        publisher.claim()
        records = journal.records[1:]
        shards: dict[str, list[dict[str, Any]]] = {}
        for record in records:
            _list_finished(record, shards)
        made = [shard for finished in shards.values() for shard in finished]
        publish(self.names, made, check=True)
        last = records[-1] if records else None
        kept: dict[str, int] = {}
        if last is not None:
            tally.restore([record["tally"] for record in records])
            kept = {name: size for state in last["writers"].values() for name, (size, _) in state["files"].items()}
        for path in self.names.temporary():
            if path.name not in kept:
                path.unlink()
        publisher.restore(kept)
        if records:
            log(f"going on from {self.names.journal}: {tally.documents:,} documents, {tally.tokens:,} tokens are done")
        return last, tally, shards

    def check_same_run(self, records: Sequence[dict[str, Any]]) -> None:
        """Refuse to go on from the journal of other inputs or options, naming what differs."""
        old = records[0]
        if old.get("journal") != VERSION:
            raise ValueError(f"{self.names.journal}: journal of another release; {WAY_OUT}")
        # a run that would fail at the first problem has met none, so any policy can be chosen; then that one is kept
        free = ("on_error", "rejected") if old["on_error"] == "fail" else ()
        differences = self.differences(old, free=free)
        met = {"on_error": records[-1]["on_error"], "rejected": REJECTED in records[-1].get("writers", ())}
        if free and met["on_error"] != "fail":
            now = {name: getattr(self.options, name) for name in met}
            differences += [f"with {name} {met[name]}, now {now[name]}" for name in met if met[name] != now[name]]
        if differences:
            raise ValueError(f"{self.names.journal}: begun {'; begun '.join(differences[:4])}; {WAY_OUT}")

    def _begins_anew(self, records: list[dict[str, Any]]) -> str | None:
        """The reason why a run cannot go on from the records of its journal, if there is one."""
        if any(piece.once for piece in self.pieces):
            return "the input can be read only once"
        reached = records[-1].get("position", {"piece": -1})["piece"]
        for piece, was in zip(self.pieces[: reached + 1], records[0].get("touched", ()), strict=False):
            if piece.touched != was:
                return f"{piece.path} may have been edited since it was read (time of change or inode differs)"
        return None

    def _try(self) -> None:
        """Look at all inputs, and read and encode the first documents, before anything of an earlier run is deleted:
        that finds most of what can keep a run from starting. Standard input can be read only once."""
        for piece in self.pieces:
            if piece.once or piece.kind == GIVEN:
                return
            with Stream(piece):
                pass
        with closing(self.batches(Position())) as batches:
            for batch in batches:
                Tally(self.pieces, self.options.on_error).add(self.work(batch))
                break


def ignore(*_: object) -> None:
    """The default of ``progress`` and ``log``."""


def _list_finished(record: dict[str, Any], shards: dict[str, list[dict[str, Any]]]) -> None:
    for stream, finished in record["finished"].items():
        shards.setdefault(stream, []).extend(finished)


def clear(names: Names, journal: Journal) -> None:
    """Delete what an earlier run wrote, as far as its manifest and journal say."""
    made = [shard for record in journal.records[1:] for shards in record["finished"].values() for shard in shards]
    for path in names.shard_journals():
        with suppress(FileNotFoundError):  # it is in the store alone, and so are its files
            made += read_records(path)[1:]
    old = [output["name"] for shard in made for output in shard["outputs"]]
    if names.manifest.exists():
        with suppress(ValueError):
            old += [file["name"] for file in listed_files(read_manifest(names.manifest))]
    if names.home is not None:
        old += [name for name in names.there() if names.kind_of(name) == "finished"]
        names.clear_home()
    if journal.records and names.layout.whole is not None:  # written behind the last record, before the manifest
        old.append(names.layout.whole)
    names.remove(old)
    names.runs.unlink(missing_ok=True)
    names.manifest.unlink(missing_ok=True)


def remove(names: Names) -> None:
    """Delete the files of an output or a part, finished or not, if there are any that no process is writing."""
    begun = names.journal.exists() or names.temporary() or (names.home is not None and names.marker.exists())
    if begun or names.manifest.exists():
        journal = Journal(names.journal)
        try:
            clear(names, journal)
            names.clear_temporary(unknown=True)
        finally:
            journal.close(remove=True)


def finished(plan: Plan) -> dict[str, Any] | None:
    """The manifest of this very output, if it is complete; another one there, or one that cannot be compared, is an
    error."""
    path = plan.names.manifest
    if not exists(path):
        return None
    manifest = read_manifest(path)
    differences = [f"made {one}" for one in plan.differences(manifest)]
    if not differences:
        listed = listed_files(manifest)
        sizes = sizes_in(path.parent, [file["name"] for file in listed])
        differences = [f"{file['name']} has changed" for file in listed if sizes.get(file["name"]) != file["bytes"]]
    once = [piece.path for piece in plan.inputs if piece.once]
    if once and not plan.names.journal.exists():
        differences.append(f"{once[0]} can be read only once, and nothing says whether it is the same")
    if differences:
        raise file_exists(path, f"exists already: {'; '.join(differences[:4])}; overwrite=True replaces it")
    with suppress(OSError):  # of a run that is ending now, or in a folder that is read-only
        Journal.discard(plan.names.journal)
        end_staging(plan.names)
    return manifest


def summary_of(plan: Plan, manifest: dict[str, Any], seconds: float, resumed: int) -> dict[str, Any]:
    """The totals of a manifest for the caller; see `encode_corpus`."""
    return {
        **{name: manifest[name] for name in (
            "documents", "tokens", "bytes", "problems", "byte_order_marks", "on_error"
        )},
        "unread": manifest["inputs"].get("unread", 0),
        "files": [file["name"] for file in manifest["files"]],
        **({"rejected": manifest["rejected"]["name"]} if "rejected" in manifest else {}),
        "manifest": str(plan.names.manifest),
        "tokens_before": resumed,
        "seconds": round(seconds, 3),
    }


def _raw_before(pieces: Sequence[Piece], position: Position) -> int:
    """Bytes of input before a position; of a compressed file, only when all of it has been read."""
    before = sum(piece.raw_bytes for piece in pieces[: position.piece])
    if position.piece < len(pieces) and pieces[position.piece].compression is None:
        piece = pieces[position.piece]
        before += max(0, min(position.offset, piece.size) - piece.start)
    return before
