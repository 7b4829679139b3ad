"""A corpus to token files on a cluster: shard tasks, and their files joined into those that one process would write.

The corpus is cut into shares of about equal size, by its bytes and nothing else, so the cut does not depend on the
number of workers. Each share is a `bpetite.corpus.ShardTask`, the same that a rank of a job array runs, with its own
files and journal: a task that lost its worker is started again elsewhere and goes on from that journal. When all are
done, the files of the output are assembled from theirs, again by tasks, one for each file. A journal of the whole run
is beside the output, so a driver that died can be started again.
"""
from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias

from ..corpus import Piece, ShardTask, make_task, shares
from ..corpus.api import SourcesLike
from ..corpus.output.checksums import check_file
from ..corpus.output.durable import Journal
from ..corpus.output.manifest import list_inputs, listed_files, read_manifest, write_manifest
from ..corpus.output.naming import REJECTED, Names, names_of
from ..corpus.output.rejected import Lines, join_rejected, list_rejected, rejected_writer
from ..corpus.output.shapes import CLUSTER_HEADER, CLUSTER_SHARD, check_shape
from ..corpus.output.shards import outputs_in, settle
from ..corpus.reading.readers import parsers
from ..corpus.run.assembly import join_manifests
from ..corpus.run.options import EncodeOptions, split_options
from ..corpus.run.part import Progress
from ..corpus.sources.share import TASK_BYTES
from ..corpus.sources.urls import refuse_url
from ..errors import file_exists
from .executor import Executor, Report, check_positive, run_all
from .joining import join, patiently
from .parcel import Parcel

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["encode_corpus"]

#: The most messages of tasks that are passed on.
MESSAGES = 20

#: Seconds between two reports of a task.
REPORT_EVERY = 0.5

#: The result of a task: its (bytes, tokens, documents), and its messages for people.
_Done: TypeAlias = tuple[tuple[int, int, int], list[str]]


@dataclass(frozen=True)
class _Shared:
    """What all tasks of a run have in common."""

    task: ShardTask
    threads: int
    verify: bool


def encode_corpus(
    executor: Executor,
    sources: SourcesLike,
    sink: str | os.PathLike[str],
    tokenizer: Any,
    *,
    task_bytes: int = TASK_BYTES,
    threads: int = 1,
    join_tasks: bool = True,
    progress: Progress | None = None,
    log: Callable[[str], None] | None = None,
    **options: Unpack[EncodeOptions],
) -> dict[str, Any]:
    """Turn a corpus into token files on a cluster; `bpetite.corpus.encode_corpus` does it in one process.

    The output is the same byte for byte, manifest included. Inputs and output must have the same paths on all workers
    and here. Until the end, the tokens need disk space twice.

    Args:
        executor: Runs the tasks.
        sources, sink, tokenizer, progress, log, options: As for `bpetite.corpus.encode_corpus`.
        task_bytes: Input of one task: the most work that a lost worker costs. The output does not depend on it.
        threads: Threads of a task.
        join_tasks: Assemble the output of one run. Without, the files of the tasks are the output: those that ranks of
            a job array write, which ``bpetite merge`` can merge.

    Returns:
        As `bpetite.corpus.encode_corpus`.

    Raises:
        RecordError: A record has a problem and ``on_error`` is "fail": the first in the order of the corpus.
        TypeError, ValueError, OSError: As `bpetite.corpus.encode_corpus`.
    """
    check_positive(task_bytes=task_bytes, threads=threads)
    settings, how = split_options("encode_corpus", options)
    refuse_url(sink, "written by an engine")
    settings.refuse_parts("several tasks")
    whole = make_task(sources, sink, tokenizer, options=settings, **how)
    return _Run(executor, whole, task_bytes, threads, join_tasks, progress, log or (lambda line: None)).run()


@dataclass
class _Run:
    """One call of `encode_corpus`."""

    executor: Executor
    whole: ShardTask
    task_bytes: int
    threads: int
    join_tasks: bool
    progress: Progress | None
    log: Callable[[str], None]

    def __post_init__(self) -> None:
        if self.whole.options.pack is not None:
            raise ValueError("pack= is not for tasks on an engine: each would end in a window that is not full; "
                             "encode on one machine, or by ranks, which say what each of them drops")
        self.wanted = max(1, math.ceil(sum(piece.raw_bytes for piece in self.whole.pieces) / self.task_bytes))
        self.meter = None if self.progress is None else _Meter(self.progress)
        self.messages = 0
        self.resumed = False
        self.names = self.whole.names
        self.journal_path = self.names.beside("tasks.journal")

    def run(self) -> dict[str, Any]:
        began = time.perf_counter()
        whole = self.whole
        digest = whole.run_digest  # before a file is touched: it finds every mistake in the options
        self.names.folder.mkdir(parents=True, exist_ok=True)
        done = None if whole.overwrite else whole.finished()
        if done is not None and not self.journal_path.exists():
            return whole.summary(done, time.perf_counter() - began, 0)
        journal = Journal(self.journal_path)
        try:
            count = self._resume(journal, digest)
            if done is None:
                done = self._encode(journal, digest, count)
            if self.join_tasks:
                _remove(self._ranks(count))
            journal.close(remove=True)
        finally:
            journal.close(remove=not journal.records)
        return whole.summary(done, time.perf_counter() - began, 0)

    def _resume(self, journal: Journal, digest: str) -> int:
        """The number of tasks: that of the run in the journal, or of a new run."""
        if self.whole.overwrite:
            for record in journal.records[:1]:
                check_shape(record, CLUSTER_HEADER, self.journal_path, "record 0")
                _remove(self._ranks(record["tasks"]))
            _remove(self._ranks(self.wanted))  # left by a run without join_tasks
            _remove([self.names])
            journal.restart()
        if not journal.records:
            self.names.clear_temporary(unknown=journal.existed or self.whole.overwrite)
            self._check_free(digest)
            journal.append({"run": digest, "tasks": self.wanted, "joined": self.join_tasks})
            return self.wanted
        header = journal.records[0]
        check_shape(header, CLUSTER_HEADER, self.journal_path, "record 0")
        for number, record in enumerate(journal.records[1:], 1):
            check_shape(record, CLUSTER_SHARD, self.journal_path, f"record {number}")
        if header["run"] != digest or header["joined"] != self.join_tasks:
            raise ValueError(
                f"{journal.path}: begun with other inputs, options or tokenizer; give the same command again to go on, "
                "or overwrite=True to start anew"
            )
        self.resumed = True
        self.log(f"going on from {journal.path}: {header['tasks']} tasks")
        return int(header["tasks"])

    def _check_free(self, digest: str) -> None:
        """Find out now, not when everything has been encoded, that the output cannot be written."""
        if self.wanted > 1 and self.names.journal.exists():
            raise file_exists(self.names.journal, "of an unfinished run here; finish that, or overwrite=True")
        for names in islice(self._ranks(self.wanted), 1):
            if names.manifest.exists() and read_manifest(names.manifest)["run"] != digest:
                raise file_exists(names.manifest, "of other inputs or options; overwrite=True replaces it")
        paths = [
            path for split in self.whole.splits for path in self.whole.layout.outputs(self.names.base(split, 0))
        ]
        if self.whole.options.rejected:
            paths += Lines().outputs(self.names.beside(REJECTED))
        for path in paths:
            if not path.exists() or self.names.journal.exists():
                continue
            if not self.whole.overwrite:
                raise file_exists(path, "exists already; overwrite=True replaces it")
            path.unlink()

    def _ranks(self, count: int) -> Iterator[Names]:
        for rank in range(count if count > 1 else 0):
            yield names_of(
                self.whole.output,
                self.whole.layout,
                shard_tokens=self.whole.options.shard_tokens,
                rank=rank,
                world_size=count,
            )

    def _encode(self, journal: Journal, digest: str, count: int) -> dict[str, Any]:
        whole = self.whole
        jobs = list(enumerate(shares(whole.pieces, count, cut_files=whole.cuts_files)))
        # A task that will be joined does not list the inputs of all tasks: there may be many of both.
        joined = self.join_tasks and count > 1
        task = replace(
            whole,
            pieces=(),
            inputs=() if joined else whole.inputs,
            tokenizer=Parcel(whole.tokenizer),
            world_size=count,
            overwrite=False,  # earlier files have been deleted, and a task that is started again goes on
            durable=not joined,  # files that are read at once and then deleted need not reach the disk
            known_digest=digest,
            known_parsers=parsers(whole.inputs),
        )
        shared = Parcel(_Shared(task, self.threads, joined and self.resumed))
        meter = self.meter
        run_all(
            self.executor,
            _encode_share,
            shared,
            jobs,
            on_result=self._on_result,
            on_report=None if meter is None else meter.move,
        )
        if count == 1:
            return read_manifest(self.names.manifest)
        manifests = [read_manifest(names.manifest) for names in self._ranks(count)]
        manifest = join_manifests(manifests)
        if not joined:
            manifest["files"] = [file for one in manifests for file in one["files"]]
            return manifest
        manifest["inputs"] = list_inputs(whole.inputs)
        manifest["files"] = join(self.executor, whole, manifests, journal)
        if "rejected" in manifest:
            parts = [(names.manifest, one) for names, one in zip(self._ranks(count), manifests, strict=True)]
            shards = join_rejected(parts, rejected_writer(self.names, overwrite=True))
            settle(self.names.folder, shards)
            manifest["rejected"] = list_rejected(shards, manifest["problems"])
        write_manifest(self.names.manifest, manifest)
        return manifest

    def _on_result(self, rank: int, result: _Done) -> None:
        totals, messages = result
        if self.meter is not None:
            self.meter.move(rank, totals)
        for message in messages[: max(0, MESSAGES - self.messages)]:
            self.log(message)
        self.messages += len(messages)


class _Meter:
    """The totals of tasks as the steps of a progress bar."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._last: dict[int, tuple[int, int, int]] = {}
        self._raw = 0

    def move(self, rank: int, totals: tuple[int, int, int]) -> None:
        """Take the (bytes, tokens, documents) of a task so far; a task that was started again may have fewer."""
        self._last[rank] = totals
        raw, tokens, documents = (sum(column) for column in zip(*self._last.values(), strict=True))
        step = max(0, raw - self._raw)
        self._raw += step
        self._progress(step, tokens, documents)


def _encode_share(shared: _Shared, job: tuple[int, tuple[Piece, ...]], report: Report) -> _Done:
    """What a worker does: one task, from where an earlier worker stopped."""
    rank, pieces = job
    parcel: Parcel[Any] = shared.task.tokenizer
    task = replace(shared.task, pieces=pieces, tokenizer=parcel.get(), rank=rank)
    if shared.verify and not _is_whole(task.names):
        _remove([task.names])
    raw, last = 0, time.monotonic()

    def progress(step: int, tokens: int, documents: int) -> None:
        nonlocal raw, last
        raw += step
        if time.monotonic() - last >= REPORT_EVERY:
            last = time.monotonic()
            report((raw, tokens, documents))

    messages: list[str] = []
    summary = patiently(lambda: task.run(jobs=shared.threads, progress=progress, log=messages.append))
    return (sum(piece.raw_bytes for piece in pieces), summary["tokens"], summary["documents"]), messages


def _is_whole(names: Names) -> bool:
    """Whether the files of a finished task are as its manifest says; True for a task that is not finished.

    They were not synced, so a power failure that ended the earlier run may have damaged them.
    """
    if not names.manifest.exists():
        return True
    try:
        for file in listed_files(read_manifest(names.manifest)):
            check_file(names.folder / file["name"], file)
    except (ValueError, OSError):
        return False
    return True


def _remove(outputs: Iterable[Names]) -> None:
    """Delete what tasks wrote, finished or not."""
    for names in outputs:
        files: list[str] = []
        if names.manifest.exists():
            try:
                files = [file["name"] for file in listed_files(read_manifest(names.manifest))]
            except ValueError:  # damaged, so it cannot say
                files = names.finished()
        elif names.journal.exists():
            journal = Journal(names.journal)
            journal.close()
            files = [file["name"] for file in outputs_in(journal.records[1:], journal.path)]
        names.remove(files)
        for path in [*names.temporary(), names.manifest]:
            path.unlink(missing_ok=True)
        Journal.discard(names.journal)
