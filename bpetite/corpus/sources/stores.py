"""URLs among paths, and stores of objects through `fsspec`: descriptions of objects, their bytes, calls that are made
again.

Networks fail now and then. A call that fails in a way that may pass is made again, after a while, a bounded number of
times; the error names the URL and the number. Others, such as a missing object or a refused one, are raised at once.
"""
from __future__ import annotations

import errno
import io
import os
import re
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, BinaryIO, TypeVar, cast
from urllib.parse import unquote, urlsplit

from ...errors import MissingExtraError

__all__ = [
    "FIRST_TRIES", "TRIES", "WAIT", "Found", "RemoteFile", "ask", "find_objects", "found_here", "found_in", "is_url",
    "local_name", "look_up", "open_bytes", "patiently", "store_of",
]  # fmt: skip

Result = TypeVar("Result")

#: How often a call is made; and where a run begins, when it may as well be the URL that is wrong: packages such as s3fs
#: try several times themselves.
TRIES = 5
FIRST_TRIES = 2
#: Seconds before a call is made again; they double each time.
WAIT = 0.5

#: Bytes read at a time from an object that is read from start to end, the next ones while these are used.
READ_AHEAD = 8 << 20

#: Bytes read at the start of an object that is read by ranges: many kinds of files have a header there.
FIRST = 1 << 18

#: What has become of an object.
CHANGED = "has changed while it was read (size or version differs); start anew with overwrite=True"

#: Keys that tell the versions of an object apart, the surest first; each store has some of them.
VERSIONS = (
    "ETag", "etag", "blob_id", "xet_hash", "generation", "md5Hash", "sha", "checksum", "mtime", "LastModified",
    "last_modified", "Last-Modified", "modified", "created",
)  # fmt: skip

#: Errors that do not pass: of the store, and of the call.
_FILE_ERRORS = (FileExistsError, IsADirectoryError, NotADirectoryError)
_MISTAKES = (TypeError, ValueError, AttributeError, NotImplementedError, LookupError, RecursionError)


@dataclass(frozen=True)
class Found:
    """An object as its store describes it, or a file.

    Attributes:
        url: Its URL, or its path.
        size: In bytes.
        version: What differs between two contents of it: an ETag, a generation, the time of modification; "" where the
            store has none.
    """

    url: str
    size: int
    version: str


#: "s3://bucket/x", also as pathlib makes it, "s3:/bucket/x"; not "C:/x". "zip::s3://..." is a chain, as fsspec has it.
_URL = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*(?:://[^:]*)?::)*[A-Za-z][A-Za-z0-9+.-]+:/(/?)")


def is_url(path: str | os.PathLike[str]) -> bool:
    """True if a path is the URL of something that is not local.

    >>> [is_url(path) for path in ("s3://bucket/x", "memory://x", "file:///x", "C:/x", "./s3:/bucket/x", "x")]
    [True, True, False, False, False, False]
    >>> is_url("simplecache::s3://bucket/x")
    Traceback (most recent call last):
    ...
    ValueError: simplecache::s3://bucket/x: a chain of URLs, which is not read; name the object itself

    Raises:
        ValueError: It is a URL that cannot be meant: one that pathlib has shortened, or a chain.
    """
    name = os.fspath(path)
    match = _URL.match(name)
    if match is None or name.startswith("file://"):
        return False
    if "::" in match[0]:
        raise ValueError(f"{name}: a chain of URLs, which is not read; name the object itself")
    if not match[1]:
        if os.path.lexists(name):
            return False
        raise ValueError(f"{name}: a URL has two slashes, which pathlib makes one; give it as a str "
                         f"(./{match[0]}... is a local folder of this name)")
    return True


def local_name(path: str | os.PathLike[str]) -> str:
    """A local path, also of a ``file://`` URL.

    >>> local_name("file:///data/a%20b.txt"), local_name("data/x")
    ('/data/a b.txt', 'data/x')

    Raises:
        ValueError: The URL names another machine.
    """
    name = os.fspath(path)
    if not name.startswith("file://"):
        return name
    parts = urlsplit(name)
    if parts.netloc not in ("", "localhost"):
        raise ValueError(f"{name}: a file on {parts.netloc}; a local one is file:///...")
    return unquote(name[len("file://") + len(parts.netloc) :])


def store_of(url: str) -> tuple[Any, str]:
    """The filesystem that a URL is of, and the path in it.

    Raises:
        ImportError: A package is missing; the message names it.
        ValueError: There is no such protocol.
    """
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise MissingExtraError(f"a URL ({url})", "fsspec", "remote") from None
    try:
        filesystem, path = url_to_fs(url)
    except ImportError as missing:
        if url.startswith(("s3://", "s3a://")):
            raise MissingExtraError(f"a URL ({url})", "s3fs", "remote") from None
        raise ImportError(f"{url}: {missing}") from None
    except ValueError as wrong:
        raise ValueError(f"{url}: {wrong}") from None
    return filesystem, path


def patiently(url: str, what: str, call: Callable[[], Result], *, tries: int | None = None) -> Result:
    """The result of a call, which is made again where an error may pass, `TRIES` times unless told otherwise.

    Raises:
        OSError: It failed every time, or in a way that does not pass; with ``errno`` and ``filename`` set.
        ValueError: The store refuses what was asked.
    """
    last: Exception | None = None
    tries = TRIES if tries is None else tries
    for tried in range(tries):
        if tried:
            time.sleep(WAIT * 2 ** (tried - 1))
        try:
            return call()
        except Exception as error:
            lasting = _lasting(error, url)
            if lasting is not None:
                raise lasting from error
            last = error
    assert last is not None
    if isinstance(last, FileNotFoundError) and isinstance(last.__cause__, Exception):
        last = last.__cause__
    raise OSError(errno.EIO, f"{what} failed {tries} times, at last with {_told(last)}", url) from last


def _lasting(error: Exception, url: str) -> Exception | None:
    response = getattr(error, "response", None)
    status = getattr(error, "status", None) or getattr(response, "status_code", None)
    cause = error.__cause__
    if isinstance(error, FileNotFoundError) and isinstance(cause, Exception) and (
        isinstance(cause, OSError) or hasattr(cause, "status")
    ):
        return _lasting(cause, url)  # fsspec says of a server that cannot be reached that there is no such file
    if isinstance(error, FileNotFoundError) or status in (404, 410):
        return FileNotFoundError(errno.ENOENT, "no such object", url)
    if isinstance(error, PermissionError) or status in (401, 403) or "Credential" in type(error).__name__:
        return PermissionError(errno.EACCES, f"the store refuses: {_told(error)}", url)
    if isinstance(error, _FILE_ERRORS):
        return type(error)(error.errno or errno.EIO, error.strerror or str(error), url)
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EROFS):
        return OSError(error.errno, error.strerror, url)
    if isinstance(error, ImportError | MemoryError):
        return error
    if isinstance(error, _MISTAKES) and not isinstance(error, OSError):
        return ValueError(f"{url}: {error if type(error) is ValueError else _told(error)}")
    return None


def _told(error: Exception) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def found_in(info: dict[str, Any], url: str) -> Found:
    """An object as its store describes it, which must say how large it is."""
    size = info.get("size")
    if size is None:
        raise ValueError(f"{url}: the store does not say how large it is; download it first")
    name = next((name for name in VERSIONS if info.get(name) is not None), None)
    if name is None:
        return Found(url, int(size), "")
    value = info[name]
    if hasattr(value, "timestamp"):  # some stores list times as numbers, and describe one object with a date
        value = value.timestamp()
    return Found(url, int(size), f"{name} {value}")


def ask(url: str, what: str, method: str, *, tries: int | None = None, **options: Any) -> Any:
    """The answer of a method of a store about the object or folder at a URL, which is not taken from a cache; see
    `patiently`."""
    store, path = store_of(url)

    def call() -> Any:
        store.invalidate_cache()
        return getattr(store, method)(path, **options)

    return patiently(url, what, call, tries=tries)


def found_here(path: str, status: os.stat_result) -> Found:
    return Found(path, status.st_size, f"mtime_ns {status.st_mtime_ns}")


def look_up(url: str) -> Found:
    info = ask(url, "looking it up", "info")
    if info.get("type") == "directory":
        raise FileNotFoundError(errno.ENOENT, "no such object", url)
    return found_in(info, url)


def find_objects(url: str) -> tuple[list[Found], bool]:
    """(the objects at a URL, by the bytes of their URLs; whether it names one itself). Hidden ones of a folder or a
    pattern are left out."""
    store, path = store_of(url)
    named: str = store._strip_protocol(url)
    whole = url.rstrip("/")
    prefix = whole[: len(whole) - len(named)] if whole.endswith(named) else None

    def url_of(name: str) -> str:
        full: str = store.unstrip_protocol(name) if prefix is None else prefix + name
        return full

    # in URLs of the web, ? begins a query
    if any(mark in url for mark in ("*[" if url.startswith(("http://", "https://")) else "*?[")):
        named_ones = ask(url, "listing", "glob", tries=FIRST_TRIES, detail=True)
        hidden = any(part.startswith(".") for part in path.split("/"))
    else:
        info = ask(url, "looking it up", "info", tries=FIRST_TRIES)
        if info.get("type") != "directory":
            return [found_in(info, url_of(path))], True
        named_ones, hidden = {path: info}, False
    about_files: dict[str, dict[str, Any]] = {}
    for name, info in named_ones.items():
        files = {name: info}
        if info.get("type") == "directory":
            files = ask(url_of(name), "listing", "find", detail=True)
        about_files.update((file, about) for file, about in files.items() if hidden or not _is_hidden(file, path))
    objects = [
        found_in(about, url_of(name)) if about.get("size") is not None else look_up(url_of(name))
        for name, about in about_files.items()
        if about.get("type") != "directory" and not name.endswith("/")
    ]
    if not objects:
        raise FileNotFoundError(errno.ENOENT, "no such object, folder or match of a pattern", url)
    return sorted(objects, key=lambda one: os.fsencode(one.url)), False


def _is_hidden(name: str, path: str) -> bool:
    """True if a name has a component that begins with a dot, behind the part that it shares with a path."""
    known, parts = path.strip("/").split("/"), name.strip("/").split("/")
    same = 0
    while same < min(len(known), len(parts)) and known[same] == parts[same]:
        same += 1
    return any(part.startswith(".") for part in parts[same:])


class RemoteFile(io.RawIOBase):
    """The bytes of an object, which must stay the one that was ``opened``. With ``ranges``, some ranges of it are read,
    and nothing else but its start is transferred; otherwise blocks are read ahead."""

    def __init__(self, url: str, *, ranges: bool = False) -> None:
        self.url = url
        self._store, self._path = store_of(url)
        self._cache: dict[str, Any] = {"cache_type": "first", "block_size": FIRST}
        if not ranges:
            self._cache = {"cache_type": "background", "block_size": READ_AHEAD, "cache_options": {"maxblocks": 3}}
        self._step = sys.maxsize if ranges else READ_AHEAD  # a larger read would drive its own blocks out of the cache
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


def open_bytes(path: str, *, ranges: bool = False) -> BinaryIO:
    if is_url(path):
        return cast(BinaryIO, RemoteFile(path, ranges=ranges))
    return open(path, "rb", buffering=0)
