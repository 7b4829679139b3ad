"""How many threads there are, and where a test may fork or measure memory."""
import os
import sys
import time
from _thread import _count

import pytest

UNDER_ASAN = "asan" in os.environ.get("LD_PRELOAD", "")

#: AddressSanitizer's allocator does not let go of its locks in a fork: where another thread, be it one that ends, is in
#: it at that moment, the child waits for ever in its first allocation.
forks = pytest.mark.skipif(not hasattr(os, "fork") or UNDER_ASAN, reason="no fork here, or none that is safe")
own_memory = pytest.mark.skipif(UNDER_ASAN, reason="the sanitizer needs memory of its own")


def running_threads() -> int:
    """Those of Python's that run besides the main thread; `threading` does not know of the ones that bpetite starts.

    Without the interpreter lock a thread whose call has ended needs a moment to leave.
    """
    if not getattr(sys, "_is_gil_enabled", lambda: True)():
        until = time.monotonic() + 0.2
        while _count() and time.monotonic() < until:
            time.sleep(0.0005)
    return _count()
