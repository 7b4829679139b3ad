"""Corpora on clusters and in dataframes: Ray, Spark, datasets.

bpetite brings the work, never the scheduler. `encoding` and `counting` split a corpus into tasks and join their results
by any executor; `ray` and `spark` have one each. `arrow` and `datasets` have callables for dataframes. Each is imported
only when it is asked for.
"""
from .arrow import EncodeBatch
from .parcel import Parcel

__all__ = ["EncodeBatch", "Parcel"]
