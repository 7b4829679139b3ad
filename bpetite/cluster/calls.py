"""Calls on workers: sent once, with their errors as values."""
from __future__ import annotations

import pickle
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

#: (result, error, traceback of the error)
Outcome: TypeAlias = tuple[Any, Exception | None, str]


class WorkerError(Exception):
    """The traceback of an error on a worker: the cause of the error that the driver raises."""


@dataclass(frozen=True)
class Call:
    """A picklable function that returns errors as values: an executor retries lost workers, but no errors of the work,
    and the driver gets the error itself."""

    function: Callable[[Any], Any]

    def __call__(self, item: Any) -> Outcome:
        try:
            return self.function(item), None, ""
        except Exception as error:
            trace = traceback.format_exc()
            try:
                pickle.loads(pickle.dumps(error))
            except Exception:
                return None, RuntimeError(f"{type(error).__name__}: {error}"), trace
            return None, error, trace


def results(outcomes: Iterable[Outcome]) -> Iterator[Any]:
    """The results of calls; the first error is raised in its place."""
    for result, error, trace in outcomes:
        if error is not None:
            raise error from WorkerError(trace)
        yield result
