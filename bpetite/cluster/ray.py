"""Ray: corpora encoded and pre-tokens counted by Ray tasks.

Tasks write their files themselves; the driver moves no tokens. What all of them need, the tokenizer above all, is put
into the object store once, which sends it to a node once, and is unpacked once a worker process.
"""
from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from ..corpus.api import SourcesLike
from ..errors import MissingExtraError
from ..tokenizer import Tokenizer
from ..training.counts import PretokenCounts
from . import counting, encoding
from .executor import Call, Outcome
from .parcel import Parcel

__all__ = ["RayExecutor", "count_pretokens", "encode_corpus", "train"]

#: Times that a task is begun again because its worker or node was lost.
RETRIES = 10

#: Seconds between two looks at what tasks report.
LOOK = 0.5


class RayExecutor:
    """Runs jobs as Ray tasks; use it as a context manager.

    Connects to Ray unless the process is connected already, and disconnects only if it did.

    Args:
        address: Of a cluster: "auto", "host:port", "ray://..."; None takes RAY_ADDRESS or a cluster that runs on this
            machine, or else starts one here.
        cpus: CPUs of a task.
        resources: What else a task asks for, as ``ray.remote`` takes it: ``{"memory": 2 << 30}``.
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
        self.address, self.cpus, self.resources, self.options = address, cpus, dict(resources or {}), options
        self._ours = False
        self._entered = 0
        self._box: Any = None
        self._runs = 0

    def __enter__(self) -> RayExecutor:
        ray = _ray()
        self._entered += 1
        if not ray.is_initialized():
            os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is sent anywhere unless the user says so
            options = {"logging_level": "warning", "log_to_driver": False, **self.options}
            ray.init(address=self.address, **options)
            self._ours = True
        if self._box is None:
            self._box = ray.remote(num_cpus=0)(_Mailbox).remote()
        return self

    def __exit__(self, *exc: object) -> None:
        self._entered -= 1
        if self._entered:
            return
        _ray().kill(self._box)
        self._box = None
        if self._ours:
            self._ours = False
            _ray().shutdown()

    def run(
        self,
        call: Call,
        shared: Parcel[Any],
        jobs: Sequence[Any],
        wanted: Callable[[int], bool],
        on_report: Callable[[int, Any], object] | None,
    ) -> Generator[tuple[int, Outcome], None, None]:
        """See :class:`bpetite.cluster.executor.Executor`."""
        ray = _ray()
        if not self._entered:
            raise RuntimeError("a RayExecutor runs inside a with statement")
        options = {"num_cpus": self.cpus, "max_retries": RETRIES, **self.resources}
        task = ray.remote(**options)(_work)
        self._runs += 1
        call_ref, shared_ref = ray.put(call), ray.put(shared)
        letters = _Letters(None if on_report is None else self._box, self._runs)
        begun: dict[Any, int] = {}
        number = 0
        try:
            while begun or number < len(jobs):
                # a queue at every CPU, so that none waits for the driver, and no more than the driver can hold
                width = 2 * max(1, int(ray.cluster_resources().get("CPU", 1) / max(self.cpus, 0.01)))
                while number < len(jobs) and len(begun) < width:
                    if wanted(number):
                        begun[task.remote(call_ref, shared_ref, jobs[number], number, letters.address)] = number
                    number += 1
                if begun:
                    ready, _ = ray.wait([*begun], num_returns=1, timeout=LOOK)
                    for reference in ready:
                        yield begun.pop(reference), ray.get(reference)
                for reporter, value in letters.take():
                    on_report(reporter, value)  # type: ignore[misc]
                for reference, late in [*begun.items()]:
                    if not wanted(late):
                        ray.cancel(reference, force=True)
                        del begun[reference]
        finally:
            for reference in begun:
                ray.cancel(reference, force=True)


def _work(call: Call, shared: Parcel[Any], job: Any, number: int, address: tuple[Any, int] | None) -> Outcome:
    """The Ray task."""

    def report(value: Any) -> None:
        if address is not None:
            box, run = address
            box.put.remote(run, number, value)

    return call(shared, job, report)


class _Mailbox:
    """An actor that keeps what tasks report until the driver asks."""

    def __init__(self) -> None:
        self._letters: list[tuple[int, int, Any]] = []

    def put(self, run: int, number: int, value: Any) -> None:
        self._letters.append((run, number, value))

    def take(self, run: int) -> list[tuple[int, Any]]:
        letters, self._letters = self._letters, []
        return [letter[1:] for letter in letters if letter[0] == run]


class _Letters:
    """The driver's side of the mailbox, which never waits: nothing depends on what is in there."""

    def __init__(self, box: Any, run: int) -> None:
        self.address = None if box is None else (box, run)
        self._asked: Any = None
        self._when = 0.0

    def take(self) -> list[tuple[int, Any]]:
        """(number of a job, value) of what has come in."""
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
            letters: list[tuple[int, Any]] = ray.get(answer)
        except ray.exceptions.RayError:
            return []
        return letters


def _ray() -> Any:
    try:
        import ray
    except ImportError:
        raise MissingExtraError("bpetite.cluster.ray", "ray", "ray") from None
    return ray


@contextmanager
def _executor(executor: RayExecutor | None, address: str | None, cpus: float) -> Iterator[RayExecutor]:
    with executor or RayExecutor(address, cpus=cpus) as entered:
        yield entered


def encode_corpus(
    sources: SourcesLike,
    sink: str | os.PathLike[str],
    tokenizer: Any,
    *,
    address: str | None = None,
    executor: RayExecutor | None = None,
    threads: int = 1,
    **options: Any,
) -> dict[str, Any]:
    """Turn a corpus into token files on a Ray cluster, byte for byte as one process would.

    Killed at any moment and called again with the same arguments it goes on.

    Args:
        sources, sink, tokenizer, options: As for :func:`bpetite.cluster.encoding.encode_corpus`; sources and sink are
            at the same paths on every node.
        address: Of the cluster, see :class:`RayExecutor`.
        executor: An engine with settings of its own, instead of ``address``.
        threads: Threads, and CPUs, of a task.

    Returns:
        The summary that :func:`bpetite.corpus.encode_corpus` gives.
    """
    with _executor(executor, address, threads) as running:
        return encoding.encode_corpus(running, sources, sink, tokenizer, threads=threads, **options)


def count_pretokens(
    sources: SourcesLike, *, address: str | None = None, executor: RayExecutor | None = None, **options: Any
) -> PretokenCounts:
    """Count the pre-tokens of a corpus on a Ray cluster; see :func:`bpetite.cluster.counting.count_corpus`."""
    with _executor(executor, address, options.get("threads", 1)) as running:
        return counting.count_corpus(running, sources, **options)


def train(
    sources: SourcesLike,
    vocab_size: int,
    *,
    address: str | None = None,
    executor: RayExecutor | None = None,
    **options: Any,
) -> Tokenizer:
    """Learn a tokenizer from a corpus counted on a Ray cluster; see :func:`bpetite.cluster.counting.train`."""
    with _executor(executor, address, options.get("threads", 1)) as running:
        return counting.train(running, sources, vocab_size, **options)
