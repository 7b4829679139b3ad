"""Writing that survives `kill -9` and a power failure: what is said to be on disk is on disk.

The order that everything here keeps: data is synced before a journal says that it exists, a journal record is synced
before anything acts on it, and a file gets its final name only when it is complete.
"""
from __future__ import annotations

import errno
import hashlib
import json
import os
import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Any, BinaryIO

from .parallel import Later

try:
    import fcntl
except ImportError:  # not on Windows, where two runs of the same output are not noticed
    fcntl = None  # type: ignore[assignment]

__all__ = [
    "NO_ROOM",
    "Following",
    "Journal",
    "begin_writeback",
    "crc32_of",
    "explained",
    "sha256_of",
    "sync_folder",
    "write_all",
    "write_file",
]

#: Bytes after which the system is asked to begin writing to disk.
WRITEBACK = 8 << 20

#: The disk, a quota or the largest size of a file is used up.
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

WAY_ON = "; finished shards are whole, and the same command goes on from here once there is room"


def write_all(file: BinaryIO, data: Any) -> int:
    """Write a buffer to an unbuffered file, however few bytes the system takes at a time; returns its bytes."""
    view = memoryview(data).cast("B")
    size = len(view)
    while len(view):
        view = view[file.write(view) :]
    return size


def explained(error: OSError, path: Path) -> OSError:
    """An error of writing that says where, and what to do where there is no room. Errors of the system's read and
    write calls name no file; those of opening do."""
    what = error.strerror or str(error)
    if error.errno in NO_ROOM and WAY_ON not in what:
        what += WAY_ON
    return OSError(error.errno, what, error.filename or str(path))


def sync_folder(folder: Path) -> None:
    """Make the names in a folder (new, renamed, deleted) durable."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_file(path: Path, data: bytes) -> None:
    """Put a small file in place as a whole: readers see the old content, or the new."""
    temporary = path.with_name(path.name + ".partial")
    with temporary.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)
    sync_folder(path.parent)


def begin_writeback(file: BinaryIO, start: int, stop: int) -> int:
    """Have the system begin to write a range of a file to disk without waiting for it, so that a later sync finds
    little left to do; returns where to go on from. Nothing depends on it."""
    if stop - start < WRITEBACK or not hasattr(os, "posix_fadvise"):
        return start
    # On Linux "not needed" begins the writing of dirty pages and drops only clean ones, of which there are none yet.
    os.posix_fadvise(file.fileno(), start, stop - start, os.POSIX_FADV_DONTNEED)
    return stop


class Following:
    """The SHA-256 of a file that only grows at its end, taken by a thread of its own while others go on writing.

    It reads what has been written back from the file, which the system still has in memory, so nothing is held for it
    and a file that was begun by an earlier process is no different.
    """

    def __init__(self, path: Path) -> None:
        self._sizes: SimpleQueue[int | None] = SimpleQueue()
        self._digest = Later.started(partial(_follow, path, self._sizes))

    def reach(self, size: int) -> None:
        """The first ``size`` bytes are written, and will not change."""
        self._sizes.put(size)

    def digest(self) -> str:
        """The checksum, in hex digits, of as many bytes as were reached."""
        self._sizes.put(None)
        return self._digest.result()

    def close(self) -> None:
        """End without a result."""
        self._sizes.put(None)


def _follow(path: Path, sizes: SimpleQueue[int | None]) -> str:
    digest = hashlib.sha256()
    at = 0
    with path.open("rb", buffering=0) as file:
        while (size := sizes.get()) is not None:
            at += _take_in(digest.update, file, size - at)
    return digest.hexdigest()


def sha256_of(path: Path, size: int | None = None) -> str:
    """SHA-256 of a file, or of its first ``size`` bytes, in hex digits."""
    digest = hashlib.sha256()
    with path.open("rb", buffering=0) as file:
        _take_in(digest.update, file, os.fstat(file.fileno()).st_size if size is None else size)
    return digest.hexdigest()


def crc32_of(path: Path, size: int | None = None) -> str:
    """CRC-32 of a file, or of its first ``size`` bytes, in hex digits: tells damage as well, in a fraction of the
    time, where nobody else is to compare it."""
    crc = 0

    def update(data: memoryview) -> None:
        nonlocal crc
        crc = zlib.crc32(data, crc)

    with path.open("rb", buffering=0) as file:
        _take_in(update, file, os.fstat(file.fileno()).st_size if size is None else size)
    return f"{crc:08x}"


def _take_in(update: Callable[[memoryview], object], file: BinaryIO, size: int) -> int:
    """Give the next ``size`` bytes of a file, or what there is of them, to ``update``; returns how many."""
    # small enough to stay in the second-level cache between reading and hashing
    buffer = memoryview(bytearray(max(1, min(size, 1 << 18))))
    left = size
    while left > 0 and (count := file.readinto(buffer[: min(left, len(buffer))])):  # type: ignore[attr-defined]
        update(buffer[:count])
        left -= count
    return size - left


class Journal:
    """An append-only list of records, of which only complete ones are believed.

    A line is a CRC-32 in hex, a space, a JSON object. The first line that is cut short or does not match its checksum
    ends the journal: it was being written when the run was killed. While a journal is open no other process can open
    it.

    Attributes:
        records: What was read when the journal was opened, the first of them the header.
    """

    def __init__(self, path: Path) -> None:
        """Open or create.

        Raises:
            BlockingIOError: Another process has it open.
            OSError: It cannot be read and written.
        """
        self.path = path
        self._file = open(os.open(path, os.O_RDWR | os.O_CREAT, 0o666), "r+b", buffering=0)  # noqa: SIM115
        try:
            if fcntl is not None:
                try:
                    fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    raise BlockingIOError(11, "another run is writing this output", str(path)) from None
            self.records = self._read()
        except BaseException:
            self._file.close()
            raise

    def _read(self) -> list[dict[str, Any]]:
        records = []
        good = 0
        for line in self._file.read().splitlines(keepends=True):
            checksum, _, body = line.rstrip(b"\n").partition(b" ")
            if not line.endswith(b"\n") or checksum != b"%08x" % zlib.crc32(body):
                break
            records.append(json.loads(body))
            good += len(line)
        self._file.truncate(good)
        self._file.seek(good)
        return records

    def append(self, record: dict[str, Any]) -> None:
        """Add a record; when this returns it is on disk."""
        body = json.dumps(record, separators=(",", ":")).encode()
        write_all(self._file, b"%08x %b\n" % (zlib.crc32(body), body))
        os.fsync(self._file.fileno())
        if not self.records:
            sync_folder(self.path.parent)
        self.records.append(record)

    def restart(self) -> None:
        """Forget every record."""
        self._file.truncate(0)
        self._file.seek(0)
        self.records = []

    def close(self, *, remove: bool = False) -> None:
        """Let others open the journal; ``remove`` deletes it first."""
        if remove:
            self.path.unlink(missing_ok=True)
            sync_folder(self.path.parent)
        self._file.close()
