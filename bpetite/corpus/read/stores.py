"""URLs among paths, and stores of objects through `fsspec`.

A call that fails in a way that may pass is made again, a bounded number of times; the error names the URL and the
number. Other errors, such as a missing object, are raised at once.
"""
from __future__ import annotations

import errno
import io
import os
import re
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from itertools import dropwhile, zip_longest
from pathlib import Path
from types import SimpleNamespace
from typing import Any, BinaryIO, TypeAlias, TypeVar, cast
from urllib.parse import unquote, urlsplit

import numpy as np
import numpy.typing as npt

from ...errors import failed_import, importing

Result = TypeVar("Result")

ANEW = "overwrite=True starts anew"  # the advice in errors about files that have changed

TRIES = 5
FIRST_TRIES = 2  # of the first lookup: a wrong URL is as likely as a network fault
WAIT = 0.5  # seconds before a call is made again; they double each time

READ_AHEAD_BYTES = 8 << 20
FIRST_BYTES = 1 << 18  # read at the start with ``ranges``

#: Keys that tell the versions of an object apart, the surest first.
VERSIONS = (
    "ETag", "etag", "blob_id", "xet_hash", "generation", "md5Hash", "sha", "checksum", "mtime", "LastModified",
    "last_modified", "Last-Modified", "modified", "created",
)  # fmt: skip

#: Errors of a call that do not pass.
_MISTAKES = (TypeError, ValueError, AttributeError, NotImplementedError, LookupError, RecursionError)


@dataclass(frozen=True)
class Found:
    """An object as its store describes it, or a file."""

    url: str
    size: int
    version: str  # an ETag, a generation, a time; "" if there is none


#: "s3://bucket/x", also as pathlib makes it, "s3:/bucket/x"; not "C:/x". "zip::s3://..." is a chain, as fsspec has it.
_URL = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*(?:://[^:]*)?::)*[A-Za-z][A-Za-z0-9+.-]+:/(/?)")


def is_url(path: str | os.PathLike[str]) -> bool:
    """True if a path is a URL, other than ``file://``.

    >>> [is_url(path) for path in ("s3://bucket/x", "memory://x", "file:///x", "C:/x", "./s3:/bucket/x", "x")]
    [True, True, False, False, False, False]
    >>> is_url("simplecache::s3://bucket/x")
    Traceback (most recent call last):
    ...
    ValueError: simplecache::s3://bucket/x: a chain of URLs, which is not read; name the object itself
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
    """
    name = os.fspath(path)
    if not name.startswith("file://"):
        return name
    parts = urlsplit(name)
    if parts.netloc not in ("", "localhost"):
        raise ValueError(f"{name}: a file on {parts.netloc}; a local one is file:///...")
    return unquote(name[len("file://") + len(parts.netloc) :])


def store_of(url: str) -> tuple[Any, str]:
    """The filesystem that a URL is of, and the path in it."""
    with importing(f"a URL ({url})", "fsspec", "remote"):
        from fsspec.core import url_to_fs
    try:
        filesystem, path = url_to_fs(url)
    except ImportError as failed:
        if url.startswith(("s3://", "s3a://")):
            raise failed_import(failed, f"a URL ({url})", "s3fs", "remote") from None
        raise ImportError(f"{url}: {failed}") from None
    except ValueError as wrong:
        raise ValueError(f"{url}: {wrong}") from None
    return filesystem, path


def patiently(url: str, what: str, call: Callable[[], Result], *, tries: int = TRIES) -> Result:
    """The result of a call, which is made again where an error may pass. Raises OSError with ``errno`` and ``filename``
    set, or ValueError where the store refuses what was asked."""
    for tried in range(tries):
        try:
            return call()
        except Exception as error:
            if (lasting := _lasting(error, url)) is not None:
                raise lasting from error
            last = error
        if tried < tries - 1:
            time.sleep(WAIT * 2**tried)
    if isinstance(last, FileNotFoundError) and isinstance(last.__cause__, Exception):
        last = last.__cause__
    raise OSError(errno.EIO, f"{what} failed {tries} times, at last with {_told(last)}", url) from last


def _lasting(error: BaseException, url: str) -> Exception | None:
    """The error to raise at once; None if a further try may succeed."""
    status = getattr(error, "status", None) or getattr(getattr(error, "response", None), "status_code", None)
    cause = error.__cause__
    if isinstance(error, FileNotFoundError) and cause and (isinstance(cause, OSError) or hasattr(cause, "status")):
        return _lasting(cause, url)  # fsspec says of a server that cannot be reached that there is no such file
    if isinstance(error, FileNotFoundError) or status in (404, 410):
        return FileNotFoundError(errno.ENOENT, "no such object", url)
    if isinstance(error, PermissionError) or status in (401, 403) or "Credential" in type(error).__name__:
        return PermissionError(errno.EACCES, f"the store refuses: {_told(error)}", url)
    if isinstance(error, FileExistsError | IsADirectoryError | NotADirectoryError):
        return type(error)(error.errno or errno.EIO, error.strerror or str(error), url)
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EROFS):
        return OSError(error.errno, error.strerror, url)
    if isinstance(error, ImportError | MemoryError):
        return error
    if isinstance(error, _MISTAKES) and not isinstance(error, OSError):
        return ValueError(f"{url}: {error if type(error) is ValueError else _told(error)}")
    return None


def _told(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def found_in(info: dict[str, Any], url: str) -> Found:
    if info.get("size") is None:
        raise ValueError(f"{url}: the store does not say how large it is; download it first")
    for name in VERSIONS:
        if (value := info.get(name)) is not None:
            # some stores list times as numbers, and describe one object with a date
            value = value.timestamp() if hasattr(value, "timestamp") else value
            return Found(url, int(info["size"]), f"{name} {value}")
    return Found(url, int(info["size"]), "")


def ask(url: str, what: str, method: str, *, tries: int = TRIES, **options: Any) -> Any:
    """The answer of a method of a store about the object or folder at a URL, never from a cache."""
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
    """(the objects at a URL without hidden ones, by the bytes of their URLs; whether it names one itself)."""
    store, path = store_of(url)
    named: str = store._strip_protocol(url)
    whole = url.rstrip("/")
    prefix = whole[: len(whole) - len(named)] if whole.endswith(named) else None

    def url_of(name: str) -> str:
        return str(store.unstrip_protocol(name) if prefix is None else prefix + name)

    # in URLs of the web, ? begins a query
    if any(mark in url for mark in ("*[" if url.startswith(("http://", "https://")) else "*?[")):
        named_ones = ask(url, "listing", "glob", tries=FIRST_TRIES, detail=True)
        hidden = any(part.startswith(".") for part in path.split("/"))
    else:
        info = ask(url, "looking it up", "info", tries=FIRST_TRIES)
        if info.get("type") != "directory":
            return [found_in(info, url_of(path))], True
        named_ones, hidden = {path: info}, False
    files: dict[str, dict[str, Any]] = {}
    for name, info in named_ones.items():
        below = info.get("type") == "directory"
        files |= ask(url_of(name), "listing", "find", detail=True) if below else {name: info}
    objects = [
        found_in(info, url_of(name)) if info.get("size") is not None else look_up(url_of(name))
        for name, info in files.items()
        if info.get("type") != "directory" and not name.endswith("/") and (hidden or not _is_hidden(name, path))
    ]
    if not objects:
        raise FileNotFoundError(errno.ENOENT, "no such object, folder or match of a pattern", url)
    return sorted(objects, key=lambda found: os.fsencode(found.url)), False


def _is_hidden(name: str, path: str) -> bool:
    """True if a component begins with a dot, after those that the name shares with a path."""
    pairs = zip_longest(name.strip("/").split("/"), path.strip("/").split("/"))
    return any((part or "").startswith(".") for part, _ in dropwhile(lambda pair: pair[0] == pair[1], pairs))


class RemoteFile(io.RawIOBase):
    """The bytes of an object, read `READ_AHEAD_BYTES` at a time; with ``ranges``, as they are asked for."""

    def __init__(self, url: str, *, ranges: bool = False) -> None:
        self.url = url
        self.opened: Found = look_up(url)
        self._ranges = ranges
        self._offset = self._start = 0
        self._held = b""  # the bytes of the object from _start on

    def readable(self) -> bool:
        return True

    seekable = readable

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._offset, os.SEEK_END: self.opened.size}[whence]
        self._offset = max(0, base + offset)
        return self._offset

    def read(self, size: int | None = -1) -> bytes:
        """The next ``size`` bytes, fewer only at the end."""
        left = max(0, self.opened.size - self._offset)
        size = left if size is None or size < 0 else min(size, left)
        at = self._offset - self._start
        if size and not 0 <= at <= at + size <= len(self._held):
            self._fetch(size)
            at = 0
        self._offset += size
        return self._held[at : at + size]

    def _fetch(self, size: int) -> None:
        least = (0 if self._offset else FIRST_BYTES) if self._ranges else READ_AHEAD_BYTES
        start, stop = self._offset, min(self.opened.size, self._offset + max(size, least))

        def fetched() -> bytes:
            data: bytes = store.cat_file(path, start=start, end=stop)
            if len(data) > stop - start:
                raise ValueError("the server gives no ranges; download the file")
            if len(data) < stop - start:
                raise ConnectionError(f"{len(data)} bytes at {start} where {stop - start} were asked for")
            return data

        store, path = store_of(self.url)
        self._held, self._start = patiently(self.url, "reading", fetched), start

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer).cast("B")
        data = self.read(len(view))
        view[: len(data)] = data
        return len(data)

    def check_unchanged(self) -> None:
        if look_up(self.url) != self.opened:
            raise ValueError(f"{self.url}: has changed while it was read (size or version differs); {ANEW}")


def open_bytes(path: str, *, ranges: bool = False, buffering: int = 0) -> BinaryIO:
    if is_url(path):
        return cast(BinaryIO, RemoteFile(path, ranges=ranges))
    return open(path, "rb", buffering)


@dataclass(frozen=True)
class RemotePath:
    """A URL of an object or a folder of objects, with the methods of `pathlib.Path` that token files and manifests are
    read with.

    >>> path = RemotePath("s3://bucket/tokens/") / "out.npy"
    >>> str(path), path.name, str(path.parent), str(path.with_name("out.ds"))
    ('s3://bucket/tokens/out.npy', 'out.npy', 's3://bucket/tokens', 's3://bucket/tokens/out.ds')
    """

    url: str

    def __post_init__(self) -> None:
        scheme, _, path = self.url.partition("://")
        object.__setattr__(self, "url", f"{scheme}://{path.rstrip('/')}")

    def __str__(self) -> str:
        return self.url

    __fspath__ = __str__

    def __truediv__(self, name: str) -> RemotePath:
        return RemotePath(f"{self.url}{'' if self.url.endswith('/') else '/'}{name}")

    @property
    def name(self) -> str:
        return self.url.rpartition("/")[2]

    @property
    def parent(self) -> RemotePath:
        return RemotePath(self.url.rpartition("/")[0] + "/")

    def with_name(self, name: str) -> RemotePath:
        return self.parent / name

    def exists(self) -> bool:
        try:
            look_up(self.url)
        except FileNotFoundError:
            return False
        return True

    is_file = exists

    def is_dir(self) -> bool:
        return bool(ask(self.url, "looking it up", "isdir"))

    def stat(self) -> SimpleNamespace:
        return SimpleNamespace(st_size=look_up(self.url).size)

    def open(self, mode: str = "rb", *, ranges: bool = False) -> RemoteFile:
        return RemoteFile(self.url, ranges=ranges)

    def read_bytes(self) -> bytes:
        with self.open() as file:
            return file.read()

    def unlink(self, missing_ok: bool = False) -> None:
        try:
            ask(self.url, "deleting", "rm_file")
        except FileNotFoundError:
            if not missing_ok:
                raise

    def upload(self, local: Path, *, replaces: bool = False) -> None:
        """Put a file there whole, or no part of it. ``replaces``: the object there is still needed, and stays if the
        call fails."""
        store, path = store_of(self.url)
        size = local.stat().st_size
        options = {"max_concurrency": 3} if "s3" in store.protocol else {}  # parts that are in memory

        def put() -> None:
            store.put_file(str(local), path, **options)
            store.invalidate_cache(path)
            there = found_in(store.info(path), self.url).size
            if there != size:
                raise ConnectionError(f"{there} bytes arrived of {size}")

        try:
            patiently(self.url, "uploading", put)
        except BaseException as error:
            if not replaces:
                with suppress(Exception):
                    store.rm_file(path)
            if isinstance(error, FileNotFoundError):
                raise FileNotFoundError(errno.ENOENT, "no such bucket or folder", str(self.parent)) from None
            raise


AnyPath: TypeAlias = Path | RemotePath


def path_of(path: str | os.PathLike[str]) -> AnyPath:
    if isinstance(path, RemotePath):
        return path
    return RemotePath(os.fspath(path)) if is_url(path) else Path(local_name(path))


def exists(path: AnyPath) -> bool:
    """True if there is anything of this name; also a link that leads nowhere."""
    return os.path.lexists(path) if isinstance(path, Path) else path.exists()


def names_in(folder: AnyPath) -> set[str]:
    if isinstance(folder, Path):
        return set(os.listdir(folder)) if folder.is_dir() else set()
    try:
        listing = ask(folder.url, "listing", "ls", detail=True)
    except FileNotFoundError:
        return set()
    return {info["name"].rstrip("/").rpartition("/")[2] for info in listing if info["type"] != "directory"}


def read_numbers(
    source: AnyPath | BinaryIO | RemoteFile, dtype: npt.DTypeLike, count: int, offset: int = 0
) -> npt.NDArray[Any]:
    """`numpy.fromfile`, also of objects."""
    if isinstance(source, RemotePath):
        with source.open(ranges=True) as file:
            file.seek(offset)
            return read_numbers(file, dtype, count)
    if not isinstance(source, RemoteFile):
        return np.fromfile(source, dtype, count, offset=offset)
    data = source.read(count * np.dtype(dtype).itemsize)
    return np.frombuffer(data, dtype, len(data) // np.dtype(dtype).itemsize)
