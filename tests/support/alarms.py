"""Signals that come while a test makes one call."""
import gc
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Alarm(Exception):
    """What a handler raises."""


class SecondRing:
    """A handler that raises the second time.

    Without a look at signals during a compiled call it runs once, after the call, however many have come.
    """

    def __init__(self, error: BaseException | None = None) -> None:
        self.rings = 0
        self.error = error or Alarm()

    def __call__(self, *_: object) -> None:
        self.rings += 1
        if self.rings == 2:
            raise self.error


@contextmanager
def alarm(handler: Callable[..., object], every: float = 0.05) -> Iterator[None]:
    """Call the handler in the main thread now and again; the interval is in seconds."""
    callbacks, gc.callbacks[:] = gc.callbacks[:], []  # what a handler raises in Hypothesis's would be lost
    before = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, every, every)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        gc.callbacks[:] = callbacks
