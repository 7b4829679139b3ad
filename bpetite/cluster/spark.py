"""Spark: dataframes encoded and counted by Arrow batches, corpora encoded to token files by Spark tasks.

Dataframes go through ``mapInArrow``, which classic sessions and Spark Connect both have. A tokenizer is sent inside the
function, which a stage ships to each executor once, and each Python worker unpacks it once.
"""
from __future__ import annotations

import os
import pickle
from collections.abc import Generator, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ..corpus.api import SourcesLike
from ..errors import MissingExtraError
from ..tokenizer import Tokenizer
from ..training.counting.counts import PretokenCounts
from ..training.counting.cutting import CountOptions, Cutting
from ..training.counting.texts import Progress, count_pretokens
from ..training.options import LearningOptions, chosen_options
from ..training.train import check_trainable, train_from_counts
from . import counting, encoding
from .arrow import EncodeBatch
from .executor import Call, Outcome, Work
from .options import BatchOptions, ClusterEncodeOptions, ClusterTrainOptions
from .parcel import Parcel

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["SparkExecutor", "count_column", "encode_column", "encode_corpus", "to_counts", "train", "train_column"]


def encode_column(
    frame: Any,
    tokenizer: Any,
    *,
    column: str = "text",
    output: str = "input_ids",
    keep: Sequence[str] | None = None,
    **options: Unpack[BatchOptions],
) -> Any:
    """A dataframe with a column of token ids, an array of int (of bigint where ids can pass 2^31 - 1).

    Args:
        frame: A pyspark.sql.DataFrame.
        tokenizer: A bpetite.Tokenizer.
        column, output, keep, options: As for :class:`bpetite.cluster.arrow.EncodeBatch`.

    Raises:
        ValueError: No such column, or an option that cannot be.
    """
    _pyspark()
    from pyspark.sql.types import ArrayType, IntegerType, LongType, StructField, StructType

    # Spark has no unsigned integers
    encode = EncodeBatch(tokenizer, column=column, output=output, keep=keep, dtype="int64", **options)
    element: Any = LongType()
    if encode.codec.vocab_size <= 2**31:
        encode = EncodeBatch(tokenizer, column=column, output=output, keep=keep, dtype="int32", **options)
        element = IntegerType()
    if column not in frame.columns:
        raise ValueError(f"no column {column!r} (columns: {', '.join(frame.columns)})")
    names = frame.columns if keep is None else list(keep)
    if output in names:
        raise ValueError(f"a column {output!r} exists already: give another output=, or keep= without it")
    fields = [frame.schema[name] for name in names]
    schema = StructType([*fields, StructField(output, ArrayType(element, containsNull=False))])
    return frame.mapInArrow(_Batches(encode), schema)


class _Batches:
    """Maps an iterator of batches. A class and not a closure, so that `EncodeBatch` controls how it is pickled."""

    def __init__(self, encode: EncodeBatch) -> None:
        self.encode = encode

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        return map(self.encode, batches)


def count_column(
    frame: Any,
    *,
    column: str = "text",
    **options: Unpack[CountOptions],
) -> Any:
    """The pre-tokens of a column of texts and how often each occurs: a dataframe of pretoken (binary), count (bigint).

    A null text counts as none.

    Args:
        frame: A pyspark.sql.DataFrame with a string column.
        column: Its name.
        options: pattern, special_tokens, normalization, unicode, as for `bpetite.count_pretokens`.
    """
    _pyspark()
    if column not in frame.columns:
        raise ValueError(f"no column {column!r} (columns: {', '.join(frame.columns)})")
    count_pretokens([], **options)  # finds mistakes in the options
    count = _CountBatches(Cutting.of(**options))
    parts = frame.select(column).mapInArrow(count, "pretoken binary, count bigint")
    return parts.groupBy("pretoken").sum("count").withColumnRenamed("sum(count)", "count")


class _CountBatches:
    """Counts all batches of a partition into one table, and yields it in batches."""

    ROWS = 1 << 16

    def __init__(self, cutting: Cutting) -> None:
        self.cutting = cutting

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        counts = count_pretokens(
            (text for batch in batches for text in batch.column(0).to_pylist() if text is not None),
            num_threads=1,
            **vars(self.cutting),
        )
        pretokens: list[bytes] = []
        numbers: list[int] = []

        def batch() -> Any:
            arrays = [pa.array(pretokens, pa.binary()), pa.array(numbers, pa.int64())]
            return pa.record_batch(arrays, ["pretoken", "count"])

        for pretoken, number in counts.items():
            pretokens.append(pretoken)
            numbers.append(number)
            if len(pretokens) == self.ROWS:
                yield batch()
                pretokens, numbers = [], []
        if pretokens:
            yield batch()


def to_counts(frame: Any, **options: Unpack[CountOptions]) -> PretokenCounts:
    """The counts of `count_column`, collected here a partition at a time.

    Args:
        frame: From `count_column`, or any dataframe of pretoken and count.
        options: Those that it was counted with.
    """
    rows = ((bytes(row[0]), row[1]) for row in frame.select("pretoken", "count").toLocalIterator())
    return PretokenCounts(rows, **options)


def train_column(
    frame: Any,
    vocab_size: int,
    *,
    column: str = "text",
    progress: Progress | None = None,
    **options: Unpack[LearningOptions],
) -> Tokenizer:
    """Learn a tokenizer from a column of texts, counted by Spark: the same one as `bpetite.Tokenizer.train` learns.

    Args:
        frame, column: As for `count_column`.
        vocab_size, progress, options: As for `bpetite.Tokenizer.train_from_counts`.
    """
    chosen = chosen_options(vocab_size, options, LearningOptions)
    check_trainable(chosen)
    settings: Any = vars(chosen.cutting)
    counts = to_counts(count_column(frame, column=column, **settings), **settings)
    return Tokenizer.from_vocab(train_from_counts(counts, chosen, progress=progress))


class SparkExecutor:
    """Runs jobs as the tasks of one Spark stage each.

    Spark returns nothing from a task before its stage ends, so there is no progress, and a failure is known late. If a
    worker is lost, it starts the task again, up to ``spark.task.maxFailures`` attempts; in ``local[N]`` that is one, in
    ``local[N,4]`` four.

    Args:
        session: A pyspark.sql.SparkSession, classic or Connect.
    """

    def __init__(self, session: Any) -> None:
        _pyspark()
        self.session = session

    def run(self, work: Work) -> Generator[tuple[int, Outcome], None, None]:
        """See :class:`bpetite.cluster.executor.Executor`."""
        left = [(number, job) for number, job in enumerate(work.jobs) if work.wanted(number)]
        if not left:
            return
        outcomes = _by_frame if _is_connect(self.session) else _by_rdd
        for number, outcome in outcomes(self.session, work.call, work.shared, left):  # all at the end of the stage
            yield number, pickle.loads(outcome)


#: The fewest bytes that go to a Python worker with each task. Spark writes the task and its data one after the other to
#: a socket that holds back a small write until the previous one is acknowledged (Nagle's algorithm), and the worker's
#: system acknowledges a small one 40 ms later. More than a packet of the loopback device, 64 KB, is acknowledged at
#: once.
PADDING = 96 << 10


def _by_rdd(
    session: Any, call: Call, shared: Parcel[Any], jobs: Sequence[tuple[int, Any]]
) -> Sequence[tuple[int, bytes]]:
    """The pickled outcomes of jobs, by a stage without a dataframe: Spark plans no query, workers import no pandas."""
    context = session.sparkContext
    # broadcast separately: Spark broadcasts a large function as a whole, padding included
    sent = context.broadcast(shared)
    try:
        found: list[tuple[int, bytes]] = context.parallelize(jobs, len(jobs)).mapPartitions(_Rows(call, sent)).collect()
        return found
    finally:
        sent.destroy()


def _by_frame(
    session: Any, call: Call, shared: Parcel[Any], jobs: Sequence[tuple[int, Any]]
) -> Sequence[tuple[int, bytes]]:
    """As `_by_rdd`, through a dataframe, which is all that Spark Connect has."""
    work = _Frames(call, shared, Parcel([*jobs]))
    # a partition for each job: partition i of this range has the number i
    frame = session.range(0, len(jobs), 1, len(jobs)).mapInArrow(work, "number bigint, outcome binary")
    # collect() is one stage; toLocalIterator() would run one partition after another
    return [(row["number"], bytes(row["outcome"])) for row in frame.collect()]


class _Rows:
    """The function of a stage of `_by_rdd`: (number, job) in, (number, outcome) out."""

    def __init__(self, call: Call, shared: Any) -> None:
        self.call, self.shared, self.padding = call, shared, bytes(PADDING)

    def __call__(self, jobs: Iterator[tuple[int, Any]]) -> Iterator[tuple[int, bytes]]:
        for number, job in jobs:
            yield number, pickle.dumps(self.call(self.shared.value, job, lambda value: None))


class _Frames:
    """The function of a stage of `_by_frame`: indexes of jobs in, their numbers and outcomes out."""

    def __init__(self, call: Call, shared: Parcel[Any], jobs: Parcel[list[tuple[int, Any]]]) -> None:
        self.call, self.shared, self.jobs = call, shared, jobs

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        for batch in batches:
            for index in batch.column(0).to_pylist():
                number, job = self.jobs.get()[index]
                made = pickle.dumps(self.call(self.shared, job, lambda value: None))
                yield pa.record_batch(
                    [pa.array([number], pa.int64()), pa.array([made], pa.binary())], ["number", "outcome"]
                )


def encode_corpus(
    session: Any,
    sources: SourcesLike,
    sink: str | os.PathLike[str],
    tokenizer: Any,
    **options: Unpack[ClusterEncodeOptions],
) -> dict[str, Any]:
    """Turn a corpus into token files by Spark tasks, byte for byte as one process would.

    Args:
        session: A pyspark.sql.SparkSession.
        sources, sink, tokenizer, options: As for :func:`bpetite.cluster.encoding.encode_corpus`.

    Returns:
        As :func:`bpetite.corpus.encode_corpus`.
    """
    return encoding.encode_corpus(SparkExecutor(session), sources, sink, tokenizer, **options)


def train(
    session: Any,
    sources: SourcesLike,
    vocab_size: int,
    *,
    work: str | os.PathLike[str],
    **options: Unpack[ClusterTrainOptions],
) -> Tokenizer:
    """Learn a tokenizer from files counted by Spark tasks; see :func:`bpetite.cluster.counting.train`."""
    return counting.train(SparkExecutor(session), sources, vocab_size, work=work, **options)


def _is_connect(session: Any) -> bool:
    return ".connect." in type(session).__module__


def _pyspark() -> Any:
    try:
        import pyspark
    except ImportError:
        raise MissingExtraError("bpetite.cluster.spark", "pyspark", "spark") from None
    return pyspark
