"""Analysing tokenizers: what is in one, what differs between two, and what they make of texts.

>>> from bpetite import Tokenizer
>>> from bpetite.analysis import audit
>>> audit(Tokenizer.train("ab ab ab", 258)).faults
[]
"""
from .auditing import AuditReport, Finding, audit
from .comparing import DiffReport, Place, diff
from .reach import Reach, Unreachable, reach
from .side_by_side import DEFINITIONS, Comparison, Figures, compare, gini
from .token_classes import TOKEN_CLASSES
from .usage import ScriptUse, Usage, measure
from .validating import Check, ValidationReport, validate
from .viewing import TokenView, view

__all__ = [
    # what is in a tokenizer, and what is wrong with it
    "TOKEN_CLASSES",
    "AuditReport",
    "Finding",
    "Reach",
    "Unreachable",
    "audit",
    "reach",
    # what it makes of texts
    "ScriptUse",
    "Usage",
    "measure",
    # what differs between two
    "DiffReport",
    "Place",
    "diff",
    # several on the same texts
    "DEFINITIONS",
    "Comparison",
    "Figures",
    "compare",
    "gini",
    # a text, to look at
    "TokenView",
    "view",
    # whether to trust it
    "Check",
    "ValidationReport",
    "validate",
]
