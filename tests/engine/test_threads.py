"""Threads that work for a call end with it, whatever interrupts the call."""
import signal
import threading
from collections.abc import Callable
from typing import Any

import pytest

from bpetite import Tokenizer
from bpetite.engine._threads import together

TEXT = "the é的 cat " * 2_000_000
CALLS: list[Callable[[Tokenizer], Any]] = [
    lambda tok: tok.encode_to_numpy(TEXT, num_threads=3),
    lambda tok: tok.encode_to_numpy(TEXT.encode(), num_threads=3),
    lambda tok: tok.encode_batch_to_numpy([TEXT[:5000]] * 4000, num_threads=3),
]


@pytest.fixture(scope="module")
def tok() -> Tokenizer:
    return Tokenizer.train("the cat the cat", 260)


# A signal may strike in a callback of the interpreter's own, where nothing can be raised.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("call", CALLS)
def test_interrupted_by_a_signal(tok: Tokenizer, call: Callable[[Tokenizer], Any]) -> None:
    before = threading.active_count()
    old = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        for delay in (0.002, 0.01, 0.02):
            signal.setitimer(signal.ITIMER_REAL, delay)
            try:
                call(tok)
            except KeyboardInterrupt:
                pass
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
            assert threading.active_count() == before
    finally:
        signal.signal(signal.SIGALRM, old)
    assert tok.encode("the cat", num_threads=2) == tok.encode("the cat")


@pytest.mark.parametrize("call", CALLS)
def test_a_thread_that_cannot_be_started(
    tok: Tokenizer, call: Callable[[Tokenizer], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = threading.active_count()
    start, started = threading.Thread.start, []

    def second_fails(thread: threading.Thread) -> None:
        started.append(thread)
        if len(started) == 2:
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", second_fails)
    with pytest.raises(RuntimeError, match="can't start new thread"):
        call(tok)
    assert threading.active_count() == before


def test_all_work_and_one_error_is_raised() -> None:
    done: list[str] = []
    failures: list[BaseException] = []
    together(lambda: done.append("here"), lambda: done.append("there"), 3, failures.append)
    assert sorted(done) == ["here", "there", "there", "there"]
    assert failures == []

    def broken() -> None:
        raise ValueError("here")

    with pytest.raises(ValueError, match="here"):
        together(broken, lambda: done.append("more"), 2, failures.append)
    assert done.count("more") == 2
    assert len(failures) == 1
