from collections.abc import Callable, Generator, Iterable
from typing import Generic, TypeVar

_Job = TypeVar("_Job")
_Result = TypeVar("_Result")

def thread_count(num_threads: int | None) -> int:
    """The number of threads that compute: as asked for, or one for each processor that the process may use, and no more
    than that. Further ones would take turns, with caches of their own: 32 on two processors took 1.2 to 1.9 times as
    long.

    Raises:
        TypeError: `num_threads` is neither an int nor None.
        ValueError: It is less than 1.

    >>> thread_count(1)
    1
    """

def job_count(num_threads: int | None) -> int:
    """The number of threads that wait for files and stores, too: as asked for, or one for each processor that the
    process may use.

    Raises:
        TypeError: `num_threads` is neither an int nor None.
        ValueError: It is less than 1.

    >>> job_count(3)
    3
    """

def worthwhile(threads: int, size: int) -> int:
    """No more threads than shorten the encoding of `size` bytes. The last of n threads saves 1 / (n * (n - 1)) of the
    time that one takes, and has to be started first.

    >>> worthwhile(192, 16_000_000)
    22
    """

def next_share(left: int, threads: int, most: int) -> int:
    """How much of what is left, in bytes, a thread takes next, of `most` at most: less towards the end, so that all
    threads end together, but not so little that they wait for each other when they take it.

    >>> next_share(16_000_000, 2, 1 << 18), next_share(1_000_000, 2, 1 << 18), next_share(50_000, 2, 1 << 18)
    (262144, 125000, 16384)
    """

def processors() -> int:
    """How many processors the process may use: those that it may run on, but no more than the quota of its control
    groups comes to, rounded up. Further threads would be stopped for a part of each tenth of a second.

    ``PYTHON_CPU_COUNT`` (Python 3.13) stands for the processors that it may run on; the quota holds all the same.
    """

def processor_quota(root: str = "") -> float | None:
    """Seconds of processor time in a second that the control groups of the process allow, or None for no limit: the
    least of `cpu.max` (version 2) and `cpu.cfs_quota_us` (version 1) in its group and in those above.

    Args:
        root: The folder that has ``/proc`` and ``/sys``.
    """

def together(
    work: Callable[[], object],
    helper: Callable[[], object],
    helpers: int,
    fail: Callable[[BaseException], object],
) -> None:
    """Run `work` here and `helper` in `helpers` other threads; return, or raise, when all of them have ended.

    They use memory that the caller frees. So when this thread is interrupted, by Ctrl-C or because no thread can be
    started, it passes the exception to `fail`, which tells the helpers to stop, and still waits for them.
    """

class Future(Generic[_Result]):
    """The result of a call that another thread makes, or the error that it raises."""

    def __init__(self, call: Callable[[], _Result]) -> None: ...
    @classmethod
    def started(cls, call: Callable[[], _Result]) -> Future[_Result]:
        """A call that a thread of its own is making."""

    def run(self) -> None:
        """Make the call."""

    def done(self) -> bool:
        """Whether the call has ended, with a result or an error."""

    def wait(self) -> None:
        """Wait until the call has ended, with a result or an error."""

    def result(self) -> _Result:
        """Wait for the result, or raise the call's error."""

def in_order(
    work: Callable[[_Job], _Result],
    jobs: Iterable[_Job],
    threads: int,
    *,
    size: Callable[[_Job], int] | None = None,
    held: int = 0,
    stop: Callable[[], object] | None = None,
) -> Generator[_Result]:
    """``map(work, jobs)`` by a pool of threads, at most two jobs a thread ahead of the results.

    The caller's thread takes the jobs, and does the work too where there is one thread or one job. After an error, or
    when the generator is closed, jobs that have not begun are dropped and no thread is left.

    Args:
        work: Called by several threads at once.
        size: The bytes that a job holds.
        held: The most bytes that jobs whose results are due may hold together, unless it is a single one; 0 for any.
        stop: Called to end the jobs that have begun, after an error or when the generator is closed.

    >>> list(in_order(str.upper, "abc", 2))
    ['A', 'B', 'C']
    """
