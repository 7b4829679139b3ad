"""Signatures of the functions that Ray and Spark share; `encoding` and `counting` document them."""
from __future__ import annotations

from collections.abc import Callable
from typing import TypedDict

from ..corpus.run.options import EncodeOptions, ReadingOptions
from ..corpus.run.part import Progress
from ..training.counting.cutting import CountOptions
from ..training.options import LearningOptions

__all__ = ["ClusterCountOptions", "ClusterEncodeOptions", "ClusterTrainOptions"]


class _Tasks(TypedDict, total=False):
    task_bytes: int
    threads: int
    log: Callable[[str], None] | None


class ClusterEncodeOptions(EncodeOptions, _Tasks, total=False):
    """Keys: the options of `bpetite.cluster.encoding.encode_corpus`."""

    progress: Progress | None


class _CountingTasks(ReadingOptions, _Tasks, total=False):
    progress: Callable[[int], object] | None


class ClusterCountOptions(_CountingTasks, CountOptions, total=False):
    """Keys: the options of `bpetite.cluster.counting.count_corpus`, those of reading and those of `CountOptions`."""


class ClusterTrainOptions(_CountingTasks, LearningOptions, total=False):
    """Keys: those of `ClusterCountOptions` and of `LearningOptions`."""
