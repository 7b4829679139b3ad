"""How many threads there are."""
from _thread import _count


def running_threads() -> int:
    """Those of Python's that run besides the main thread; `threading` does not know of the ones that bpetite starts."""
    return _count()
