"""Spark: ``map(function, items)`` by the tasks of a stage."""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from ..errors import importing
from .calls import Call, results
from .encoding import Map

__all__ = ["spark_map"]


def spark_map(session: Any) -> Map:
    """``map(function, items)`` by Spark, a stage of one task an item.

    Spark returns nothing from a task before its stage ends, so there is no progress, and a failure is known late. If a
    worker is lost, it starts the task again, up to ``spark.task.maxFailures`` attempts; in ``local[N]`` that is one, in
    ``local[N,4]`` four.

    Args:
        session: A classic pyspark.sql.SparkSession.

    Raises:
        MissingExtraError: pyspark is not installed.
        ValueError: It is a session of Spark Connect, which runs dataframes and nothing else.
    """
    with importing("bpetite.cluster.spark", "pyspark", "spark"):
        import pyspark  # noqa: F401 - only whether it is installed
    if ".connect." in type(session).__module__:
        raise ValueError("a session of Spark Connect runs dataframes alone: give mapInArrow a function, or run on a "
                         "classic session")
    return partial(_map, session.sparkContext)


def _map(context: Any, function: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[Any]:
    items = list(items)
    if not items:
        return iter(())
    return results(context.parallelize(items, len(items)).map(Call(function)).collect())
