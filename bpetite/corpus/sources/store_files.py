"""An object of a store as a file: fsspec's own, with its cache, whose calls are made again where an error may pass."""
from __future__ import annotations

import io
import os
import sys
from contextlib import suppress
from functools import partial
from typing import Any, BinaryIO, cast

from .stores import Found, found_in, is_url, look_up, patiently, store_of

__all__ = ["BLOCK", "RemoteFile", "open_bytes"]

#: Bytes read at a time from an object that is read from start to end, the next ones while these are used.
BLOCK = 8 << 20

#: Bytes read at the start of an object that is read by ranges: many kinds of files have a header there.
FIRST = 1 << 18


class RemoteFile(io.RawIOBase):
    """The bytes of an object, which must stay the one that was ``opened``. With ``ranges``, some ranges of it are read,
    and nothing else but its start is transferred; otherwise blocks are read ahead."""

    def __init__(self, url: str, *, ranges: bool = False) -> None:
        self.url = url
        self._store, self._path = store_of(url)
        self._cache: dict[str, Any] = {"cache_type": "first", "block_size": FIRST}
        if not ranges:
            self._cache = {"cache_type": "background", "block_size": BLOCK, "cache_options": {"maxblocks": 3}}
        self._step = sys.maxsize if ranges else BLOCK  # a larger read would drive its own blocks out of the cache
        self._offset = 0
        self._handle: Any = None
        self.opened: Found = patiently(url, "opening", self._open)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Move; nothing is read before the next bytes are asked for."""
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._offset, os.SEEK_END: self.opened.size}[whence]
        self._offset = max(0, base + offset)
        return self._offset

    def read(self, size: int | None = -1) -> bytes:
        """The next ``size`` bytes, fewer only at the end; all of them for None or -1."""
        left = max(0, self.opened.size - self._offset)
        if size is not None and size >= 0:
            left = min(size, left)
        parts = []
        while left:
            parts.append(patiently(self.url, "reading", partial(self._read, min(left, self._step))))
            self._offset += len(parts[-1])
            left -= len(parts[-1])
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer, except at the end."""
        view = memoryview(buffer).cast("B")
        data = self.read(len(view))
        view[: len(data)] = data
        return len(data)

    def close(self) -> None:
        """Close the object."""
        self._close()
        super().close()

    def check_unchanged(self) -> None:
        """Raises ValueError if the object is not the one that was opened any more."""
        if look_up(self.url) != self.opened:
            raise ValueError(f"{self.url}: {CHANGED}")

    def _read(self, size: int) -> bytes:
        if self._handle is None and self._open() != self.opened:
            self._close()
            raise ValueError(CHANGED)
        try:
            self._handle.seek(self._offset)
            data: bytes = self._handle.read(size)
            if len(data) != size:
                raise ConnectionError(f"{len(data)} bytes at {self._offset} where {size} were asked for")
        except ValueError as wrong:
            self._close()
            raise ValueError(f"{wrong} (where the server gives no ranges, download the file)") from None
        except Exception:
            self._close()  # its cache may be wrong
            raise
        return data

    def _open(self) -> Found:
        self._store.invalidate_cache(self._path)
        handle = self._store.open(self._path, "rb", **self._cache)
        try:
            details = getattr(handle, "details", None)  # of the store, when it was opened
            version = found_in(details, self.url) if isinstance(details, dict) else None
            if version is None or not version.version:
                version = found_in(self._store.info(self._path), self.url)
        except BaseException:
            handle.close()
            raise
        self._handle = handle
        return version

    def _close(self) -> None:
        handle, self._handle = self._handle, None
        if handle is not None:
            with suppress(Exception):
                handle.close()


#: What has become of an object.
CHANGED = "has changed while it was read (size or version differs); start anew with overwrite=True"


def open_bytes(path: str, *, ranges: bool = False) -> BinaryIO:
    """The bytes of a file or an object, unbuffered; see `RemoteFile`."""
    return cast(BinaryIO, RemoteFile(path, ranges=ranges)) if is_url(path) else open(path, "rb", buffering=0)
