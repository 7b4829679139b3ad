"""Objects and folders of objects with the methods of `pathlib.Path` that token files and manifests are read with."""
from __future__ import annotations

import base64
import errno
import hashlib
import os
import re
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any, BinaryIO, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from .files import RemoteFile
from .stores import Found, found_in, look_up, patiently, store_of
from .urls import is_url, local_name

__all__ = [
    "AnyPath", "RemotePath", "exists", "open_part", "path_of", "read_numbers", "readable", "same_place", "sizes_in",
]  # fmt: skip

#: Bytes compared at a time.
COMPARED = 4 << 20

#: Bytes of a part of an upload to S3, unless there would be too many of them.
PART = 50 << 20
MOST_PARTS = 10_000


class RemotePath:
    """A URL.

    >>> path = RemotePath("s3://bucket/tokens/") / "out.npy"
    >>> str(path), path.name, str(path.parent), str(path.with_name("out.ds"))
    ('s3://bucket/tokens/out.npy', 'out.npy', 's3://bucket/tokens', 's3://bucket/tokens/out.ds')
    """

    def __init__(self, url: str) -> None:
        scheme, _, path = url.partition("://")
        self.url: str = f"{scheme}://{path.rstrip('/')}"

    def __str__(self) -> str:
        return self.url

    def __repr__(self) -> str:
        return f"RemotePath({self.url!r})"

    def __fspath__(self) -> str:
        return self.url

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RemotePath) and other.url == self.url

    def __hash__(self) -> int:
        return hash(self.url)

    def __truediv__(self, name: str) -> RemotePath:
        return RemotePath(f"{self.url}{'' if self.url.endswith('/') else '/'}{name}")

    @property
    def name(self) -> str:
        """What is behind the last slash."""
        return self.url.rpartition("/")[2]

    @property
    def parent(self) -> RemotePath:
        """What is before it."""
        return RemotePath(self.url.rpartition("/")[0] + "/")

    def with_name(self, name: str) -> RemotePath:
        """Another object in the same folder."""
        return self.parent / name

    @property
    def place(self) -> tuple[object, str]:
        """What is equal for two spellings of one URL: the store and the path in it."""
        store, path = store_of(self.url)
        return type(store), path

    # Asking

    def _look(self) -> Found | None:
        try:
            return look_up(self.url)
        except FileNotFoundError:
            return None

    def exists(self) -> bool:
        """Whether there is an object of this name."""
        return self._look() is not None

    is_file = exists

    def is_dir(self) -> bool:
        """Whether there are objects below this name."""
        store, path = store_of(self.url)

        def look() -> bool:
            store.invalidate_cache(path)
            return bool(store.isdir(path))

        return patiently(self.url, "looking it up", look)

    def stat(self) -> SimpleNamespace:
        """``st_size``.

        Raises:
            FileNotFoundError: There is no such object.
        """
        return SimpleNamespace(st_size=look_up(self.url).size)

    def sizes(self) -> dict[str, int]:
        """name -> bytes of each object in this folder."""
        store, path = store_of(self.url)

        def look() -> list[dict[str, Any]]:
            store.invalidate_cache(path)
            try:
                listed: list[dict[str, Any]] = store.ls(path, detail=True)
            except FileNotFoundError:
                return []
            return listed

        found = patiently(self.url, "listing", look)
        return {
            info["name"].rstrip("/").rpartition("/")[2]: info["size"] for info in found if info["type"] != "directory"
        }

    # Reading and writing

    def open(self, mode: str = "rb", buffering: int = -1) -> RemoteFile:
        """The bytes of the object."""
        return RemoteFile(self.url)

    def read_bytes(self) -> bytes:
        """All bytes of the object."""
        with self.open() as file:
            return file.read()

    def unlink(self, missing_ok: bool = False) -> None:
        """Delete the object."""
        store, path = store_of(self.url)
        try:
            patiently(self.url, "deleting", lambda: store.rm_file(path))
        except FileNotFoundError:
            if not missing_ok:
                raise
        store.invalidate_cache(path)

    def move(self, target: RemotePath) -> None:
        """Give the object another name; where it has been moved already, nothing is done."""
        store, path = store_of(self.url)
        size = look_up(self.url).size if self.exists() else None
        if size is None:
            return
        new = store_of(target.url)[1]

        def copy() -> None:
            try:
                store.cp_file(path, new)
            except FileNotFoundError:  # some stores have folders as a disk has them, in which this one is not yet
                store.makedirs(store._parent(new), exist_ok=True)
                store.cp_file(path, new)

        patiently(self.url, "copying", copy)
        if target.stat().st_size != size:
            raise OSError(errno.EIO, f"not all of {self.url} has been copied", target.url)
        self.unlink(missing_ok=True)

    def upload(self, local: Path) -> None:
        """Put a file there whole, and compare its size and, where the store has one, its checksum; a small one without
        a checksum is read again.

        Raises:
            OSError: It does not get there, however often it is tried. What has got there of it is deleted.
        """
        store, path = store_of(self.url)
        part, options = None, {}
        if "s3" in store.protocol:
            part = max(PART, -(-local.stat().st_size // MOST_PARTS))
            options = {"max_concurrency": 3, "chunksize": part}  # so many parts are in memory

        def put() -> dict[str, Any]:
            store.put_file(str(local), path, **options)
            store.invalidate_cache(path)
            info: dict[str, Any] = store.info(path)
            size, there = local.stat().st_size, found_in(info, self.url).size
            if there != size:
                raise ConnectionError(f"{there} bytes arrived of {size}")
            return info

        try:
            checksum = _md5_in(patiently(self.url, "uploading", put))
            # an ETag may be the checksum of something else, as of what the store has encrypted
            mine = None if checksum is None else _md5_of(local, part if "-" in checksum else None)
            doubt = local.stat().st_size <= COMPARED if checksum is None else checksum != mine
            if doubt and not self._holds(local):
                raise OSError(errno.EIO, "other bytes are there than were uploaded", self.url)
        except BaseException as error:
            with suppress(Exception):
                store.rm_file(path)
            if isinstance(error, FileNotFoundError):
                raise FileNotFoundError(errno.ENOENT, "no such bucket or folder", str(self.parent)) from None
            raise

    def _holds(self, local: Path) -> bool:
        with local.open("rb") as file, self.open() as there:
            while True:
                data = file.read(COMPARED)
                if there.read(COMPARED) != data:
                    return False
                if not data:
                    return True


AnyPath: TypeAlias = Path | RemotePath


def same_place(one: AnyPath, other: AnyPath) -> bool:
    """Whether two names are of the same folder."""
    if isinstance(one, RemotePath) or isinstance(other, RemotePath):
        return isinstance(one, RemotePath) and isinstance(other, RemotePath) and one.place == other.place
    return os.path.realpath(one) == os.path.realpath(other)


def path_of(path: str | os.PathLike[str]) -> AnyPath:
    """The path of a file, or of an object."""
    if isinstance(path, RemotePath):
        return path
    return RemotePath(os.fspath(path)) if is_url(path) else Path(local_name(path))


def exists(path: AnyPath) -> bool:
    """Whether there is anything of this name; also a link that leads nowhere."""
    return os.path.lexists(path) if isinstance(path, Path) else path.exists()


def open_part(path: AnyPath, stop: int) -> BinaryIO:
    """The bytes of a file or an object, of which those from ``stop`` on will not be read."""
    if isinstance(path, Path):
        return path.open("rb", buffering=0)
    file = path.open()
    file.ahead_until = stop
    return cast(BinaryIO, file)


def readable(path: AnyPath) -> Any:
    """What other packages take for a file: its path, or the open object."""
    return path if isinstance(path, Path) else path.open()


def read_numbers(
    source: AnyPath | BinaryIO | RemoteFile, dtype: npt.DTypeLike, count: int, offset: int = 0
) -> npt.NDArray[Any]:
    """`numpy.fromfile`, also of objects."""
    if isinstance(source, RemotePath):
        with source.open() as file:
            file.seek(offset)
            return read_numbers(file, dtype, count)
    if not isinstance(source, RemoteFile):
        return np.fromfile(source, dtype, count, offset=offset)
    data = source.read(count * np.dtype(dtype).itemsize)
    return np.frombuffer(data, dtype, len(data) // np.dtype(dtype).itemsize)


def sizes_in(folder: AnyPath, names: Iterable[str]) -> dict[str, int]:
    """name -> bytes of those of some files that are in a folder."""
    if isinstance(folder, RemotePath):
        return folder.sizes()
    return {name: (folder / name).stat().st_size for name in names if (folder / name).exists()}


def _md5_of(path: Path, part: int | None = None) -> str:
    """The MD5 of a file; of one that was uploaded in parts, that of the MD5s of all, and their number, as S3 has it."""
    digests: list[bytes] = []
    with path.open("rb") as file:
        while not digests or file.peek(1):
            checksum, left = hashlib.md5(usedforsecurity=False), sys.maxsize if part is None else part
            while left and (data := file.read(min(COMPARED, left))):
                checksum.update(data)
                left -= len(data)
            digests.append(checksum.digest())
    if part is None:
        return digests[0].hex()
    return f"{hashlib.md5(b''.join(digests), usedforsecurity=False).hexdigest()}-{len(digests)}"


def _md5_in(info: dict[str, Any]) -> str | None:
    """The MD5 that a store has of an object, as it seems; of one that was uploaded in parts, as `_md5_of` has it.

    >>> _md5_in({"ETag": '"d41d8cd98f00b204e9800998ecf8427e"'}) == _md5_in({"md5Hash": "1B2M2Y8AsgTpgAmY7PhCfg=="})
    True
    """
    encoded = info.get("md5Hash")
    if isinstance(encoded, str):
        with suppress(ValueError):
            return base64.b64decode(encoded).hex()
    found = re.fullmatch(r'"?([0-9a-f]{32}(?:-[0-9]+)?)"?', str(info.get("ETag", "")))
    return found[1] if found else None
