"""Work ahead by threads, on several sources at a time.

Corpora are worked on by threads, not processes: the tokenizer, decompression, checksums and file writes all release the
interpreter lock, so threads keep the cores busy, share one tokenizer, and hand over arrays without copying them through
a pipe. docs/corpus.md has the numbers.
"""
from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Generator, Iterable
from itertools import islice
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryFile
from threading import Lock, Semaphore
from typing import Any, Generic, TypeVar

from ...core._threads import Future

__all__ = ["read_ahead"]

Job = TypeVar("Job")


def read_ahead(
    sources: Iterable[Generator[Job, None, None]], threads: int = 1, held: int = 1, aside: Path | None = None
) -> Generator[Job, None, None]:
    """The jobs of all sources in order, each source read by a thread of its own while the caller works.

    An error of reading is raised after the jobs that were read before it. When this generator is closed, no thread
    reads any more and the sources are closed; so this is not for an input that can keep its reader waiting, such as a
    terminal.

    Args:
        sources: Each gives jobs.
        threads: Sources that are read at a time: the one whose jobs are due, and the next ones.
        held: Jobs of a source that wait in memory until they are due.
        aside: A folder for the further ones, in a file without a name; without a folder, their reader waits, so that no
            source is read faster than the first one is used up.
    """
    left = iter(sources)
    readers: deque[_Reader[Job]] = deque()
    try:
        while True:
            readers.extend(_Reader(source, held, aside) for source in islice(left, threads - len(readers)))
            if not readers:
                return
            while (job := readers[0].next()) is not None:
                yield job
                del job  # it would be kept while the next one is awaited
            readers.popleft().close()
    finally:
        for reader in readers:
            reader.close()


class _Reader(Generic[Job]):
    """A thread that reads a source, up to ``held`` jobs ahead, or further where others are put ``aside``."""

    def __init__(self, source: Generator[Job, None, None], held: int, aside: Path | None) -> None:
        self._source = source
        self._jobs: SimpleQueue[Job | int | None] = SimpleQueue()  # for a job that is in the file, its place there
        self._held = held
        self._free = Semaphore(held)
        self._aside = aside
        self._file: Any = None
        self._using = Lock()  # held where the file is used
        self._closing = False
        self._thread = Future.started(self._run)

    def _run(self) -> None:
        try:
            while (self._aside or self._free.acquire()) and not self._closing:
                if (job := next(self._source, None)) is None:
                    break
                self._jobs.put(job if self._aside is None or self._jobs.qsize() < self._held else self._put_aside(job))
                del job
        finally:
            self._jobs.put(None)

    def _put_aside(self, job: Job) -> int:
        with self._using:
            if self._file is None:
                self._file = TemporaryFile(dir=self._aside)  # noqa: SIM115 - `close` closes it
            place: int = self._file.seek(0, 2)
            pickle.dump(job, self._file, 5)
        return place

    def next(self) -> Job | None:
        """The next job; None at the end."""
        job = self._jobs.get()
        self._free.release()
        if isinstance(job, int):
            with self._using:
                self._file.seek(job)
                job = pickle.load(self._file)
        if job is None:
            self._thread.result()
        return job

    def close(self) -> None:
        """End the thread, and close the source."""
        self._closing = True
        self._free.release()
        self._thread.wait()
        self._source.close()
        if self._file is not None:
            self._file.close()
