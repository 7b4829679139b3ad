"""What a corpus run needs from Ray, Spark or the like, and how failures come back from workers."""
from __future__ import annotations

import pickle
import traceback
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Protocol

from .. import __version__
from .parcel import Parcel

__all__ = ["Call", "Executor", "Outcome", "Report", "Work", "WorkerError", "check_positive", "run_all"]

#: Sends a picklable value from a job to the driver. It may be lost, and of several values the last one counts.
Report = Callable[[Any], None]


@dataclass(frozen=True)
class Outcome:
    """The result of a job, or the error that it raised."""

    result: Any = None
    error: Exception | None = None
    trace: str = ""


class WorkerError(Exception):
    """The traceback of an error on a worker: the cause of the error that the driver raises."""


@dataclass(frozen=True)
class Call:
    """``function(content of the parcel, job, report)``, with the errors of the work itself as values.

    An executor that retries failures would retry a job that raises, which is of no use. It should retry jobs of workers
    that are gone, and those give no outcome at all.
    """

    function: Callable[[Any, Any, Report], Any]
    version: str = __version__

    def __call__(self, shared: Parcel[Any], job: Any, report: Report) -> Outcome:
        try:
            if self.version != __version__:
                raise RuntimeError(f"the driver runs bpetite {self.version}, this worker {__version__}: install one")
            return Outcome(self.function(shared.get(), job, report))
        except Exception as error:
            return Outcome(error=_portable(error), trace=traceback.format_exc())


def _portable(error: Exception) -> Exception:
    """The error itself if it can be pickled, else a RuntimeError with the same message."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


@dataclass(frozen=True)
class Work:
    """What an executor is given to run.

    Attributes:
        call: Picklable.
        shared: Sent to each node once.
        jobs: Small picklable values.
        wanted: Number of a job -> whether its result still matters.
        on_report: Called with (number of a job, value that it reported).
    """

    call: Call
    shared: Parcel[Any]
    jobs: Sequence[Any]
    wanted: Callable[[int], bool] = lambda number: True
    on_report: Callable[[int, Any], object] | None = None


class Executor(Protocol):
    """Runs jobs on workers."""

    def run(self, work: Work) -> Generator[tuple[int, Outcome], None, None]:
        """Call ``call(shared, job, report)`` for each job on some worker, and again if a worker was lost.

        Jobs are started in order; those that are not ``wanted`` at that time are left out.

        Yields:
            (number of a job, outcome), in any order.
        """
        ...


def check_positive(**values: int) -> None:
    """Raises ValueError for a value below 1, naming it."""
    for name, value in values.items():
        if value < 1:
            raise ValueError(f"{name} {value} is not at least 1")


def run_all(
    executor: Executor,
    function: Callable[[Any, Any, Report], Any],
    shared: Parcel[Any],
    jobs: Sequence[Any],
    *,
    on_result: Callable[[int, Any], object] | None = None,
    on_report: Callable[[int, Any], object] | None = None,
) -> list[Any]:
    """The results of all jobs, in order.

    If several jobs fail, the error of the first one in order is raised, as if they had been done one after another;
    the jobs before it are still done.

    Args:
        function: A function of a module, called with (content of the parcel, job, report).
        on_result: Called with (number of a job, its result) as soon as there is one.
        on_report: Called with (number of a job, value that it reported).
    """
    results: list[Any] = [None] * len(jobs)
    missing = set(range(len(jobs)))
    first_failed = len(jobs)
    failed = Outcome()
    work = Work(Call(function), shared, jobs, lambda number: number < first_failed, on_report)
    with closing(executor.run(work)) as outcomes:
        for number, outcome in outcomes:
            if number not in missing:
                continue
            missing.discard(number)
            if outcome.error is not None:
                if number < first_failed:
                    first_failed, failed = number, outcome
                continue
            results[number] = outcome.result
            if on_result is not None:
                on_result(number, outcome.result)
    if failed.error is not None:
        raise failed.error from WorkerError(failed.trace)
    if missing:
        raise RuntimeError(f"the executor gave no result for {len(missing)} of {len(jobs)} jobs, first {min(missing)}")
    return results
