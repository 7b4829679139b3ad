"""Threads that live for one call, and never longer."""
from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable

__all__ = ["thread_count", "together"]

STARTING = 1000  # milliseconds


def together(work: Callable[[], object], helper: Callable[[], object], helpers: int,
             fail: Callable[[BaseException], object]) -> None:
    """Run `work` here and `helper` in so many other threads; return, or raise, when all of them have ended.

    They use memory that the caller frees. So where this thread is interrupted, by Ctrl-C or because no thread can be
    started, it says so to the others by `fail`, and waits for them all the same.
    """
    started: list[threading.Thread] = []
    raised: BaseException | None = None
    try:
        for _ in range(helpers):
            thread = threading.Thread(target=helper)
            started.append(thread)
            thread.start()
        work()
    except BaseException as error:  # raised again below
        raised = error
        fail(error)
    for thread in started:
        patience = STARTING
        while thread in threading.enumerate():
            try:
                if thread.is_alive():
                    thread.join()
                elif patience:  # its start was interrupted half-way; whether it comes to life is soon known
                    patience -= 1
                    time.sleep(0.001)
                else:
                    break
            except BaseException as error:  # the same
                raised = raised or error
                fail(error)
    if raised is not None:
        raise raised


def thread_count(num_threads: int | None) -> int:
    """How many threads to use: as asked for, or as many as the process may run on.

    >>> thread_count(3)
    3
    """
    if num_threads is None:
        if hasattr(os, "sched_getaffinity"):
            return len(os.sched_getaffinity(0))
        return os.cpu_count() or 1
    if not isinstance(num_threads, int) or isinstance(num_threads, bool):
        raise TypeError(f"num_threads is an int or None, not {num_threads!r}")
    if num_threads < 1:
        raise ValueError(f"num_threads must be at least 1, not {num_threads}")
    return num_threads
