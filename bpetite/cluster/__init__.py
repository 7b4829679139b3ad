"""Corpora on the engines that people run already: Ray, Spark, datasets.

bpetite brings the work, never the scheduler. `run` splits a corpus into shard tasks and joins what they wrote, knowing
nothing of any engine; `ray`, `spark` and `datasets` hand the work to one, and are imported only when asked for.
"""
from .arrow import EncodeBatch
from .parcel import Parcel

__all__ = ["EncodeBatch", "Parcel"]
