"""Analysing tokenizers: audits, differences, comparisons on texts, and pages that show tokens.

>>> from bpetite import Tokenizer
>>> from bpetite.analysis import audit
>>> audit(Tokenizer.train("ab ab ab", 258)).faults
[]
"""
from .agreement import Disagreement, disagreements
from .audit import AuditReport, Finding, audit
from .compare import Comparison, Figures, compare
from .diff import Difference, DiffReport, diff
from .explain import Explanation, explain
from .reach import Reach, Unreachable, reach
from .usage import ScriptUse, Usage, measure
from .view import TokenView, view

__all__ = [
    # a tokenizer and its mistakes
    "AuditReport",
    "Finding",
    "Reach",
    "Unreachable",
    "audit",
    "Disagreement",
    "disagreements",
    "reach",
    # measures of texts
    "ScriptUse",
    "Usage",
    "measure",
    # the differences between two
    "DiffReport",
    "Difference",
    "diff",
    # several on the same texts
    "Comparison",
    "Figures",
    "compare",
    # the way from a text to its ids
    "Explanation",
    "explain",
    # a text in tokens
    "TokenView",
    "view",
]
