"""A file that only grows at its end, written and checked by a thread of its own.

Whoever makes tokens hands them over and goes on with the next ones: writing to a file and taking its checksum are a
third of the time that encoding takes, and both let other threads run.
"""
from __future__ import annotations

from collections import deque
from pathlib import Path
from threading import Condition, Thread
from typing import Any, BinaryIO

from .checksums import Checksum, take_in
from .durable import begin_writeback, explained, write_all

__all__ = ["HELD", "Appender"]

#: Bytes that may wait to be written.
HELD = 16 << 20


class Appender:
    """Appends to an unbuffered file.

    Args:
        file: Stands where the next bytes go; nothing else moves it before :meth:`drain`.
        path: Of the file.
        size: Bytes that are in it already.
        checksum: To be taken of the file, of what is in it already too.
        limit: Bytes of the file that belong to the checksum; None for all.
        durable: Have the system begin to write to disk soon.
    """

    def __init__(
        self,
        file: BinaryIO,
        path: Path,
        size: int = 0,
        *,
        checksum: Checksum | None = None,
        limit: int | None = None,
        durable: bool = True,
    ) -> None:
        self.size = size
        self._file = file
        self._path = path
        self.checksum = checksum
        self._limit = limit
        self._durable = durable
        self._written = self._begun = size
        self._queue: deque[memoryview] = deque()
        self._waiting = 0  # bytes handed over and not yet done with
        self._started = False  # whether what is in the file already is in the checksum
        self._closed = False
        self._error: BaseException | None = None
        self._changed = Condition()
        self._thread = Thread(target=self._run, name="bpetite-writer", daemon=True)
        self._thread.start()

    def append(self, data: Any) -> None:
        """Have bytes written behind all others, and wait only if many are waiting for that already.

        Args:
            data: A contiguous buffer that does not change any more.

        Raises:
            OSError: Earlier bytes could not be written.
        """
        view = memoryview(data).cast("B")
        with self._changed:
            while self._waiting and self._waiting + len(view) > HELD and self._error is None:
                self._changed.wait()
            self._raise()
            self._queue.append(view)
            self._waiting += len(view)
            self.size += len(view)
            self._changed.notify_all()

    def drain(self) -> None:
        """Wait until everything is in the file.

        Raises:
            OSError: It could not be written.
        """
        with self._changed:
            while not (self._started and not self._queue and not self._waiting) and self._error is None:
                self._changed.wait()
            self._raise()

    def digest(self) -> str:
        """The checksum, in hex digits, of everything that was handed over, up to the limit."""
        assert self.checksum is not None
        self.drain()
        return self.checksum.hexdigest()

    def close(self) -> None:
        """End the thread; what it has not begun to write is not written. The file stays open."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._thread.join()

    def _raise(self) -> None:
        if isinstance(self._error, OSError):
            raise explained(self._error, self._path) from None
        if self._error is not None:
            raise self._error

    def _run(self) -> None:
        """What the thread does."""
        try:
            self._take_in_what_is_there()
            with self._changed:
                self._started = True
                self._changed.notify_all()
            while (view := self._next()) is not None:
                self._put(view)
                with self._changed:
                    self._waiting -= len(view)
                    self._changed.notify_all()
                view = None  # or it would be held while the next one is waited for
        except BaseException as error:  # it is raised where more is handed over, or the end is waited for
            with self._changed:
                self._error = error
                self._changed.notify_all()

    def _next(self) -> memoryview | None:
        with self._changed:
            while not self._queue and not self._closed:
                self._changed.wait()
            return None if self._closed else self._queue.popleft()

    def _take_in_what_is_there(self) -> None:
        if self.checksum is not None and self._written:
            with self._path.open("rb", buffering=0) as file:
                take_in(self.checksum, file, min(self._written, self._limit or self._written))

    def _put(self, view: memoryview) -> None:
        before = self._written
        self._written += write_all(self._file, view)
        if self._durable:
            self._begun = begin_writeback(self._file, self._begun, self._written)
        if self.checksum is not None:
            self.checksum.update(view if self._limit is None else view[: max(0, self._limit - before)])
