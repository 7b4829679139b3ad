"""Learning from files with bars and messages, for the commands that do."""
from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ..errors import TrainingWarning
from ..tokenizer import Tokenizer
from ..training.train import Repeated
from .reports import progress_bar, say

__all__ = ["learn", "warnings_said"]


@contextmanager
def warnings_said() -> Iterator[None]:
    """Warnings of training are messages for people."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", TrainingWarning)
        warnings.showwarning = lambda message, *_, **__: say(str(message))
        yield


class _Lines(logging.Handler):
    """Log records as messages for people."""

    def emit(self, record: logging.LogRecord) -> None:
        say(record.getMessage())


def learn(texts: Callable[[], Iterator[Any]], train: Callable[..., Tokenizer], *, repeated: bool = False) -> Tokenizer:
    """Count with a bar of the bytes read, then merge with a bar of the merges; log messages go to standard error.

    Args:
        texts: Reads the files, with that bar.
        train: Called with the documents and ``progress``.
        repeated: It reads the documents more than once.
    """
    log = logging.getLogger("bpetite.training.train")
    lines = _Lines()
    log.addHandler(lines)
    log.setLevel(logging.INFO)
    try:
        with progress_bar(unit=" merges", desc="merging", leave=False) as merging:

            def move(stage: str, done: int, total: int | None) -> None:
                if stage == "merge":
                    merging.total = total
                    merging.update(done - merging.n)

            return train(Repeated(texts) if repeated else texts(), progress=move)
    finally:
        log.removeHandler(lines)
