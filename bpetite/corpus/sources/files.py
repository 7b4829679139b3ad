"""An object that is read by ranges of its bytes, as a file."""
from __future__ import annotations

import io
import os
from contextlib import suppress
from functools import partial
from typing import Any, BinaryIO, cast

from ...core._threads import Future
from .stores import Found, found_in, look_up, patiently, store_of
from .urls import is_url

__all__ = ["AHEAD", "RemoteFile", "open_bytes"]

#: The most bytes that are read at a time without having been asked for. Two such parts are in memory.
AHEAD = 8 << 20

#: Bytes that are read at least from the start of an object, where a byte-order mark is looked for.
FIRST = 1 << 18


class RemoteFile(io.RawIOBase):
    """The bytes of an object, by ranges.

    But for its start, what is asked for is what is read, as long as reading jumps: a worker that reads a part of an
    object transfers nothing else. Where it goes on in a row, more is read each time, and at last the next part while
    this one is used.

    Raises:
        OSError: It cannot be read, however often it is tried.
        ValueError: It has been replaced since it was opened.

    Attributes:
        opened: The object as it was opened.
        ahead_until: Nothing is read ahead from this offset on.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self._store, self._path = store_of(url)
        self._handle: Any = None
        self._offset = 0
        self._data = b""
        self._start = 0  # of the bytes in `_data`
        self._ahead: tuple[int, Future[bytes]] | None = None
        self.opened: Found = patiently(url, "opening", self._open)
        self.ahead_until: int = self.opened.size

    # As a file

    def readable(self) -> bool:
        """Always."""
        return True

    def seekable(self) -> bool:
        """Always."""
        return True

    def tell(self) -> int:
        """The offset."""
        return self._offset

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Move; nothing is read before the next bytes are asked for."""
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._offset, os.SEEK_END: self.opened.size}[whence]
        self._offset = max(0, base + offset)
        return self._offset

    def read(self, size: int | None = -1) -> bytes:
        """The next ``size`` bytes, fewer only at the end; all of them for None or -1."""
        left = max(0, self.opened.size - self._offset)
        if size is not None and size >= 0:
            left = min(left, size)
        parts = []
        while left:
            at = self._offset - self._start
            if not 0 <= at < len(self._data):
                self._load(left)
                at = 0
            part = self._data[at : at + left]
            parts.append(part)
            left -= len(part)
            self._offset += len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer, except at the end."""
        view = memoryview(buffer).cast("B")
        data = self.read(len(view))
        view[: len(data)] = data
        return len(data)

    def close(self) -> None:
        """Let go of what is open."""
        if not self.closed:
            self._forget()
            self._data = b""
            self._close()
        super().close()

    def check_unchanged(self) -> None:
        """Raises ValueError if the object is not the one that was opened any more."""
        if look_up(self.url) != self.opened:
            raise ValueError(f"{self.url}: has changed while it was read (size or version differs); start anew with "
                             "overwrite=True")

    # Ranges

    def _load(self, size: int) -> None:
        """Have the bytes at the offset, at least ``size`` of them."""
        start, rest = self._offset, self.opened.size - self._offset
        in_a_row = bool(self._data) and start == self._start + len(self._data)
        more = min(AHEAD, 2 * len(self._data) if in_a_row else 0 if start else FIRST, self.ahead_until - start)
        wanted = min(rest, max(size, more))
        ahead, self._ahead = self._ahead, None
        self._data = b""
        if ahead is not None:
            ahead[1].wait()  # it uses the handle
        if ahead is not None and ahead[0] == start:
            self._data = ahead[1].result()
        else:
            self._data = self._fetch(start, wanted)
        self._start = start
        following = start + len(self._data)
        if in_a_row and len(self._data) >= AHEAD and following < self.ahead_until:
            more = min(AHEAD, self.ahead_until - following)
            self._ahead = following, Future.started(partial(self._fetch, following, more))

    def _forget(self) -> None:
        ahead, self._ahead = self._ahead, None
        if ahead is not None:
            ahead[1].wait()

    def _fetch(self, start: int, size: int) -> bytes:
        parts: list[bytes] = []
        at, stop = start, start + size

        def fetch() -> bytes:
            nonlocal at
            if self._handle is None:
                self._open_again()
            try:
                if self._handle.tell() != at:
                    self._handle.seek(at)
                while at < stop and (part := self._handle.read(stop - at)):
                    parts.append(part)
                    at += len(part)
                if at < stop:
                    raise ConnectionError(f"{at - start} bytes at {start} where {size} were asked for")
            except ValueError as wrong:
                self._close()
                raise ValueError(f"{wrong} (where the server gives no ranges, download the file)") from None
            except Exception:
                self._close()
                raise
            return parts[0] if len(parts) == 1 else b"".join(parts)

        return patiently(self.url, "reading", fetch)

    def _open(self) -> Found:
        self._store.invalidate_cache(self._path)
        # every range is asked for as it is: what is read ahead is decided here
        handle = self._store.open(self._path, "rb", cache_type="none")
        try:
            details = getattr(handle, "details", None)  # what the store said when it was opened
            found = found_in(details, self.url) if isinstance(details, dict) else None
            if found is None or not found.version:
                found = found_in(self._store.info(self._path), self.url)
        except BaseException:
            handle.close()
            raise
        self._handle = handle
        return found

    def _open_again(self) -> None:
        if self._open() != self.opened:
            self._close()
            raise ValueError("has changed while it was read (size or version differs); start anew with overwrite=True")

    def _close(self) -> None:
        handle, self._handle = self._handle, None
        if handle is not None:
            with suppress(Exception):
                handle.close()


def open_bytes(path: str, *, ranges: bool = False) -> BinaryIO:
    """The bytes of a file or an object, unbuffered."""
    if is_url(path):
        file = RemoteFile(path)
        if ranges:
            file.ahead_until = 0
        return cast(BinaryIO, file)
    return open(path, "rb", buffering=0)
