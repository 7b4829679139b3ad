"""Ray: ``map(function, items)`` by Ray tasks. The object store sends the tokenizer to each node once."""
from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from ..errors import importing
from .calls import Call, Outcome, results
from .encoding import Map

__all__ = ["ray_map"]


@contextmanager
def ray_map(
    address: str | None = None, *, cpus: float = 1, resources: Mapping[str, Any] | None = None, **options: Any
) -> Iterator[Map]:
    """``map(function, items)`` by Ray tasks.

    Connects to Ray if the process is not connected already, and then disconnects at the end.

    Args:
        address: Of a cluster: "auto", "host:port", "ray://..."; None takes RAY_ADDRESS, or a cluster that runs on this
            machine, or else starts one here.
        cpus: CPUs of a task, as many as its ``threads``.
        resources: Other resources of a task, as keyword arguments of ``ray.remote``: ``{"memory": 2 << 30}``.
        options: For ``ray.init``.

    Raises:
        MissingExtraError: Ray is not installed.
        ConnectionError: There is no cluster at the address.
    """
    with importing("bpetite.cluster.ray", "ray", "ray"):
        import ray
    ours = not ray.is_initialized()
    try:
        if ours:
            os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is sent anywhere unless the user says so
            ray.init(address=address, **{"logging_level": "warning", "log_to_driver": False, **options})
        yield partial(_map, {"num_cpus": cpus, "max_retries": 10, **(resources or {})})
    finally:
        if ours:  # also after an error of ray.init, which may have started processes
            ray.shutdown()


def _map(settings: dict[str, Any], function: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[Any]:
    import ray

    call = ray.put(Call(function))
    task: Any = ray.remote(**settings)(lambda call, item: call(item))
    left = [task.remote(call, item) for item in items][::-1]

    def outcomes() -> Iterator[Outcome]:
        while left:
            outcome: Outcome = ray.get(left[-1])
            left.pop()
            yield outcome

    try:
        yield from results(outcomes())
    finally:
        for reference in left:
            ray.cancel(reference, force=True)
        if left:  # no task may write once the call has ended; after some seconds the cluster counts as lost
            ray.wait(left, num_returns=len(left), timeout=30, fetch_local=False)
