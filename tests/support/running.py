"""How many threads there are."""
import sys
import time
from _thread import _count


def running_threads() -> int:
    """Those of Python's that run besides the main thread; `threading` does not know of the ones that bpetite starts.

    Without the interpreter lock a thread whose call has ended needs a moment to leave.
    """
    if not getattr(sys, "_is_gil_enabled", lambda: True)():
        until = time.monotonic() + 0.2
        while _count() and time.monotonic() < until:
            time.sleep(0.0005)
    return _count()
