"""Looking at a tokenizer: what is in it, what differs between two, and what they make of a text.

>>> from bpetite import Tokenizer
>>> from bpetite.analysis import audit
>>> audit(Tokenizer.train("ab ab ab", 258)).faults
[]
"""
from .auditing import AuditReport, Finding, audit
from .comparing import DiffReport, Place, diff
from .kinds import KINDS
from .pages.text_page import EncodingView, view
from .reach import Reach, Unreachable, reach
from .usage import ScriptUse, Usage, measure
from .validating import Check, ValidationReport, validate

__all__ = [
    # what is in a tokenizer, and what is wrong with it
    "KINDS",
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
    # a text, to look at
    "EncodingView",
    "view",
    # whether to trust it
    "Check",
    "ValidationReport",
    "validate",
]
