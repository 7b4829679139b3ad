"""Ray: corpora encoded and pre-tokens counted by Ray tasks.

Tasks write their files themselves; no tokens go through the driver. Data that all of them need, such as the tokenizer,
is put into the object store once, which sends it to each node once, and each worker process unpacks it once.
"""
from __future__ import annotations

import os
import time
from collections.abc import Generator, Mapping
from typing import TYPE_CHECKING, Any

from ..corpus.api import SourcesLike
from ..corpus.run.options import refuse_unknown
from ..errors import MissingExtraError
from ..tokenizer import Tokenizer
from ..training.counts import PretokenCounts
from . import counting, encoding
from .executor import Call, Outcome, Work
from .options import ClusterCountOptions, ClusterEncodeOptions, ClusterTrainOptions
from .parcel import Parcel

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["RayExecutor", "count_pretokens", "encode_corpus", "train"]

#: Times that a task is started again because its worker or node was lost.
RETRIES = 10

#: Seconds between two requests for the reports of tasks.
LOOK = 0.5


class RayExecutor:
    """Runs jobs as Ray tasks; use it as a context manager.

    Connects to Ray if the process is not connected already, and then disconnects at the end.

    Args:
        address: Of a cluster: "auto", "host:port", "ray://..."; None takes RAY_ADDRESS, or a cluster that runs on this
            machine, or else starts one here.
        cpus: CPUs of a task.
        resources: Other resources of a task, as keyword arguments of ``ray.remote``: ``{"memory": 2 << 30}``.
        options: For ``ray.init``.

    Raises:
        MissingExtraError: Ray is not installed.
        ConnectionError: There is no cluster at the address.
    """

    def __init__(
        self,
        address: str | None = None,
        *,
        cpus: float = 1,
        resources: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        self.address = address
        self.cpus = cpus
        self.resources: dict[str, Any] = dict(resources or {})
        self.options = options
        self._ours = False
        self._entered = 0
        self._mailbox: Any = None
        self._runs = 0

    def __enter__(self) -> RayExecutor:
        ray = _ray()
        self._entered += 1
        if not ray.is_initialized():
            os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is sent anywhere unless the user says so
            options = {"logging_level": "warning", "log_to_driver": False, **self.options}
            ray.init(address=self.address, **options)
            self._ours = True
        if self._mailbox is None:
            self._mailbox = ray.remote(num_cpus=0)(_Mailbox).remote()
        return self

    def __exit__(self, *exc: object) -> None:
        self._entered -= 1
        if self._entered:
            return
        _ray().kill(self._mailbox)
        self._mailbox = None
        if self._ours:
            self._ours = False
            _ray().shutdown()

    def run(self, work: Work) -> Generator[tuple[int, Outcome], None, None]:
        """See :class:`bpetite.cluster.executor.Executor`."""
        ray = _ray()
        if not self._entered:
            raise RuntimeError("a RayExecutor runs inside a with statement")
        options = {"num_cpus": self.cpus, "max_retries": RETRIES, **self.resources}
        task = ray.remote(**options)(_work)
        self._runs += 1
        call, shared, jobs = ray.put(work.call), ray.put(work.shared), work.jobs
        reports = _Reports(None if work.on_report is None else self._mailbox, self._runs)
        begun: dict[Any, int] = {}
        number = 0
        try:
            while begun or number < len(jobs):
                # two tasks for each CPU, so that none waits for the driver, which does not hold all tasks at once
                width = 2 * max(1, int(ray.cluster_resources().get("CPU", 1) / max(self.cpus, 0.01)))
                while number < len(jobs) and len(begun) < width:
                    if work.wanted(number):
                        begun[task.remote(call, shared, jobs[number], number, reports.address)] = number
                    number += 1
                if begun:
                    ready, _ = ray.wait([*begun], num_returns=1, timeout=LOOK)
                    for reference in ready:
                        yield begun.pop(reference), ray.get(reference)
                if work.on_report is not None:
                    for reporter, value in reports.take():
                        work.on_report(reporter, value)
                for reference, late in [*begun.items()]:
                    if not work.wanted(late):
                        ray.cancel(reference, force=True)
                        del begun[reference]
        finally:
            for reference in begun:
                ray.cancel(reference, force=True)


def _work(call: Call, shared: Parcel[Any], job: Any, number: int, address: tuple[Any, int] | None) -> Outcome:
    """The Ray task."""

    def report(value: Any) -> None:
        if address is not None:
            mailbox, run = address
            mailbox.put.remote(run, number, value)

    return call(shared, job, report)


class _Mailbox:
    """An actor that keeps the reports of tasks until the driver asks for them."""

    def __init__(self) -> None:
        self._reports: list[tuple[int, int, Any]] = []

    def put(self, run: int, number: int, value: Any) -> None:
        self._reports.append((run, number, value))

    def take(self, run: int) -> list[tuple[int, Any]]:
        reports, self._reports = self._reports, []
        return [report[1:] for report in reports if report[0] == run]


class _Reports:
    """The driver's side of the mailbox. It never waits, because no result depends on reports."""

    def __init__(self, mailbox: Any, run: int) -> None:
        self.address = None if mailbox is None else (mailbox, run)
        self._asked: Any = None
        self._when = 0.0

    def take(self) -> list[tuple[int, Any]]:
        """(number of a job, value) of the reports that have arrived."""
        if self.address is None:
            return []
        ray = _ray()
        if self._asked is None:
            if time.monotonic() - self._when >= LOOK:
                self._asked, self._when = self.address[0].take.remote(self.address[1]), time.monotonic()
            return []
        ready, _ = ray.wait([self._asked], timeout=0)
        if not ready:
            return []
        answer, self._asked = self._asked, None
        try:
            reports: list[tuple[int, Any]] = ray.get(answer)
        except ray.exceptions.RayError:
            return []
        return reports


def _ray() -> Any:
    try:
        import ray
    except ImportError:
        raise MissingExtraError("bpetite.cluster.ray", "ray", "ray") from None
    return ray


def encode_corpus(
    sources: SourcesLike,
    sink: str | os.PathLike[str],
    tokenizer: Any,
    *,
    address: str | None = None,
    executor: RayExecutor | None = None,
    **options: Unpack[ClusterEncodeOptions],
) -> dict[str, Any]:
    """Turn a corpus into token files on a Ray cluster, byte for byte as one process would.

    Args:
        sources, sink, tokenizer, options: As for :func:`bpetite.cluster.encoding.encode_corpus`; ``threads`` are also
            the CPUs of a task.
        address: Of the cluster, see :class:`RayExecutor`.
        executor: An executor with other settings, instead of ``address``.

    Returns:
        As :func:`bpetite.corpus.encode_corpus`.
    """
    refuse_unknown("encode_corpus", options, ClusterEncodeOptions)
    with executor or RayExecutor(address, cpus=options.get("threads", 1)) as running:
        return encoding.encode_corpus(running, sources, sink, tokenizer, **options)


def count_pretokens(
    sources: SourcesLike,
    *,
    work: str | os.PathLike[str],
    address: str | None = None,
    executor: RayExecutor | None = None,
    **options: Unpack[ClusterCountOptions],
) -> PretokenCounts:
    """Count the pre-tokens of a corpus on a Ray cluster; see :func:`bpetite.cluster.counting.count_corpus`."""
    refuse_unknown("count_pretokens", options, ClusterCountOptions)
    with executor or RayExecutor(address, cpus=options.get("threads", 1)) as running:
        return counting.count_corpus(running, sources, work=work, **options)


def train(
    sources: SourcesLike,
    vocab_size: int,
    *,
    work: str | os.PathLike[str],
    address: str | None = None,
    executor: RayExecutor | None = None,
    **options: Unpack[ClusterTrainOptions],
) -> Tokenizer:
    """Learn a tokenizer from a corpus counted on a Ray cluster; see :func:`bpetite.cluster.counting.train`."""
    refuse_unknown("train", options, ClusterTrainOptions)
    with executor or RayExecutor(address, cpus=options.get("threads", 1)) as running:
        return counting.train(running, sources, vocab_size, work=work, **options)
