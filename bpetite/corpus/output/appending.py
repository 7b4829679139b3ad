"""A file that only grows at its end, written and checked by several threads, each at its own place.

Encoding hands its tokens over and goes on: writing to a file and taking its checksum take a third of the time that
encoding takes, and both release the interpreter lock. Each range of the file (see `checksums`) is written and hashed in
order, by one thread at a time; different ranges by different threads.
"""
from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from threading import Condition, Thread
from typing import Any, BinaryIO

from .checksums import RANGE, Sums, root_of, take_in
from .durable import begin_writeback, explained, write_at

__all__ = ["HELD", "Appender", "Writers"]

#: Bytes that may wait to be written, for each thread.
HELD = 16 << 20


class Writers:
    """Threads that write, started when there is work for them.

    Args:
        threads: The most of them.
    """

    def __init__(self, threads: int = 1) -> None:
        self._most = threads
        self._calls: deque[Callable[[], object]] = deque()
        self._idle = 0
        self._threads: list[Thread] = []
        self._closed = False
        self.changed: Condition = Condition()  # also of the appenders, which count what they hold together
        self.held = 0

    @property
    def room(self) -> int:
        """Bytes that may wait."""
        return HELD * self._most

    def start(self, call: Callable[[], object]) -> None:
        """Have a call made; the caller holds the lock of ``changed``.

        Raises:
            RuntimeError: Not one thread could be started; the call will not be made.
        """
        if len(self._calls) >= self._idle and len(self._threads) < self._most:
            thread = Thread(target=self._run, name="bpetite-writer", daemon=True)
            try:
                thread.start()
            except RuntimeError:
                if not self._threads:
                    raise
            else:
                self._threads.append(thread)
        self._calls.append(call)
        self.changed.notify_all()

    def close(self) -> None:
        """End the threads, when they have made the calls that they are given."""
        with self.changed:
            self._closed = True
            self.changed.notify_all()
        for thread in self._threads:
            thread.join()

    def _run(self) -> None:
        while True:
            with self.changed:
                self._idle += 1
                while not self._calls and not self._closed:
                    self.changed.wait()
                self._idle -= 1
                if not self._calls:
                    return
                call = self._calls.popleft()
            call()
            del call


@dataclass
class _Range:
    """A range of the file: its checksum so far, and the parts that wait to be written."""

    checksum: hashlib._Hash = field(default_factory=hashlib.sha256)
    parts: deque[tuple[int, memoryview]] = field(default_factory=deque)
    busy: bool = False
    at_limit: hashlib._Hash | None = None


class Appender:
    """Appends to an unbuffered file.

    Args:
        file: Nothing else writes to it before :meth:`drain`.
        path: Of the file.
        size: Bytes that are in it already; they are read for the checksum.
        writers: Write; None for a thread of its own.
        limit: Where the checksums may have to end, before the bytes that follow.
    """

    def __init__(
        self,
        file: BinaryIO,
        path: Path,
        size: int = 0,
        *,
        writers: Writers | None = None,
        limit: int | None = None,
    ) -> None:
        self.size: int = size
        self._file = file
        self._path = path
        self._limit = limit
        self._own = writers is None
        self._writers = writers or Writers()
        self._changed = self._writers.changed
        self._ranges: list[_Range] = []
        self._busy = 0
        self._closed = False
        self._error: BaseException | None = None
        with self._changed:
            for start in range(0, size, RANGE):
                there = _Range(busy=True)
                self._writers.start(partial(self._read, there, start, min(size, start + RANGE)))
                self._ranges.append(there)
                self._busy += 1

    def append(self, data: Any) -> None:
        """Have bytes written after all earlier ones; waits only while too many are waiting to be written.

        Args:
            data: A contiguous buffer that does not change any more.

        Raises:
            OSError: Earlier bytes could not be written.
            RuntimeError: No thread could be started to write them.
        """
        view = memoryview(data).cast("B")
        while len(view):
            index, inside = divmod(self.size, RANGE)
            part = view[: RANGE - inside]
            view = view[len(part) :]
            with self._changed:
                while self._writers.held and self._writers.held + len(part) > self._writers.room and not self._error:
                    self._changed.wait()
                if self._error is not None:
                    break
                begun = index < len(self._ranges)
                there = self._ranges[index] if begun else _Range()
                if not there.busy:
                    self._writers.start(partial(self._write, there))  # first: without a thread nothing has changed
                    there.busy = True
                    self._busy += 1
                if not begun:
                    self._ranges.append(there)
                there.parts.append((self.size, part))
                self._writers.held += len(part)
                self.size += len(part)
        self._raise()

    def drain(self) -> None:
        """Wait until everything is in the file.

        Raises:
            OSError: It could not be written.
        """
        with self._changed:
            while self._busy:
                self._changed.wait()
        self._raise()

    def root(self) -> str:
        """The checksum of everything that is in the file, for a journal."""
        self.drain()
        return root_of(one.checksum.hexdigest() for one in self._ranges)

    def sums(self, size: int | None = None, *, head: bool = False) -> Sums:
        """The checksums of what is in the file.

        Args:
            size: All bytes, as None means, or those up to the limit.
            head: The first bytes have been written anew since they were appended.
        """
        self.drain()
        size = self.size if size is None else size
        ranges = [one.checksum for one in self._ranges[: -(-size // RANGE)]]
        if ranges and size != self.size:
            cut = self._ranges[len(ranges) - 1].at_limit
            assert cut is not None, f"{size} bytes of {self.size}, limit {self._limit}"
            ranges[-1] = cut
        if head and ranges:
            ranges[0] = hashlib.sha256()
            with self._path.open("rb", buffering=0) as file:
                take_in(ranges[0], file, min(size, RANGE))
        return Sums(tuple(one.hexdigest() for one in ranges))

    def close(self) -> None:
        """Drop bytes that no thread has begun to write, and wait for the others. The file stays open."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
            while self._busy:
                self._changed.wait()
        if self._own:
            self._writers.close()

    def _raise(self) -> None:
        if isinstance(self._error, OSError):
            raise explained(self._error, self._path) from None
        if self._error is not None:
            raise self._error

    # What the threads do

    def _write(self, there: _Range) -> None:
        """Write and hash the parts of a range, as long as there are any."""
        while True:
            with self._changed:
                if self._closed or self._error is not None:
                    self._drop()
                if not there.parts:
                    there.busy = False
                    self._busy -= 1
                    self._changed.notify_all()
                    return
                offset, part = there.parts.popleft()
            try:
                self._put(there, offset, part)
            except BaseException as error:  # raised by the next append or drain
                with self._changed:
                    self._error = self._error or error
            with self._changed:
                self._writers.held -= len(part)
                self._changed.notify_all()
            del part  # its bytes would be kept while the next one is awaited

    def _drop(self) -> None:
        for one in self._ranges:
            while one.parts:
                _, part = one.parts.popleft()
                self._writers.held -= len(part)
        self._changed.notify_all()

    def _put(self, there: _Range, offset: int, part: memoryview) -> None:
        write_at(self._file, part, offset)
        end = offset + len(part)
        if end % RANGE == 0:
            begin_writeback(self._file, end - RANGE, end)
        self._hash(there, offset, part)

    def _hash(self, there: _Range, offset: int, part: memoryview) -> None:
        if self._limit is not None and offset < self._limit <= offset + len(part):
            there.checksum.update(part[: self._limit - offset])
            there.at_limit = there.checksum.copy()
            part = part[self._limit - offset :]
        there.checksum.update(part)

    def _read(self, there: _Range, start: int, stop: int) -> None:
        """Hash a range that an earlier process has written, then write what has been appended to it."""
        try:
            with self._path.open("rb", buffering=0) as file:
                file.seek(start)
                at = start
                while at < stop:
                    part = file.read(min(1 << 20, stop - at))
                    if not part:
                        raise OSError(f"{self._path}: ends at byte {at}, not {stop}")
                    self._hash(there, at, memoryview(part))
                    at += len(part)
        except BaseException as error:
            with self._changed:
                self._error = self._error or error
        self._write(there)
