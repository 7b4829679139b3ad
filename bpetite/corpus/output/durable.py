"""Writing that survives `kill -9` and a power failure.

The order is always this: data is synced before a journal says that it exists, a journal record is synced before
anything acts on it, and a file gets its final name only when it is complete.
"""
from __future__ import annotations

import errno
import io
import json
import os
import stat
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Any, BinaryIO

from ...atomic import sync_folder
from ...errors import FormatError, file_exists
from ..sources.paths import AnyPath, RemotePath

try:
    import fcntl
except ImportError:  # on Windows, where two runs of the same output go unnoticed
    fcntl = None  # type: ignore[assignment]

__all__ = [
    "NO_ROOM",
    "PARTIAL",
    "Journal",
    "Increments",
    "begin_writeback",
    "explained",
    "open_own",
    "put_whole",
    "read_records",
    "write_all",
    "write_at",
]

#: The end of the temporary name of an output file.
PARTIAL = ".partial"

#: The most bytes of an object that is an increment of a growing file.
INCREMENT = 32 << 20

#: The disk or a quota is full, or a file has the largest possible size.
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

WAY_ON = "; finished shards are whole, and the same command goes on from here once there is room"


def write_all(file: BinaryIO, data: Any) -> int:
    """Write a buffer to an unbuffered file, however few bytes the system takes at a time; returns its size in bytes."""
    view = memoryview(data).cast("B")
    size = len(view)
    while len(view):
        view = view[file.write(view) :]
    return size


def explained(error: OSError, path: Path) -> OSError:
    """An error of writing that names the file, and what to do when there is no room left. Errors of the system's read
    and write calls name no file; those of opening do."""
    what = error.strerror or str(error)
    if error.errno in NO_ROOM and WAY_ON not in what:
        what += WAY_ON
    return OSError(error.errno, what, error.filename or str(path))


#: Held for a write at a place where the system cannot do that in one call.
_seeking = Lock()


def write_at(file: BinaryIO, data: Any, offset: int) -> None:
    """Write a buffer to a place in an unbuffered file; several threads may, each to its own."""
    view = memoryview(data).cast("B")
    if not hasattr(os, "pwrite"):
        with _seeking:
            file.seek(offset)
            write_all(file, view)
        return
    while len(view):
        written = os.pwrite(file.fileno(), view, offset)
        view, offset = view[written:], offset + written


def begin_writeback(file: BinaryIO, start: int, stop: int) -> None:
    """Have the system begin to write a range of a file to disk, without waiting, so that a later sync finds little left
    to do. Nothing depends on it."""
    if hasattr(os, "posix_fadvise"):
        # On Linux "not needed" begins to write dirty pages and drops only clean ones, and no page is clean yet.
        os.posix_fadvise(file.fileno(), start, stop - start, os.POSIX_FADV_DONTNEED)


def open_own(path: Path, flags: int) -> int:
    """Open a file that only this program writes: never through a symbolic link, which could lead anywhere.

    Raises:
        FileExistsError: There is a link, or something else that is not a file.
        OSError: It cannot be opened.
    """
    try:
        handle = os.open(path, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0), 0o666)
    except OSError as error:
        if error.errno not in (errno.ELOOP, errno.EISDIR, errno.ENXIO):
            raise
        handle = -1
    if handle < 0 or not stat.S_ISREG(os.fstat(handle).st_mode):
        if handle >= 0:
            os.close(handle)
        raise file_exists(path, "a link, a folder or a device is where a file of this output goes; nothing was changed")
    return handle


def put_whole(there: RemotePath, data: bytes, folder: Path) -> None:
    """Make an object of some bytes, by a file in a folder here."""
    here = folder / (there.name + PARTIAL)
    try:
        with open(open_own(here, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "wb") as file:
            file.write(data)
        there.upload(here)
    finally:
        here.unlink(missing_ok=True)


class Increments:
    """The copy of a growing file in a store: objects NAME.OFFSET of consecutive bytes, which never change."""

    def __init__(self, there: RemotePath) -> None:
        self._there = there
        self.size: int = 0  # that is in the store, as far as is known here

    def _increment(self, offset: int) -> RemotePath:
        return self._there.with_name(f"{self._there.name}.{offset:015d}")

    def read(self) -> Iterator[bytes]:
        """All bytes, an increment at a time."""
        self.size = 0
        with suppress(FileNotFoundError):
            while True:
                data = self._increment(self.size).read_bytes()
                self.size += len(data)
                yield data

    def find(self, sizes: Mapping[str, int]) -> None:
        """Find the size, by a list of all objects."""
        while (name := self._increment(self.size).name) in sizes:
            self.size += sizes[name]

    def push(self, path: Path, size: int) -> None:
        """Add what the store lacks of the first ``size`` bytes of the file."""
        with path.open("rb") as file:
            while self.size < size:
                file.seek(self.size)
                data = file.read(min(INCREMENT, size - self.size))
                put_whole(self._increment(self.size), data, path.parent)
                self.size += len(data)

    def delete(self) -> None:
        """Delete the increments that follow each other."""
        self.size = at = 0
        with suppress(FileNotFoundError):
            while True:
                size = self._increment(at).stat().st_size
                self._increment(at).unlink()
                at += size


#: The start of a journal, written with its first record; a file that begins otherwise is not ours.
_HEAD = b"bpetite journal\n"


class Journal:
    """An append-only list of records; an incomplete last one does not count.

    After the first line, a line is a CRC-32 in hex, a space, a JSON object. The first one that is cut short or does not
    match its checksum ends the journal: it was being written when the run was killed. While a journal is open, no other
    process can open it.

    Attributes:
        records: What was read when the journal was opened, the first of them the header.
        existed: True if there was a file.
        adopted: True if the records came from its copy in a store.
    """

    def __init__(self, path: Path, copy: RemotePath | None = None) -> None:
        """Open or create; with a copy in a store, which goes on from whatever is there, see :meth:`push`.

        Raises:
            FormatError: A file of this name is not a journal; it is left as it is.
            BlockingIOError: Another process has it open.
            OSError: It cannot be read and written.
        """
        self.path = path
        self.existed: bool = os.path.lexists(path)
        handle = open_own(path, os.O_RDWR | os.O_CREAT)
        self._file = open(handle, "r+b", buffering=0)  # noqa: SIM115
        try:
            if fcntl is not None:
                try:
                    fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    held = os.path.samestat(os.fstat(handle), os.stat(path))
                except (BlockingIOError, FileNotFoundError):
                    held = False  # or the other run has just ended, and deleted it
                if not held:
                    raise BlockingIOError(errno.EAGAIN, "another run is writing this output", str(path))
            self._read()
            self._copy = None if copy is None else Increments(copy)
            self.adopted: bool = self._copy is not None and self._adopt(self._copy)
        except BaseException:
            self._file.close()
            raise

    @classmethod
    def discard(cls, path: Path) -> None:
        """Delete a journal, if there is one that no process has open; a file of this name that is something else
        stays."""
        if os.path.lexists(path):
            try:
                journal = cls(path)
            except (FormatError, FileExistsError):
                return
            journal.close(remove=True)

    def _read(self) -> None:
        self.records: list[dict[str, Any]]
        self.records, good = _parse(self._file, self.path)
        self._file.truncate(good)
        self._file.seek(good)

    def _adopt(self, copy: Increments) -> bool:
        """Take the content of the copy unless this is a continuation of it; returns whether that was done."""
        data = b"".join(copy.read())
        self._file.seek(0)
        if self._file.read().startswith(data):
            return False
        self._file.seek(0)
        self._file.truncate(write_all(self._file, data))
        self._file.seek(0)
        self._read()
        return True

    def push(self) -> None:
        """Bring the copy in the store up to date, if there is to be one."""
        if self._copy is not None:
            self._copy.push(self.path, os.fstat(self._file.fileno()).st_size)

    def append(self, record: dict[str, Any]) -> None:
        """Add a record, and return when it is on disk."""
        body = json.dumps(record, separators=(",", ":")).encode()
        head = b"" if self._file.tell() else _HEAD
        write_all(self._file, b"%b%08x %b\n" % (head, zlib.crc32(body), body))
        os.fsync(self._file.fileno())
        if not self.records:
            sync_folder(self.path.parent)
        self.records.append(json.loads(body))  # what a run that goes on would read

    def restart(self) -> None:
        """Forget every record, also in the store."""
        if self._copy is not None:
            self._copy.delete()
        self._file.truncate(0)
        self._file.seek(0)
        self.records = []

    def close(self, *, remove: bool = False) -> None:
        """Let others open the journal; ``remove`` deletes it first."""
        locks = fcntl is not None
        try:
            if remove:
                if not locks:
                    self._file.close()  # Windows deletes no open file; elsewhere the lock is held until it is gone
                self.path.unlink(missing_ok=True)
                sync_folder(self.path.parent)
        finally:
            self._file.close()


def read_records(path: AnyPath) -> list[dict[str, Any]]:
    """The records of a journal, here or in a store, which another process may be writing; nothing is changed."""
    if isinstance(path, RemotePath):
        if not (data := b"".join(Increments(path).read())):
            raise FileNotFoundError(errno.ENOENT, "no journal", str(path))
        return _parse(io.BytesIO(data), path)[0]
    with path.open("rb") as file:
        return _parse(file, path)[0]


def _parse(file: BinaryIO, path: AnyPath) -> tuple[list[dict[str, Any]], int]:
    """(the complete records of a journal, where they end)."""
    records = []
    # a file of any size may have this name: all of it is read only if it begins like a journal
    head = file.read(len(_HEAD))
    if not _HEAD.startswith(head):
        raise FormatError(f"{path}: not a journal of bpetite, or a damaged one; nothing was changed. "
                          "Choose another output, or move the file away")
    good = len(head) if head == _HEAD else 0  # less of it was being written when the run was killed
    for line in file.read().splitlines(keepends=True):
        checksum, _, body = line.rstrip(b"\n").partition(b" ")
        if not line.endswith(b"\n") or checksum != b"%08x" % zlib.crc32(body):
            break
        try:
            record = json.loads(body)
        except (ValueError, RecursionError):
            break
        if not isinstance(record, dict):
            break
        records.append(record)
        good += len(line)
    return records, good
