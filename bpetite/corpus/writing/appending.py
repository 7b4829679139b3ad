"""A file that only grows at its end, written and checked by a thread of its own.

Encoding hands its tokens over and goes on: writing to a file and taking its checksum take a third of the time that
encoding takes, and both release the interpreter lock.
"""
from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any, BinaryIO

from ..handoff import BoundedQueue
from .checksums import Checksum, take_in
from .durable import begin_writeback, explained, write_all

__all__ = ["HELD", "Appender"]

#: Bytes that may wait to be written.
HELD = 16 << 20


class Appender:
    """Appends to an unbuffered file.

    Args:
        file: Positioned where the next bytes go; nothing else moves it before :meth:`drain`.
        path: Of the file.
        size: Bytes that are in it already.
        checksum: Takes in the file, including what is in it already.
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
        self.size: int = size
        self.checksum = checksum
        self._file = file
        self._path = path
        self._limit = limit
        self._durable = durable
        self._written = self._begun = size
        self._queue: BoundedQueue[Callable[[], object]] = BoundedQueue(HELD)
        self._error: BaseException | None = None
        if checksum is not None and size:
            self._queue.put(partial(self._take_in_what_is_there, checksum), 0)
        self._thread = Thread(target=self._run, name="bpetite-writer", daemon=True)
        self._thread.start()

    def append(self, data: Any) -> None:
        """Have bytes written after all earlier ones; waits only while too many are waiting to be written.

        Args:
            data: A contiguous buffer that does not change any more.

        Raises:
            OSError: Earlier bytes could not be written.
        """
        view = memoryview(data).cast("B")
        if not self._queue.put(partial(self._put, view), len(view)):
            self._raise()
        self.size += len(view)

    def drain(self) -> None:
        """Wait until everything is in the file.

        Raises:
            OSError: It could not be written.
        """
        self._queue.join()
        self._raise()

    def digest(self) -> str:
        """The checksum, in hex digits, of everything that was appended, up to the limit."""
        assert self.checksum is not None
        self.drain()
        return self.checksum.hexdigest()

    def close(self) -> None:
        """End the thread; bytes that it has not begun to write are dropped. The file stays open."""
        self._queue.stop()
        self._thread.join()

    def _raise(self) -> None:
        if isinstance(self._error, OSError):
            raise explained(self._error, self._path) from None
        if self._error is not None:
            raise self._error

    def _run(self) -> None:
        """What the thread does."""
        try:
            for step in self._queue:
                step()
                del step  # its bytes would be kept while the next step is awaited
        except BaseException as error:  # raised by the next append or drain
            self._error = error
            self._queue.stop()

    def _take_in_what_is_there(self, checksum: Checksum) -> None:
        with self._path.open("rb", buffering=0) as file:
            take_in(checksum, file, min(self._written, self._limit or self._written))

    def _put(self, view: memoryview) -> None:
        before = self._written
        self._written += write_all(self._file, view)
        if self._durable:
            self._begun = begin_writeback(self._file, self._begun, self._written)
        if self.checksum is not None:
            self.checksum.update(view if self._limit is None else view[: max(0, self._limit - before)])
