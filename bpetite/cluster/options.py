"""Signatures of the functions that Ray and Spark share; `encoding`, `counting` and `arrow` document them."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, TypedDict

from ..corpus.run.options import EncodeOptions, EotPosition, ReadingOptions, SpecialPolicy
from ..corpus.run.part import Progress
from ..patterns import Pattern
from ..training.options import LearningOptions

__all__ = ["BatchOptions", "ClusterCountOptions", "ClusterEncodeOptions", "ClusterTrainOptions"]


class BatchOptions(TypedDict, total=False):
    """How the texts of a column are encoded. Keys: those arguments of `bpetite.cluster.arrow.EncodeBatch`."""

    special: SpecialPolicy
    eot: EotPosition
    on_error: Literal["fail", "null", "replace"]
    large: bool


class ClusterEncodeOptions(EncodeOptions, total=False):
    """Keys: the options of `bpetite.cluster.encoding.encode_corpus`."""

    task_bytes: int
    threads: int
    join_tasks: bool
    progress: Progress | None
    log: Callable[[str], None] | None


class _CountingTasks(ReadingOptions, total=False):
    task_bytes: int
    threads: int
    progress: Callable[[int], object] | None
    log: Callable[[str], None] | None


class ClusterCountOptions(_CountingTasks, total=False):
    """Keys: the options of `bpetite.cluster.counting.count_corpus`."""

    pattern: Pattern
    special_tokens: Sequence[str]
    normalization: str | None
    unicode: str | None


class ClusterTrainOptions(_CountingTasks, LearningOptions, total=False):
    """Keys: those of `ClusterCountOptions` and of `LearningOptions`."""
