"""Stores for tests: objects in memory, where calls fail as a test says."""
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

import fsspec
from fsspec.implementations.local import LocalFileSystem
from fsspec.implementations.memory import MemoryFileSystem

from bpetite.corpus.read import stores

#: Called before each call of a store with (its name, path); raises what is to go wrong.
Fault = Callable[[str, str], None]


class FaultyStore(MemoryFileSystem):
    """``faulty://``; reads give what ``cut`` says of the bytes."""

    protocol = "faulty"
    store: ClassVar[dict[str, Any]] = {}
    pseudo_dirs: ClassVar[list[str]] = [""]
    fault: ClassVar[Fault | None] = None
    cut: ClassVar[Callable[[bytes], bytes] | None] = None
    calls: ClassVar[list[tuple[Any, ...]]] = []

    @classmethod
    def _strip_protocol(cls, path: Any) -> Any:
        return super()._strip_protocol(str(path).removeprefix("faulty://"))

    def _begin(self, name: str, path: str, *more: Any) -> None:
        type(self).calls.append((name, path, *more))
        if type(self).fault is not None:
            type(self).fault(name, path)

    def info(self, path: str, **options: Any) -> Any:
        self._begin("info", path)
        return super().info(path, **options)

    def find(self, path: str, *arguments: Any, **options: Any) -> Any:
        self._begin("find", path)
        return super().find(path, *arguments, **options)

    def cat_file(self, path: str, start: Any = None, end: Any = None, **options: Any) -> bytes:
        self._begin("read", path, start, end - start)
        data: bytes = super().cat_file(path, start=start, end=end, **options)
        return data if type(self).cut is None else type(self).cut(data)

    def put_file(self, local: str, path: str, **options: Any) -> Any:
        try:
            self._begin("put", path)
        except ConnectionError:  # half of it gets there, unless there is an object already
            if self.exists(path):
                raise
            with open(local, "rb") as file:
                data = file.read()
            super().pipe_file(path, data[: len(data) // 2])
            raise
        return super().put_file(local, path, **options)

    def rm_file(self, path: str) -> None:
        self._begin("remove", path)
        super().rm_file(path)


class DiskStore(LocalFileSystem):
    """``disk://``: objects in a folder, which outlive a process; each is put there whole or not at all."""

    protocol = "disk"

    def __init__(self, **options: Any) -> None:
        super().__init__(auto_mkdir=True, **options)

    @classmethod
    def _strip_protocol(cls, path: Any) -> Any:
        return super()._strip_protocol(str(path).removeprefix("disk://"))

    def put_file(self, local: str, path: str, **options: Any) -> None:
        waiting = os.path.join(tempfile.gettempdir(), f"{os.getpid()}.put")
        shutil.copy(local, waiting)
        os.makedirs(os.path.dirname(self._strip_protocol(path)), exist_ok=True)
        os.replace(waiting, self._strip_protocol(path))


fsspec.register_implementation("faulty", FaultyStore)
fsspec.register_implementation("disk", DiskStore)


@contextmanager
def faulty(fault: Fault | None = None, cut: Callable[[bytes], bytes] | None = None) -> Iterator[list[tuple[Any, ...]]]:
    """Calls go wrong as `fault` and `cut` say, and are made again at once; gives the list of calls."""
    before, stores.WAIT = stores.WAIT, 0
    FaultyStore.fault, FaultyStore.cut, FaultyStore.calls = fault, cut, []
    try:
        yield FaultyStore.calls
    finally:
        FaultyStore.fault = FaultyStore.cut = None
        stores.WAIT = before


def every(count: int, error: type[Exception] = ConnectionError) -> Fault:
    """Each call of that number fails."""
    made = 0

    def fault(name: str, path: str) -> None:
        nonlocal made
        made += 1
        if made % count == 0:
            raise error(f"call {made} fails")

    return fault


def failing(name: str, error: Exception, *, first: int = 1, end: str = "") -> Fault:
    """Calls of this name for objects with such an end fail, from one on."""
    made = 0

    def fault(called: str, path: str) -> None:
        nonlocal made
        if called == name and path.endswith(end):
            made += 1
            if made >= first:
                raise error

    return fault


def fresh(protocol: str = "memory") -> Any:
    """An empty store."""
    store = fsspec.filesystem(protocol)
    store.store.clear()
    store.pseudo_dirs[:] = [""]
    return store
