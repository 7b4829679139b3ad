"""Corpora on clusters: the ranks of a run as tasks of Ray or Spark.

bpetite brings the work, never the scheduler: `encode_corpus` and `count_pretokens` make calls by any
``map(function, items)``, which the modules `ray` and `spark` have. No engine is imported before it is asked for.
"""
from .counting import count_pretokens
from .encoding import encode_corpus

__all__ = ["count_pretokens", "encode_corpus"]
