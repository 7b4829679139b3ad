"""A file that only grows at its end, written and hashed by a thread of its own.

Data is synced before the state of a run lists it. So a run that was killed at any moment truncates its files to the
sizes in the state, and goes on.
"""
from __future__ import annotations

import errno
import os
import stat
from collections import deque
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Any, BinaryIO

import xxhash

from ...core._threads import Future, serve
from ...errors import FormatError, file_exists
from ..read.stores import ANEW, AnyPath, open_bytes

#: The hash of files, against accidents.
HASH = "xxh3_128"

#: Bytes that may wait to be written.
QUEUED_BYTES = 32 << 20

#: Bytes that are read at a time.
CHUNK = 4 << 20

#: The disk or a quota is full, or a file has the largest possible size.
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def explained(error: OSError, path: Path) -> OSError:
    """The same error with the name of the file, which read and write calls of the system leave out."""
    return OSError(error.errno, error.strerror or str(error), error.filename or str(path))


def open_own(path: Path, *, new: bool) -> BinaryIO:
    """Open a file that only this program writes: never through a symbolic link, which could lead anywhere."""
    flags = os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    try:
        handle = os.open(path, flags | (os.O_CREAT | os.O_TRUNC if new else 0), 0o666)
    except OSError as error:
        if error.errno not in (errno.ELOOP, errno.EISDIR, errno.ENXIO):
            raise
        handle = -1
    if handle < 0 or not stat.S_ISREG(os.fstat(handle).st_mode):
        if handle >= 0:
            os.close(handle)
        raise file_exists(path, "a link, a folder or a device is where a file of this output goes; nothing was changed")
    return open(handle, "r+b", buffering=0)


def hash_file(path: AnyPath, size: int | None = None, start: int = 0) -> Any:
    """The hash of a file, or of its bytes from ``start`` up to ``size``."""
    hashed = xxhash.xxh3_128()
    left = -1 if size is None else size - start
    with open_bytes(str(path)) as file:
        file.seek(start)
        while left and (data := file.read(CHUNK if left < 0 else min(CHUNK, left))):
            hashed.update(data)
            left -= len(data) if left > 0 else 0
    return hashed


def file_entry(path: Path, **more: Any) -> dict[str, Any]:
    """The entry of a file in a manifest."""
    return {"name": path.name, "bytes": path.stat().st_size, HASH: hash_file(path).hexdigest(), **more}


def check_file(path: AnyPath, listed: dict[str, Any]) -> None:
    """Raises FormatError if a file differs from its entry in a manifest or a state."""
    try:
        size = path.stat().st_size
    except FileNotFoundError:
        raise FormatError(f"{path}: missing, and listed as {listed['bytes']} bytes") from None
    if size != listed["bytes"]:
        raise FormatError(f"{path}: {size} bytes, but {listed['bytes']} when it was written")
    if hash_file(path).hexdigest() != listed[HASH]:
        raise FormatError(f"{path}: its bytes have changed since it was written ({HASH} differs)")


class GrowingFile:
    """Appends to a file after ``header`` zero bytes; ``state`` is from :meth:`state` of an earlier process."""

    def __init__(self, path: Path, header: int = 0, state: list[Any] | None = None) -> None:
        self.path = path
        self.size: int = header  # with the bytes that wait to be written
        self._hash = xxhash.xxh3_128()
        self._waiting: deque[tuple[Future[None], int]] = deque()
        self._held = 0
        self._error: BaseException | None = None
        self._closed = False
        if state is not None and not path.exists():
            raise FormatError(f"{path}: missing; {ANEW}")
        self.file: BinaryIO = open_own(path, new=state is None)
        try:
            if state is not None:
                self.size, digest = state
                if os.fstat(self.file.fileno()).st_size < self.size:
                    raise FormatError(f"{path}: shorter than the state of the run says; {ANEW}")
                self._hash = hash_file(path, self.size, header)
                if self._hash.hexdigest() != digest:
                    raise FormatError(f"{path}: its first {self.size} bytes have changed since the run was "
                                      f"interrupted; {ANEW}")
            self.file.truncate(self.size)
            self.write(bytes(header), 0)
            self.file.seek(self.size)
        except BaseException:
            self.file.close()
            raise
        self._queue: SimpleQueue[Future[None] | None] = SimpleQueue()
        self._thread = Future.started(partial(serve, self._queue))

    def append(self, data: Any) -> None:
        """Queue a contiguous buffer, which must not change any more; raises errors in writing earlier ones."""
        view = memoryview(data).cast("B")
        if not len(view):
            return
        while self._waiting and (self._held + len(view) > QUEUED_BYTES or self._waiting[0][0].done()):
            self._wait()
        self._raise()
        future = Future(partial(self._put, view))
        self._queue.put(future)
        self._waiting.append((future, len(view)))
        self._held += len(view)
        self.size += len(view)

    def _put(self, view: memoryview) -> None:
        if self._closed or self._error is not None:
            return
        try:
            self._hash.update(view)
            self._write(view)
        except BaseException as error:  # raised by the next append or drain
            self._error = error

    def _wait(self) -> None:
        future, size = self._waiting[0]
        future.wait()  # which a signal may interrupt
        self._waiting.popleft()
        self._held -= size

    def _raise(self) -> None:
        if isinstance(self._error, OSError):
            raise explained(self._error, self.path) from None
        if self._error is not None:
            raise self._error

    def drain(self, *, sync: bool = False) -> None:
        """Wait until everything is in the file, and with ``sync`` on disk."""
        while self._waiting:
            self._wait()
        self._raise()
        if sync:
            os.fsync(self.file.fileno())

    def write(self, data: bytes, offset: int) -> None:
        """Write to a place in the file; nothing may wait to be appended."""
        self.file.seek(offset)
        self._write(memoryview(data))

    def _write(self, view: memoryview) -> None:
        while len(view):
            view = view[self.file.write(view) :]

    def state(self) -> list[Any]:
        """[size, hash] of a drained file, for the state of a run."""
        return [self.size, self._hash.hexdigest()]

    def close(self) -> None:
        """Close the file once the thread has ended; bytes that wait are dropped."""
        self._closed = True
        while self._waiting:
            self._wait()
        self._queue.put(None)
        self._thread.wait()
        self.file.close()
