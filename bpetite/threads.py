"""Threads that live for one call, and never longer."""
from __future__ import annotations

import threading
from collections.abc import Callable

__all__ = ["together"]


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
            thread.start()
            started.append(thread)
        work()
    except BaseException as error:  # raised again below
        raised = error
        fail(error)
    for thread in started:
        while thread.is_alive():
            try:
                thread.join()
            except BaseException as error:  # the same
                raised = raised or error
                fail(error)
    if raised is not None:
        raise raised
