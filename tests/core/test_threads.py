"""Threads that work for a call end with it, whatever interrupts the call."""
import _thread
import gc
import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bpetite import Tokenizer
from bpetite.core import _threads
from bpetite.core._threads import in_order, job_count, processors, run_with_helpers, thread_count
from tests.support.running import forks, running_threads

TEXT = "the é的 cat " * 500_000
CALLS: list[Callable[[Tokenizer], Any]] = [
    lambda tok: tok.encode_to_numpy(TEXT, num_threads=3),
    lambda tok: tok.encode_to_numpy(TEXT.encode(), num_threads=3),
    lambda tok: tok.encode_batch_to_numpy([TEXT[:5000]] * 4000, num_threads=3),
]


@pytest.fixture(scope="module")
def tok() -> Tokenizer:
    return Tokenizer.train("the cat the cat", 260)


def fail_to_start(monkeypatch: pytest.MonkeyPatch, which: int) -> None:
    """From this thread on, none can be started."""
    start, started = _thread.start_new_thread, []

    def start_or_fail(function: Callable[..., object], args: tuple[Any, ...]) -> int:
        started.append(args)
        if len(started) >= which:
            raise RuntimeError("can't start new thread")
        return start(function, args)

    monkeypatch.setattr(_threads, "start_new_thread", start_or_fail)


@pytest.mark.parametrize("which", [1, 2])
@pytest.mark.parametrize("call", [*CALLS, lambda _: list(in_order(str, range(9), 3))])
def test_a_thread_that_cannot_be_started_is_done_without(
    tok: Tokenizer, call: Callable[[Tokenizer], Any], which: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, expected = running_threads(), call(tok)
    fail_to_start(monkeypatch, which)
    np.testing.assert_equal(call(tok), expected)
    assert running_threads() == before


def test_all_work_and_one_error_is_raised() -> None:
    done: list[str] = []
    failures: list[BaseException] = []
    run_with_helpers(lambda: done.append("here"), lambda: done.append("there"), 3, failures.append)
    assert sorted(done) == ["here", "there", "there", "there"]
    assert failures == []

    def broken() -> None:
        raise ValueError("here")

    with pytest.raises(ValueError, match="here"):
        run_with_helpers(broken, lambda: done.append("more"), 2, failures.append)
    assert done.count("more") == 2
    assert len(failures) == 1


@pytest.fixture
def real_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_threads, "processors", processors)


@pytest.mark.usefixtures("real_processors")
@pytest.mark.parametrize("count", [thread_count, job_count])
def test_the_number_of_threads(count: Callable[[object], int]) -> None:
    assert count(1) == count(np.int64(1)) == 1
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    assert 1 <= count(None) == processors() <= cores
    assert count(cores + 5) == (cores + 5 if count is job_count else processors())
    with pytest.raises(ValueError, match="num_threads must be at least 1, not 0"):
        count(0)
    for wrong in (True, 1.5, "2"):
        with pytest.raises(TypeError, match="num_threads is an int or None"):
            count(wrong)


def test_no_more_threads_than_shorten_the_work() -> None:
    start = 1 << 15
    for size in (0, 1, start, 2 * start - 1, 2 * start, 6 * start, 10 * start, 1 << 30):
        times = {n: (n - 1) * start + size / n for n in range(1, 400)}
        best = min(times.values())
        assert times[_threads.worthwhile(399, size)] <= best * 1.01 + start / 50
    assert _threads.worthwhile(3, 1 << 30) == 3
    assert _threads.worthwhile(5, 0) == 1


@pytest.mark.parametrize("threads", [1, 2, 7, 64, 1000])
@pytest.mark.parametrize("left", [0, 1, 1 << 13, 1 << 16, 1 << 19, 1 << 30])
def test_shares_get_smaller_towards_the_end(threads: int, left: int) -> None:
    most = 1 << 18
    share = _threads.next_size(left, threads, most)
    assert min(most, threads << 13) <= share <= most
    assert share * threads * 4 <= left or share == min(most, threads << 13)
    assert _threads.next_size(left // 2, threads, most) <= share


@pytest.mark.parametrize(
    ("group", "limits", "quota"),
    [
        ("0::/\n", {"cpu.max": "150000 100000\n"}, 1.5),
        ("0::/\n", {"cpu.max": "max 100000\n"}, None),
        ("0::/\n", {}, None),
        ("0::/a/b\n", {"cpu.max": "max 100000\n", "a/cpu.max": "300000 100000\n", "a/b/cpu.max": "max 100000\n"}, 3.0),
        ("0::/a/b\n", {"a/cpu.max": "300000 100000\n", "a/b/cpu.max": "50000 100000\n"}, 0.5),
        ("0::/../a\n", {"a/cpu.max": "200000 50000\n"}, 4.0),
        ("0::/of/the/host\n", {"cpu.max": "200000 100000\n"}, 2.0),
        ("0::/\n", {"cpu.max": "nonsense\n"}, None),
        ("0::/\n", {"cpu.max": "100 0\n"}, None),
        ("0::/\n", {"cpu.max": ""}, None),
        ("not a group\n", {"cpu.max": "200000 100000\n"}, None),
        ("7:memory:/m\n4:cpu,cpuacct:/docker/1\n0::/x\n",
         {"cpu,cpuacct/cpu.cfs_quota_us": "250000\n", "cpu,cpuacct/cpu.cfs_period_us": "100000\n"}, 2.5),
        ("4:cpuacct,cpu:/job\n",
         {"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n",
          "cpu/job/cpu.cfs_quota_us": "700000\n", "cpu/job/cpu.cfs_period_us": "200000\n"}, 3.5),
        ("3:cpuset:/a\n", {"cpu.max": "200000 100000\n"}, None),
        (None, {}, None),
    ],
)  # fmt: skip
def test_the_quota_of_control_groups(
    tmp_path: Path, group: str | None, limits: dict[str, str], quota: float | None
) -> None:
    contents = {f"sys/fs/cgroup/{name}": text for name, text in limits.items()}
    for name, text in (contents | ({} if group is None else {"proc/self/cgroup": group})).items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert _threads.processor_quota(str(tmp_path)) == quota


@pytest.mark.usefixtures("real_processors")
@pytest.mark.parametrize(("quota", "expected"), [(None, 6), (0.2, 1), (1.0, 1), (1.5, 2), (5.01, 6), (64.0, 6)])
def test_threads_are_no_more_than_the_quota_rounded_up(
    monkeypatch: pytest.MonkeyPatch, quota: float | None, expected: int
) -> None:
    reads: list[str] = []

    def read(root: str = "") -> float | None:
        reads.append(root)
        return quota

    monkeypatch.setattr(_threads, "processor_quota", read)
    monkeypatch.setattr(_threads, "_quota", (0.0, None))
    if hasattr(os, "process_cpu_count"):
        monkeypatch.setattr(os, "process_cpu_count", lambda: 6)
    else:
        monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(6)), raising=False)
    assert thread_count(None) == processors() == expected
    assert thread_count(64) == expected  # more would take turns
    assert job_count(64) == 64  # what is asked for counts where threads wait
    assert reads == [""]  # it is not read for every call


@settings(max_examples=50, deadline=None)
@given(jobs=st.lists(st.integers(0, 50), max_size=30), threads=st.integers(1, 4))
def test_a_pool_gives_results_in_order(jobs: list[int], threads: int) -> None:
    assert list(in_order(lambda job: job * 2, jobs, threads)) == [2 * job for job in jobs]


def test_a_pool_takes_few_jobs_ahead() -> None:
    taken: list[int] = []
    let = threading.Event()
    results = in_order(lambda job: let.wait(20) and job, (taken.append(job) or job for job in range(20)), 2)
    threading.Timer(0.2, let.set).start()
    assert next(results) == 0
    assert len(taken) <= 6
    assert list(results) == list(range(1, 20))


def test_one_job_starts_no_thread() -> None:
    for jobs, threads in (([1], 4), ([], 4), ([1, 2], 1)):
        assert set(in_order(lambda job: threading.current_thread(), jobs, threads)) <= {threading.current_thread()}


def test_a_pool_ends_with_an_error_or_when_it_is_closed() -> None:
    def work(job: int) -> int:
        if job == 5:
            raise ValueError("job 5")
        time.sleep(0.001)
        return job

    before = running_threads()
    done: list[int] = []
    with pytest.raises(ValueError, match="job 5"):
        done.extend(in_order(work, range(1000), 3))
    assert running_threads() == before
    results = in_order(work, range(4), 3)
    assert next(results) == 0
    results.close()
    assert running_threads() == before


def test_a_pool_that_a_signal_interrupts() -> None:
    armed: list[bool] = []

    def ring(*args: object) -> None:
        if armed:
            armed.clear()
            raise KeyboardInterrupt

    before = running_threads()
    old = signal.signal(signal.SIGALRM, ring)
    gc.disable()  # hypothesis has a callback of the collector, out of which an interrupt is not raised
    try:
        for step in range(600):
            try:
                armed.append(True)
                signal.setitimer(signal.ITIMER_REAL, 0.00005 + step % 30 * 0.00002)
                list(in_order(lambda job: job, range(8), 2))
                armed.clear()
            except KeyboardInterrupt:
                pass
            assert running_threads() == before
    finally:
        gc.enable()
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)


@forks
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_a_pool_is_closed_in_a_child_of_a_fork() -> None:
    results = in_order(str, range(100), 2)
    assert next(results) == "0"
    child = os.fork()
    if child == 0:  # it has no threads to wait for
        failed = 1
        try:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(30)
            results.close()
            failed = 0
        finally:
            os._exit(failed)  # or the child would go on with the tests
    assert os.waitpid(child, 0)[1] == 0
    assert list(results) == [str(job) for job in range(1, 100)]
