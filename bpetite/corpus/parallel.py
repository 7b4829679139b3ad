"""Results in the order of their inputs, made by several threads, of inputs that are read meanwhile.

Threads and not processes: the tokenizer, decompression, checksums and file writes all release the interpreter lock, so
threads keep the cores busy, share one tokenizer, and hand arrays over without copying them through a pipe. Two threads
encode English 1.7 times as fast as one; two forked processes 1.2 times, even if they read by themselves: starting them,
copying the pages that they share and sending the tokens back is a third more work. docs/corpus.md has the numbers.
"""
from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from threading import Condition, Event, Thread
from typing import Any, Generic, Protocol, TypeVar

__all__ = ["Later", "ahead", "in_order"]


class Sized(Protocol):
    """A job that knows its size."""

    @property
    def size(self) -> int: ...


Job = TypeVar("Job", bound=Sized)
Result = TypeVar("Result")


class Later(Generic[Result]):
    """The result of a call that is made by another thread, or the error that it raises.

    ``concurrent.futures`` has the same, and takes longer to import than many a small corpus to encode.
    """

    def __init__(self, call: Callable[[], Result]) -> None:
        self._call = call
        self._done = Event()
        self._result: Any = None
        self._error: BaseException | None = None

    @classmethod
    def started(cls, call: Callable[[], Result]) -> Later[Result]:
        """A call that a thread of its own is making."""
        later = cls(call)
        Thread(target=later.run, daemon=True).start()
        return later

    def run(self) -> None:
        """Make the call."""
        try:
            self._result = self._call()
        except BaseException as error:  # it is raised where the result is wanted
            self._error = error
        self._done.set()

    def done(self) -> bool:
        """Whether the result is there."""
        return self._done.is_set()

    def wait(self) -> None:
        """Wait until the call has ended, one way or the other."""
        self._done.wait()

    def result(self) -> Result:
        """Wait for the result."""
        self._done.wait()
        if self._error is not None:
            raise self._error
        result: Result = self._result
        return result


def ahead(jobs: Generator[Job, None, None], *, held: int = 16 << 20) -> Generator[Job, None, None]:
    """The same jobs, read by a thread of its own while the caller works on those before.

    An error of reading is raised in its place in the order. When this generator is closed the thread has ended, and
    what it read from is closed; so it is not for an input that can keep a reader waiting.

    Args:
        held: Jobs of more than this many bytes together are not held at a time, unless it is a single one.
    """
    queue = _Queue(held)

    def read() -> None:
        error: BaseException | None = None
        try:
            for job in jobs:
                if not queue.put(job, job.size):
                    break
        except BaseException as failure:  # it is raised where the next job is wanted
            error = failure
        queue.end(error)

    thread = Thread(target=read, name="bpetite-reader")
    thread.start()
    try:
        yield from queue
    finally:
        queue.stop()
        thread.join()
        jobs.close()


class _Queue:
    """Items from one thread to another, of a bounded size together."""

    def __init__(self, held: int) -> None:
        self._held = held
        self._items: deque[tuple[int, Any]] = deque()
        self._size = 0
        self._ended = self._stopped = False
        self._error: BaseException | None = None
        self._changed = Condition()

    def put(self, item: object, size: int) -> bool:
        """Hand an item over, as soon as there is room; False when no more is wanted."""
        with self._changed:
            while self._items and self._size + size > self._held and not self._stopped:
                self._changed.wait()
            self._items.append((size, item))
            self._size += size
            self._changed.notify_all()
            return not self._stopped

    def end(self, error: BaseException | None) -> None:
        """There are no more items, or an error in their place."""
        with self._changed:
            self._ended, self._error = True, error
            self._changed.notify_all()

    def stop(self) -> None:
        """No more items are wanted."""
        with self._changed:
            self._stopped = True
            self._items.clear()
            self._changed.notify_all()

    def __iter__(self) -> Iterator[Any]:
        while True:
            with self._changed:
                while not self._items and not self._ended:
                    self._changed.wait()
                if not self._items:
                    break
                size, item = self._items.popleft()
                self._size -= size
                self._changed.notify_all()
            yield item
            del item  # or it would be held while the next one is waited for
        if self._error is not None:
            raise self._error


def in_order(
    work: Callable[[Job], Result], jobs: Iterable[Job], workers: int, *, held: int = 64 << 20
) -> Generator[Result, None, None]:
    """``map(work, jobs)`` by several threads.

    Args:
        workers: Threads; with 1, the caller's own does the work.
        held: Jobs of more than this many bytes together are not held at a time, unless it is a single one.
    """
    _keep_freed_memory()
    if workers == 1:
        yield from map(work, jobs)
        return
    queue: SimpleQueue[Later[Result] | None] = SimpleQueue()
    threads = [Thread(target=_serve, args=(queue,), name="bpetite-corpus") for _ in range(workers)]
    waiting: deque[tuple[int, Later[Result]]] = deque()
    size = 0
    for thread in threads:
        thread.start()
    try:
        for job in jobs:
            while waiting and (len(waiting) > workers + 1 or size + job.size > held or waiting[0][1].done()):
                done, result = waiting.popleft()
                size -= done
                yield result.result()
            waiting.append((job.size, Later(partial(work, job))))
            queue.put(waiting[-1][1])
            size += job.size
        while waiting:
            yield waiting.popleft()[1].result()
    finally:
        while not queue.empty():  # after an error: what nobody has begun
            with suppress(Empty):
                queue.get_nowait()
        for _ in threads:
            queue.put(None)
        for thread in threads:
            thread.join()


def _serve(queue: SimpleQueue[Later[Any] | None]) -> None:
    """What a thread does: calls from the queue, until it is told to stop."""
    while (later := queue.get()) is not None:
        later.run()


def _keep_freed_memory() -> None:
    """Have the C library keep the memory of one block for the next one.

    glibc gives freed memory back to the system beyond a threshold, which is twice the size of the largest block that
    was ever freed, up to 32 MB. Without this the blocks of a corpus, a few megabytes each, are taken from the system
    and given back one by one, and a quarter of the time goes into page faults. Elsewhere it does nothing; the memory
    asked for is not touched.
    """
    bytes(31 << 20)
