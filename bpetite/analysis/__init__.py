"""Analysing tokenizers: audits, differences, comparisons on texts, and pages that show tokens.

>>> from bpetite import Tokenizer
>>> from bpetite.analysis import audit
>>> audit(Tokenizer.train("ab ab ab", 258)).faults
[]
"""
from .agreement import Disagreement, disagreements
from .audit import audit
from .compare import compare
from .diff import diff
from .explain import explain
from .pages import audit_page, compare_page, diff_page, explain_page, view_page  # noqa: F401 - they register with pages.render
from .reach import Reach, reach
from .results import (
    AuditReport,
    Comparison,
    Difference,
    DiffReport,
    Explanation,
    Figures,
    Finding,
    ScriptUse,
    TokenView,
    Unreachable,
    Usage,
)
from .usage import measure
from .view import view

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
