"""A file that only grows at its end, written and hashed by threads.

Encoding hands its tokens over and goes on: writing to a file and taking its checksum take a third of the time that
encoding takes, and both release the interpreter lock. Each range of the file (see `checksums`) is written and hashed in
order; different ranges at the same time.
"""
from __future__ import annotations

import hashlib
from collections import deque
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Any, BinaryIO

from ...core._threads import Future, in_order, serve
from .checksums import RANGE, checksum_of, root_of
from .durable import begin_writeback, explained, write_at

__all__ = ["HELD", "Appender"]

#: Bytes that may wait to be written, for each thread.
HELD = 16 << 20


class Appender:
    """Appends to an unbuffered file, to which nothing else writes before :meth:`drain`. The ``size`` bytes that are in
    it already are read for the checksum; about so many ``threads`` write."""

    def __init__(self, file: BinaryIO, path: Path, size: int = 0, threads: int = 1) -> None:
        self.size: int = size
        self._file = file
        self._path = path
        self._most = HELD * threads
        self._waiting: deque[tuple[Future[None], int]] = deque()
        self._held = 0
        self._parts: SimpleQueue[Future[None] | None] = SimpleQueue()  # of the last range
        self._writing: Future[None] | None = None  # the thread that takes them
        self._closed = False
        self._error: BaseException | None = None
        there = in_order(partial(checksum_of, path, size), range(-(-size // RANGE)), threads)
        self._ranges: list[hashlib._Hash] = list(there)
        if size % RANGE:
            self._begin()

    def _begin(self) -> None:
        """Start the thread that writes the next range, or the rest of the last one; that of the one before it ends."""
        self._parts.put(None)
        self._parts = SimpleQueue()  # before its thread starts: `close` ends whichever was started
        self._writing = Future.started(partial(serve, self._parts))

    def append(self, data: Any) -> None:
        """Have a contiguous buffer, which does not change any more, written after all earlier ones; waits only while
        too many are waiting to be written. An error in writing earlier ones is raised here, or by `drain`."""
        view = memoryview(data).cast("B")
        while len(view):
            inside = self.size % RANGE
            part = view[: RANGE - inside]
            view = view[len(part) :]
            while self._waiting and (self._held + len(part) > self._most or self._waiting[0][0].done()):
                self._wait()
            self._raise()
            if not inside:
                self._begin()
                self._ranges.append(hashlib.sha256())  # behind what may fail: without a thread nothing has changed
            future = Future(partial(self._put, self._ranges[-1], self.size, part))
            self._parts.put(future)
            self._waiting.append((future, len(part)))
            self._held += len(part)
            self.size += len(part)

    def _put(self, checksum: hashlib._Hash, offset: int, part: memoryview) -> None:
        """Write a part, by the thread of its range."""
        if self._closed or self._error is not None:
            return
        try:
            write_at(self._file, part, offset)
            end = offset + len(part)
            if end % RANGE == 0:
                begin_writeback(self._file, end - RANGE, end)
            checksum.update(part)
        except BaseException as error:  # raised by the next append or drain
            self._error = self._error or error

    def _wait(self) -> None:
        future, size = self._waiting[0]
        future.wait()  # which a signal may interrupt
        self._waiting.popleft()
        self._held -= size

    def _raise(self) -> None:
        if isinstance(self._error, OSError):
            raise explained(self._error, self._path) from None
        if self._error is not None:
            raise self._error

    def drain(self) -> None:
        """Wait until everything is in the file."""
        while self._waiting:
            self._wait()
        self._raise()

    def root(self) -> str:
        """The checksum of everything that is in the file, for a journal."""
        self.drain()
        return root_of(one.hexdigest() for one in self._ranges)

    def sums(self, size: int | None = None, *, head: bool = False) -> list[str]:
        """The checksums of the ranges of the file.

        Args:
            size: The bytes that count, by default all; behind them is less than a range.
            head: The first bytes have been written anew since they were appended.
        """
        self.drain()
        size = self.size if size is None else size
        ranges = self._ranges[: -(-size // RANGE)]
        anew = {0} if head else set()
        if size != self.size:
            anew.add(len(ranges) - 1)
        for index in anew if ranges else ():
            ranges[index] = checksum_of(self._path, size, index)
        return [one.hexdigest() for one in ranges]

    def close(self) -> None:
        """Drop bytes that no thread has begun to write, and wait for the others. The file stays open."""
        self._closed = True
        while self._waiting:
            self._wait()
        self._parts.put(None)
        if self._writing is not None:
            self._writing.wait()
