"""Threads that end with the call that starts them: a group that works on one job, and a pool that keeps the order.

The group and the pool start plain threads: importing `concurrent.futures` takes longer than many a small text, and
`Thread.start` waits until the new thread runs, which then holds the interpreter lock: 0.2 ms until two threads work.

This is Python code; it is compiled because compiled modules import it, and because no signal strikes between its steps.
A signal may strike inside called Python code, such as `threading`, and leave a lock behind; so this module calls only C
functions, and it knows and awaits every thread that it has started.
"""
import os
import sys
import time
from _queue import Empty, SimpleQueue
from _thread import allocate_lock, start_new_thread
from collections import deque
from functools import partial
from itertools import chain, islice
from typing import Generic, TypeVar

from ..errors import check_integer

_STARTED = 1 << 15  # bytes that are encoded while a thread is started
_TAKEN = 1 << 13  # the least bytes that a thread takes, for each thread that may take some at the same time
_QUOTA_KEPT = 10.0  # seconds; reading it takes as long as encoding a small batch

_Job = TypeVar("_Job")
_Result = TypeVar("_Result")


def thread_count(num_threads):
    """The number of computing threads: at most, and by default, one for each processor that the process may use.

    Further threads would take turns, each with its caches: 32 on two processors took 1.2 to 1.9 times as long.

    Raises:
        TypeError: `num_threads` is neither an int nor None.
        ValueError: It is less than 1.

    >>> thread_count(1)
    1
    """
    return processors() if num_threads is None else min(job_count(num_threads), processors())


def job_count(num_threads):
    """The number of threads that also wait for files and stores: any number, by default one a processor.

    >>> job_count(3)
    3
    """
    if num_threads is None:
        return processors()
    return check_integer("num_threads", num_threads, 1, kind="an int or None")


def worthwhile(threads, size):
    """The most threads that still shorten the encoding of `size` bytes: the last of n threads saves 1 / (n * (n - 1))
    of the time that one takes, and has to be started first.

    >>> worthwhile(192, 16_000_000)
    22
    """
    return min(threads, (1 + int((1 + 4 * (size // _STARTED)) ** 0.5)) // 2)


def next_size(left, threads, most):
    """The bytes of the rest that a thread takes next, `most` at most: fewer towards the end, so that all threads end
    together, but enough that they do not wait for each other when they take them.

    >>> next_size(16_000_000, 2, 1 << 18), next_size(1_000_000, 2, 1 << 18), next_size(50_000, 2, 1 << 18)
    (262144, 125000, 16384)
    """
    return min(most, max(left // (4 * threads), threads * _TAKEN))


def processors():
    """The number of processors that the process may use: its processor affinity, but at most the quota of its control
    groups, rounded up. Further threads would be stopped for a part of each tenth of a second.

    ``PYTHON_CPU_COUNT`` (Python 3.13) stands for the processors that it may run on; the quota holds all the same.
    """
    global _quota
    if hasattr(os, "process_cpu_count"):
        count = os.process_cpu_count() or 1
    elif hasattr(os, "sched_getaffinity"):
        count = len(os.sched_getaffinity(0))
    else:
        count = os.cpu_count() or 1
    due, quota = _quota
    if time.monotonic() >= due:
        quota = processor_quota()
        _quota = time.monotonic() + _QUOTA_KEPT, quota
    return count if quota is None else max(1, min(count, int(-(-quota // 1))))


_quota = 0.0, None  # the time of its next reading, and its last value


def processor_quota(root=""):
    """Seconds of processor time in a second that the control groups of the process allow, or None for no limit: the
    least of `cpu.max` (version 2) and `cpu.cfs_quota_us` (version 1) in its group and in those above.

    Args:
        root: The folder that has ``/proc`` and ``/sys``.
    """
    quotas = []
    try:
        lines = _content(f"{root}/proc/self/cgroup").split("\n")
    except OSError:  # not Linux, or not mounted
        return None
    for line in lines:
        group = line.split(":", 2)
        if len(group) < 3:
            continue
        if not group[1]:
            mounts, files = [f"{root}/sys/fs/cgroup"], ["cpu.max"]
        elif "cpu" in group[1].split(","):
            mounts = [f"{root}/sys/fs/cgroup/{group[1]}", f"{root}/sys/fs/cgroup/cpu"]
            files = ["cpu.cfs_quota_us", "cpu.cfs_period_us"]
        else:
            continue
        # A container may see the path on the host, but its own group at the root: so every folder above counts.
        for folder in mounts:
            for part in ("", *group[2].split("/")):
                if part in (".", ".."):
                    continue
                folder = f"{folder}/{part}" if part else folder
                try:
                    quotas.append(_quota_of(folder, files))
                except (OSError, ValueError, ZeroDivisionError):  # not there, or "max"
                    pass
    return min(filter(_is_limit, quotas), default=None)


def _is_limit(quota):
    return quota > 0


def _quota_of(folder, files):
    numbers = []
    for name in files:
        numbers += _content(f"{folder}/{name}").split()
    quota, period = numbers
    return int(quota) / int(period)


def _content(path):
    """The text of a small file. `with` ends the process where memory runs out in it, as Cython 3.3 compiles it."""
    file = open(path, encoding="utf-8", errors="surrogateescape")
    try:
        return file.read()
    finally:
        file.close()


def run_with_helpers(work, helper, helpers, fail):
    """Run `work` here and `helper` in `helpers` other threads; return, or raise, when all of them have ended.

    They use memory that the caller frees. So when this thread is interrupted, as by Ctrl-C, it passes the exception to
    `fail`, which tells the helpers to stop, and still waits for them. Helpers that cannot be started are done without.
    """
    started = []
    raised = None
    try:
        _start(started, helper, helpers)
        work()
    except BaseException as error:  # raised again below
        raised = error
        fail(error)
    interrupted = _join(started, fail)
    if raised or interrupted:
        raise raised or interrupted


def _start(started, call, threads):
    """Start threads that each make the call, and append them; fewer where the system has no more."""
    for _ in range(threads):
        try:
            started.append(Future.started(call))
        except RuntimeError:  # out of threads; those that run do all the work
            return


def _join(started, interrupted):
    """Wait until all threads have ended; return the first exception that interrupted the wait, or None.

    Each such exception, as raised by Ctrl-C, is passed to `interrupted`, and the wait goes on.
    """
    raised = None
    for future in started:
        # A child of a fork has none of the threads, and none of them goes on when the interpreter ends.
        while future.process == os.getpid() and not sys.is_finalizing():
            try:
                future.wait()
                break
            except BaseException as error:
                raised = raised or error
                interrupted(error)
    return raised


class Future(Generic[_Result]):
    """The result or the error of a call in another thread."""

    process = None  # which started a thread for it

    def __init__(self, call):
        self._call = call
        self._running = allocate_lock()
        self._running.acquire()
        self._result = None
        self._error = None

    @classmethod
    def started(cls, call):
        """A call that a thread of its own is making."""
        future = cls(call)
        future.process = os.getpid()
        start_new_thread(future.run, ())
        return future

    def run(self):
        """Make the call."""
        try:
            self._result = self._call()
        except BaseException as error:  # raised by result()
            self._error = error
        self._running.release()

    def done(self):
        """True once the call has ended, with a result or an error."""
        return not self._running.locked()

    def wait(self):
        """Wait until the call has ended, with a result or an error."""
        self._running.acquire()
        self._running.release()

    def result(self):
        """Wait for the result, or raise the call's error."""
        self.wait()
        if self._error is not None:
            raise self._error
        return self._result


def in_order(work, jobs, threads, *, stop=None):
    """``map(work, jobs)`` by a pool of threads, at most two jobs a thread ahead of the results.

    The caller's thread takes the jobs, and does the work too where there is one thread or one job. After an error, or
    when the generator is closed, jobs that have not begun are dropped and no thread is left.

    Args:
        work: Called by several threads at once.
        stop: Called to end the jobs that have begun, after an error or when the generator is closed.

    >>> list(in_order(str.upper, "abc", 2))
    ['A', 'B', 'C']
    """
    jobs = iter(jobs)
    head = list(islice(jobs, 2)) if threads > 1 else []
    if len(head) < 2:
        yield from map(work, chain(head, jobs))
        return
    jobs = chain(map(head.pop, (0, 0)), jobs)  # no job is kept here while it is worked on
    queue, started = SimpleQueue(), []
    waiting = deque()  # the futures of jobs whose results have not been given out
    try:
        _start(started, partial(serve, queue), threads)
        if not started:
            yield from map(work, jobs)
        for job in jobs:
            while waiting and (len(waiting) > 2 * threads or waiting[0].done()):
                yield waiting.popleft().result()
            waiting.append(Future(partial(work, job)))
            queue.put(waiting[len(waiting) - 1])
        while waiting:
            yield waiting.popleft().result()
    except BaseException:
        if stop is not None:
            stop()
        raise
    finally:
        try:
            while True:
                queue.get_nowait()
        except Empty:
            pass
        for _ in started:
            queue.put(None)
        interrupted = _join(started, lambda error: None)
        if interrupted is not None:
            raise interrupted


def serve(queue):
    """The loop of a thread in a pool: calls from the queue, until there is None."""
    while (future := queue.get()) is not None:
        future.run()
        del future  # its result would be kept while the next one is awaited
