"""Analysing tokenizers: audits, comparisons on texts, explanations, and pages that show tokens.

>>> from bpetite import Tokenizer
>>> from bpetite.analysis import audit
>>> audit(Tokenizer.train("ab ab ab", 258)).faults
[]
"""
from .align import align
from .audit import audit
from .audit_report import AuditReport, Finding
from .compare import compare
from .comparison import Comparison, Differences, Figures, Place
from .explain import Explanation, explain
from .reach import Reach, Unreachable, reach
from .usage import TextCounts, Usage, measure
from .view import TokenView, view

__all__ = [
    # a tokenizer and its mistakes
    "AuditReport",
    "Finding",
    "Reach",
    "Unreachable",
    "audit",
    "reach",
    # measures of texts
    "TextCounts",
    "Usage",
    "measure",
    # several tokenizers: what differs, and their figures on the same texts
    "Comparison",
    "Differences",
    "Figures",
    "Place",
    "compare",
    # the tokens of two tokenizers side by side
    "align",
    # the way from a text to its ids
    "Explanation",
    "explain",
    # a text in tokens
    "TokenView",
    "view",
]
