"""Items that one thread hands to another, in bounded memory.

Corpora are worked on by threads, not processes: the tokenizer, decompression, checksums and file writes all release the
interpreter lock, so threads keep the cores busy, share one tokenizer, and hand over arrays without copying them through
a pipe. Two threads encode English 1.7 times as fast as one; two forked processes 1.2 times, even if they read by
themselves: starting them, copying the pages that they share and sending the tokens back is a third more work.
docs/corpus.md has the numbers.
"""
from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterator
from threading import Condition, Thread
from typing import Generic, Protocol, TypeVar

__all__ = ["BoundedQueue", "read_ahead"]

Item = TypeVar("Item")


class Sized(Protocol):
    """A job that knows its size in bytes."""

    @property
    def size(self) -> int: ...


Job = TypeVar("Job", bound=Sized)


class BoundedQueue(Generic[Item]):
    """A queue from one thread to another that holds a bounded number of bytes.

    The consumer iterates over it. An item counts until the consumer asks for the next one.

    Args:
        held: The most bytes that all items together may have, unless it is a single item.
    """

    def __init__(self, held: int) -> None:
        self._held = held
        self._items: deque[tuple[int, Item]] = deque()
        self._size = 0
        self._open = 0  # items that have not been consumed
        self._ended = self._stopped = False
        self._changed = Condition()

    def put(self, item: Item, size: int) -> bool:
        """Add an item as soon as there is room; returns False, and drops it, once the queue has been stopped."""
        with self._changed:
            while self._open and self._size + size > self._held and not self._stopped:
                self._changed.wait()
            if self._stopped:
                return False
            self._items.append((size, item))
            self._size += size
            self._open += 1
            self._changed.notify_all()
            return True

    def end(self) -> None:
        """Mark the end of the items."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def stop(self) -> None:
        """Drop all items, refuse further ones, and end the iteration."""
        with self._changed:
            self._ended = self._stopped = True
            self._items.clear()
            self._changed.notify_all()

    def __iter__(self) -> Iterator[Item]:
        while True:
            with self._changed:
                while not self._items and not self._ended:
                    self._changed.wait()
                if not self._items:
                    return
                size, item = self._items.popleft()
            yield item
            del item  # it would be kept while the next one is awaited
            with self._changed:
                self._size -= size
                self._open -= 1
                self._changed.notify_all()


def read_ahead(jobs: Generator[Job, None, None], *, held: int = 16 << 20) -> Generator[Job, None, None]:
    """The same jobs, read by a thread of its own while the caller works on earlier ones.

    An error of reading is raised after the jobs that were read before it. When this generator is closed, the thread has
    ended and `jobs` is closed; so this is not for an input that can keep its reader waiting, such as a terminal.

    Args:
        held: The most bytes that jobs may have together, the one given out last included, unless it is a single one.
    """
    queue: BoundedQueue[Job] = BoundedQueue(held)
    failure: BaseException | None = None

    def read() -> None:
        nonlocal failure
        try:
            for job in jobs:
                if not queue.put(job, job.size):
                    break
        except BaseException as error:  # raised below, after the jobs before it
            failure = error
        queue.end()

    thread = Thread(target=read, name="bpetite-reader", daemon=True)
    thread.start()
    try:
        yield from queue
    finally:
        queue.stop()
        thread.join()
        jobs.close()
    if failure is not None:
        raise failure
