"""Objects and folders of objects with the methods of `pathlib.Path` that token files and manifests are read with."""
from __future__ import annotations

import errno
import os
from collections.abc import Set
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, BinaryIO, TypeAlias

import numpy as np
import numpy.typing as npt

from .stores import RemoteFile, ask, found_in, is_url, local_name, look_up, patiently, store_of


@dataclass(frozen=True)
class RemotePath:
    """A URL.

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

    def sizes(self) -> dict[str, int]:
        """name -> bytes of each object in this folder."""
        try:
            listing = ask(self.url, "listing", "ls", detail=True)
        except FileNotFoundError:
            return {}
        files = (info for info in listing if info["type"] != "directory")
        return {info["name"].rstrip("/").rpartition("/")[2]: info["size"] for info in files}

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


def names_in(folder: AnyPath) -> Set[str]:
    if isinstance(folder, RemotePath):
        return folder.sizes().keys()
    return set(os.listdir(folder)) if folder.is_dir() else set()


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
