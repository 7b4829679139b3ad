"""Reading ahead by threads.

Corpora are worked on by threads, not processes: the tokenizer, decompression, checksums and file writes all release the
interpreter lock, so threads keep the cores busy, share one tokenizer, and hand over arrays without copying them through
a pipe. docs/corpus.md has the numbers.
"""
from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterable
from itertools import islice
from queue import SimpleQueue
from threading import Semaphore
from typing import Generic, TypeVar

from ...core._threads import Future

__all__ = ["read_ahead"]

Job = TypeVar("Job")


def read_ahead(
    sources: Iterable[Generator[Job, None, None]], threads: int = 1, held: int = 1
) -> Generator[Job, None, None]:
    """The jobs of all sources in order, each source read by a thread of its own while the caller works.

    An error of reading is raised after the jobs that were read before it. When this generator is closed, no thread
    reads any more and the sources are closed; so this is not for an input that can keep its reader waiting, such as a
    terminal.

    Args:
        sources: Each gives jobs.
        threads: Sources that are read at a time: the one whose jobs are due, and the next ones.
        held: Jobs of a source that wait until they are due.
    """
    left = iter(sources)
    readers: deque[_Reader[Job]] = deque()
    try:
        while True:
            readers.extend(_Reader(source, held) for source in islice(left, threads - len(readers)))
            if not readers:
                return
            while (job := readers[0].next()) is not None:
                yield job
                del job  # it would be kept while the next one is awaited
            readers.popleft()
    finally:
        for reader in readers:
            reader.close()


class _Reader(Generic[Job]):
    """A thread that reads a source, up to ``held`` jobs ahead."""

    def __init__(self, source: Generator[Job, None, None], held: int) -> None:
        self._source = source
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._free = Semaphore(held)
        self._closing = False
        self._thread = Future.started(self._run)

    def _run(self) -> None:
        try:
            while self._free.acquire() and not self._closing and (job := next(self._source, None)) is not None:
                self._jobs.put(job)
                del job
        finally:
            self._jobs.put(None)

    def next(self) -> Job | None:
        """The next job; None at the end."""
        job = self._jobs.get()
        self._free.release()
        if job is None:
            self._thread.result()
        return job

    def close(self) -> None:
        """End the thread, and close the source."""
        self._closing = True
        self._free.release()
        self._thread.wait()
        self._source.close()
