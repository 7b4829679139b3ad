"""Work ahead by threads on several sources at a time.

Threads, not processes: the tokenizer, decompression, hashes and file writes all release the interpreter lock, and
threads share one tokenizer and hand over arrays without a copy.
"""
from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from itertools import islice
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryFile
from threading import Lock, Semaphore
from typing import Any, Generic, TypeVar

from ..core._threads import Future

Result = TypeVar("Result")


def ahead(
    sources: Iterable[Iterator[Result]], threads: int = 1, most_in_memory: int = 1, spill_folder: Path | None = None
) -> Generator[Result, None, None]:
    """The results of several generators, in order. Threads run the generator whose results are due, and the next ones.

    Up to ``most_in_memory`` results of a source wait in memory. If its source is not due yet, a further result goes to
    a nameless file in ``spill_folder``; without that folder, its thread waits. No result may be an int. An error is
    raised after the results before it. Closing this generator waits for all threads, so no source may read an input
    that can block, such as a terminal.
    """
    left = iter(sources)
    readers: deque[_Reader[Result]] = deque()
    try:
        while True:
            next_sources = islice(left, threads - len(readers))
            readers.extend(_Reader(source, most_in_memory, spill_folder) for source in next_sources)
            if not readers:
                return
            while (result := readers[0].next()) is not None:
                yield result
                del result  # or it stays in memory while the next one is awaited
            readers.popleft().close()
    finally:
        for reader in readers:
            reader.close()


class _Reader(Generic[Result]):
    """A thread that runs a source."""

    def __init__(self, source: Iterator[Result], most_in_memory: int, spill_folder: Path | None) -> None:
        self._source = source
        self._results: SimpleQueue[Result | int | None] = SimpleQueue()  # an int: the place of a result in the file
        self._free = Semaphore(most_in_memory)
        self._spill_folder = spill_folder
        self._file: Any = None
        self._using = Lock()  # of the file
        self._due = False
        self._closing = False
        self._thread = Future.started(self._run)

    def _run(self) -> None:
        try:
            while not self._closing:
                has_room = self._free.acquire(blocking=self._spill_folder is None or self._due)
                if self._closing or (result := next(self._source, None)) is None:
                    break
                self._results.put(result if has_room else self._spill(result))
                del result
        finally:
            self._results.put(None)

    def _spill(self, result: Result) -> int:
        with self._using:
            if self._file is None:
                self._file = TemporaryFile(dir=self._spill_folder)  # noqa: SIM115 - `close` closes it
            place: int = self._file.seek(0, 2)
            pickle.dump(result, self._file, 5)
        return place

    def next(self) -> Result | None:
        """The next result; None at the end."""
        self._due = True
        result = self._results.get()
        if isinstance(result, int):
            with self._using:
                self._file.seek(result)
                return pickle.load(self._file)  # type: ignore[no-any-return]
        self._free.release()
        if result is None:
            self._thread.result()
        return result

    def close(self) -> None:
        """End the thread, and close the source."""
        self._closing = True
        self._free.release()
        self._thread.wait()
        close = getattr(self._source, "close", None)
        if close is not None:
            close()
        if self._file is not None:
            self._file.close()
