"""Corpora on clusters: the parts of a run as tasks of Ray or Spark, and a callable for dataframes.

bpetite brings the work, never the scheduler: `encode_corpus` and `count_pretokens` make calls by any
``map(function, items)``, which the modules `ray` and `spark` have. `EncodeBatch` is what dataframes map. No engine is
imported before it is asked for.
"""
from .arrow import EncodeBatch
from .counting import count_pretokens
from .encoding import encode_corpus

__all__ = ["EncodeBatch", "count_pretokens", "encode_corpus"]
