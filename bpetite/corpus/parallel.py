"""Results in the order of their inputs, made by several threads.

Threads and not processes: the tokenizer, decompression, checksums and file writes all release the interpreter lock, so
threads keep the cores busy, share one tokenizer, and hand arrays over without copying them through a pipe.
"""
from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import Future

__all__ = ["in_order"]


class Sized(Protocol):
    """A job that knows its size."""

    @property
    def size(self) -> int: ...


Job = TypeVar("Job", bound=Sized)
Result = TypeVar("Result")


def in_order(
    work: Callable[[Job], Result], jobs: Iterable[Job], workers: int, *, held: int = 64 << 20
) -> Iterator[Result]:
    """``map(work, jobs)`` by several threads.

    Args:
        workers: Threads; with 1, the caller's own does the work.
        held: Jobs of more than this many bytes together are not held at a time, unless it is a single one.
    """
    _keep_freed_memory()
    if workers == 1:
        yield from map(work, jobs)
        return
    from concurrent.futures import ThreadPoolExecutor  # a tenth of the time that starting takes, for one job in vain

    waiting: deque[tuple[int, Future[Result]]] = deque()
    size = 0
    with ThreadPoolExecutor(workers, "bpetite-corpus") as pool:
        try:
            for job in jobs:
                while waiting and (len(waiting) > workers + 1 or size + job.size > held or waiting[0][1].done()):
                    done, result = waiting.popleft()
                    size -= done
                    yield result.result()
                waiting.append((job.size, pool.submit(work, job)))
                size += job.size
            while waiting:
                yield waiting.popleft()[1].result()
        finally:
            for _, result in waiting:
                result.cancel()


def _keep_freed_memory() -> None:
    """Have the C library keep the memory of one block for the next one.

    glibc gives freed memory back to the system beyond a threshold, which is twice the size of the largest block that
    was ever freed, up to 32 MB. Without this the blocks of a corpus, a few megabytes each, are taken from the system
    and given back one by one, and a quarter of the time goes into page faults. Elsewhere it does nothing; the memory
    asked for is not touched.
    """
    bytes(31 << 20)
