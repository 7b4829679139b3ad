"""A file that only grows at its end, written and checked by threads, each of which has a range of it.

Encoding hands its tokens over and goes on: writing to a file and taking its checksum take a third of the time that
encoding takes, and both release the interpreter lock. Each range of the file (see `checksums`) is written and hashed in
order, by one thread at a time; different ranges by different threads.
"""
from __future__ import annotations

import hashlib
from collections import deque
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from threading import Condition
from typing import Any, BinaryIO

from ...core._threads import Future, in_order
from .checksums import RANGE, checksum_of, root_of
from .durable import begin_writeback, explained, write_at

__all__ = ["HELD", "Appender", "Backlog"]

#: Bytes that may wait to be written, for each thread.
HELD = 16 << 20


class Backlog:
    """The bytes of several files that wait to be written.

    Args:
        threads: That write, about: a range has a thread while bytes of it wait.
    """

    def __init__(self, threads: int = 1) -> None:
        self.threads = threads
        self.changed: Condition = Condition()  # its lock guards the ranges of all appenders, too
        self.held = 0

    def has_room(self, size: int) -> bool:
        """True if so many more bytes may wait."""
        return not self.held or self.held + size <= HELD * self.threads


@dataclass
class _Range:
    """A range of the file: its checksum so far, and the parts that wait to be written."""

    checksum: hashlib._Hash = field(default_factory=hashlib.sha256)
    parts: deque[tuple[int, memoryview]] = field(default_factory=deque)
    busy: bool = False


class Appender:
    """Appends to an unbuffered file.

    Args:
        file: Nothing else writes to it before :meth:`drain`.
        path: Of the file.
        size: Bytes that are in it already; they are read for the checksum.
        backlog: That of other files, too.
    """

    def __init__(self, file: BinaryIO, path: Path, size: int = 0, backlog: Backlog | None = None) -> None:
        self.size: int = size
        self._file = file
        self._path = path
        self._backlog = backlog or Backlog()
        self._changed = self._backlog.changed
        self._busy = 0
        self._closed = False
        self._error: BaseException | None = None
        there = in_order(partial(checksum_of, path, size), range(-(-size // RANGE)), self._backlog.threads)
        self._ranges: list[_Range] = list(map(_Range, there))

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
                while self._error is None and not self._backlog.has_room(len(part)):
                    self._changed.wait()
                if self._error is not None:
                    break
                there = self._ranges[index] if index < len(self._ranges) else _Range()
                if not there.busy:
                    Future.started(partial(self._write, there))  # first: without a thread nothing has changed
                    there.busy = True
                    self._busy += 1
                self._ranges[index:] = [there]
                there.parts.append((self.size, part))
                self._backlog.held += len(part)
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

    def sums(self, size: int | None = None, *, head: bool = False) -> list[str]:
        """The checksums of the ranges of the file.

        Args:
            size: The bytes that count, by default all; behind them is less than a range.
            head: The first bytes have been written anew since they were appended.
        """
        self.drain()
        size = self.size if size is None else size
        found = [one.checksum for one in self._ranges[: -(-size // RANGE)]]
        anew = {0} if head else set()
        if size != self.size:
            anew.add(len(found) - 1)
        for index in anew if found else ():
            found[index] = checksum_of(self._path, size, index)
        return [one.hexdigest() for one in found]

    def close(self) -> None:
        """Drop bytes that no thread has begun to write, and wait for the others. The file stays open."""
        with self._changed:
            self._closed = True
            while self._busy:
                self._changed.wait()

    def _raise(self) -> None:
        if isinstance(self._error, OSError):
            raise explained(self._error, self._path) from None
        if self._error is not None:
            raise self._error

    def _write(self, there: _Range) -> None:
        """The thread of a range: write and hash its parts, as long as there are any."""
        while True:
            with self._changed:
                if self._closed or self._error is not None:
                    self._backlog.held -= sum(len(part) for _, part in there.parts)
                    there.parts.clear()
                if not there.parts:
                    there.busy = False
                    self._busy -= 1
                    self._changed.notify_all()
                    return
                offset, part = there.parts.popleft()
            try:
                self._put(there, offset, part)
            except BaseException as error:  # raised by the next append or drain
                self._error = self._error or error
            with self._changed:
                self._backlog.held -= len(part)
                self._changed.notify_all()
            del part  # its bytes would be kept while the next one is awaited

    def _put(self, there: _Range, offset: int, part: memoryview) -> None:
        write_at(self._file, part, offset)
        end = offset + len(part)
        if end % RANGE == 0:
            begin_writeback(self._file, end - RANGE, end)
        there.checksum.update(part)
