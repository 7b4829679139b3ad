"""What a corpus run asks of an engine, and how failures come back from it."""
from __future__ import annotations

import pickle
import traceback
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Protocol

from .. import __version__
from .parcel import Parcel

__all__ = ["Call", "Engine", "Outcome", "Report", "WorkerError", "run_all"]

#: Sends a picklable value from a job to the driver, now or never: it may be lost, and of several the last one counts.
Report = Callable[[Any], None]


@dataclass(frozen=True)
class Outcome:
    """What became of a job: its result, or the error that it raised."""

    result: Any = None
    error: Exception | None = None
    trace: str = ""


class WorkerError(Exception):
    """Where on a worker an error was raised: the cause of the one that the driver raises."""


@dataclass(frozen=True)
class Call:
    """``function(content of the parcel, job, report)``, with the errors of the work itself as values.

    A job that raises is not worth doing again, and an engine that retries failures would; what it should retry is a
    worker that is gone, and then there is no outcome at all.
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
    """The error if it survives being pickled, else one that says the same."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


class Engine(Protocol):
    """Something that runs jobs on workers."""

    def run(
        self,
        call: Call,
        shared: Parcel[Any],
        jobs: Sequence[Any],
        wanted: Callable[[int], bool],
        on_report: Callable[[int, Any], object] | None,
    ) -> Generator[tuple[int, Outcome], None, None]:
        """Call ``call(shared, job, report)`` for each job on some worker, again where a worker was lost.

        Jobs are begun in order; those that are not ``wanted`` when their turn comes are left out.

        Args:
            call: Picklable.
            shared: To be sent to each node once.
            jobs: Small picklable values.
            wanted: Number of a job -> whether its result matters still.
            on_report: Takes (number of a job, value that it reported).

        Yields:
            (number of a job, outcome), in any order.
        """
        ...


def run_all(
    engine: Engine,
    function: Callable[[Any, Any, Report], Any],
    shared: Parcel[Any],
    jobs: Sequence[Any],
    *,
    on_result: Callable[[int, Any], object] | None = None,
    on_report: Callable[[int, Any], object] | None = None,
) -> list[Any]:
    """The results of all jobs, in order.

    Of several jobs that fail the first one in order is what is raised, as if they had been done one after another:
    what comes before it is still done.

    Args:
        function: A module's function of (content of the parcel, job, report).
        on_result: Takes (number of a job, its result) as soon as it is there.
    """
    results: list[Any] = [None] * len(jobs)
    missing = set(range(len(jobs)))
    first_failed = len(jobs)
    failed = Outcome()
    outcomes = engine.run(Call(function), shared, jobs, lambda number: number < first_failed, on_report)
    with closing(outcomes):
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
        raise RuntimeError(f"the engine gave no result for {len(missing)} of {len(jobs)} jobs, first {min(missing)}")
    return results
