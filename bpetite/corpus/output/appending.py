"""A file that only grows at its end, written and checked by threads.

Encoding hands its tokens over and goes on: writing to a file and taking its checksum take a third of the time that
encoding takes, and both release the interpreter lock. Each range of the file (see `checksums`) is written and hashed in
order; different ranges at the same time.
"""
from __future__ import annotations

import hashlib
from collections import deque
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any, BinaryIO

from ...core._threads import Future, in_order
from .checksums import RANGE, checksum_of, root_of
from .durable import begin_writeback, explained, write_at

__all__ = ["HELD", "Appender"]

#: Bytes that may wait to be written, for each thread; and the most parts: each has a thread while it waits.
HELD = 16 << 20
MOST_PARTS = 64


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
        self._last = Event()  # set when the part that was appended last is written
        self._closed = False
        self._error: BaseException | None = None
        there = in_order(partial(checksum_of, path, size), range(-(-size // RANGE)), threads)
        self._ranges: list[hashlib._Hash] = list(there)
        self._last.set()

    def append(self, data: Any) -> None:
        """Have a contiguous buffer, which does not change any more, written after all earlier ones; waits only while
        too many are waiting to be written. An error in writing earlier ones is raised here, or by `drain`."""
        view = memoryview(data).cast("B")
        while len(view):
            inside = self.size % RANGE
            part = view[: RANGE - inside]
            view = view[len(part) :]
            while self._waiting and (
                self._held + len(part) > self._most or len(self._waiting) == MOST_PARTS or self._waiting[0][0].done()
            ):
                self._wait()
            self._raise()
            checksum = self._ranges[-1] if inside else hashlib.sha256()
            before, written = self._last if inside else None, Event()
            future = Future.started(partial(self._put, checksum, self.size, part, before, written))
            self._ranges += [] if inside else [checksum]  # behind what may fail: without a thread nothing has changed
            self._waiting.append((future, len(part)))
            self._held += len(part)
            self.size += len(part)
            self._last = written

    def _put(
        self, checksum: hashlib._Hash, offset: int, part: memoryview, before: Event | None, written: Event
    ) -> None:
        """The thread of a part, which waits for the one before it in its range."""
        if before is not None:
            before.wait()
        try:
            if not self._closed and self._error is None:
                write_at(self._file, part, offset)
                end = offset + len(part)
                if end % RANGE == 0:
                    begin_writeback(self._file, end - RANGE, end)
                checksum.update(part)
        except BaseException as error:  # raised by the next append or drain
            self._error = self._error or error
        finally:
            written.set()

    def _wait(self) -> None:
        future, size = self._waiting.popleft()
        future.wait()
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
