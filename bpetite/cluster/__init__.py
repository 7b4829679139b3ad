"""Corpora on clusters: the parts of a run as tasks of Ray or Spark, and callables for dataframes.

bpetite brings the work, never the scheduler: `encoding` and `counting` make calls for any ``map(function, items)``;
`ray` and `spark` have one each. `arrow` and `datasets` have callables for dataframes. Each is imported only when it is
asked for.
"""
from .arrow import EncodeBatch

__all__ = ["EncodeBatch"]
