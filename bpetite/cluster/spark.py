"""Spark: corpora encoded and pre-tokens counted by the tasks of Spark stages."""
from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from ..corpus.api import SourcesLike
from ..corpus.run.assembly import Map
from ..errors import MissingExtraError
from ..tokenizer import Tokenizer
from . import counting, encoding
from .calls import Call, results
from .options import ClusterEncodeOptions, ClusterTrainOptions

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["encode_corpus", "spark_map", "train"]


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
    try:
        import pyspark  # noqa: F401 - only whether it is installed
    except ImportError:
        raise MissingExtraError("bpetite.cluster.spark", "pyspark", "spark") from None
    if ".connect." in type(session).__module__:
        raise ValueError("a session of Spark Connect runs dataframes alone: map EncodeBatch with mapInArrow, or run on "
                         "a classic session")
    return partial(_map, session.sparkContext)


def _map(context: Any, function: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[Any]:
    items = list(items)
    if not items:
        return iter(())
    return results(context.parallelize(items, len(items)).map(Call(function)).collect())


def encode_corpus(
    session: Any,
    sources: SourcesLike,
    sink: str | os.PathLike[str],
    tokenizer: Any,
    **options: Unpack[ClusterEncodeOptions],
) -> dict[str, Any]:
    """Turn a corpus into token files by Spark tasks, byte for byte as one process would.

    Args:
        session: A classic pyspark.sql.SparkSession.
        sources, sink, tokenizer, options: As for :func:`bpetite.cluster.encoding.encode_corpus`.

    Returns:
        As :func:`bpetite.corpus.encode_corpus`.
    """
    return encoding.encode_corpus(spark_map(session), sources, sink, tokenizer, **options)


def train(
    session: Any,
    sources: SourcesLike,
    vocab_size: int,
    *,
    work: str | os.PathLike[str],
    **options: Unpack[ClusterTrainOptions],
) -> Tokenizer:
    """Learn a tokenizer from files counted by Spark tasks; see :func:`bpetite.cluster.counting.train`."""
    return counting.train(spark_map(session), sources, vocab_size, work=work, **options)
