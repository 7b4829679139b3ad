"""The way from a text to its ids, drawn: pre-tokens, and the merges of each."""
from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from ...errors import counted
from ..characters import token_repr
from ..results import Explanation, Form, Pretoken
from .render import Code, Contents, Fine, Section, Table, draw

__all__ = ["explain_page"]


def explain_page(report: Explanation, form: Form) -> str:
    """Draw an explanation. The page has no script and needs no network."""
    verdict = Fine(counted(len(report.ids), "token"))
    return draw(Contents(f"The ids of {report.text!r}", verdict, [], (), _sections(report)), form)


Explanation._drawn = explain_page


def _sections(report: Explanation) -> Iterator[Section]:
    if report.verdict:
        missing = [[Code(token_repr(left)), Code(token_repr(right))] for left, right in report.missing]
        yield "The expected token", [Table("The expected token", [], [[report.verdict]])]
        yield "Merges that do not exist", [Table("Merges that do not exist", ["left", "right"], missing)]
    if report.spelled != report.text:
        yield "Normalization", [Table("Normalization", [], [["normalized", Code(repr(report.spelled))]])]
    rules = {"special": "special token", "whole": "taken whole", "merges": "merges"}
    rows = [[Code(token_repr(one.data)), rules[one.rule], _tokens(one)] for one in report.pretokens]
    yield "Pre-tokens", [Table("Pre-tokens", ["pre-token", "rule", "tokens"], rows, few=100)]
    merged = {one.data: one for one in report.pretokens if one.rule == "merges" and len(one.data) > 1}
    yield from map(_merges, merged.values())


def _merges(one: Pretoken) -> Section:
    steps = [(f"{step.rank:,}", step.left, step.right) for step in one.merges]
    steps += [("none", left, right) for left, right in pairwise(one.tokens)]
    rows = [[rank, Code(token_repr(left)), Code(token_repr(right))] for rank, left, right in steps]
    title = f"Merges of {token_repr(one.data)}"
    return title, [Table(title, ["rank", "left", "right"], rows, few=100)]


def _tokens(one: Pretoken) -> Code:
    pairs = zip(one.ids, one.tokens, strict=True)
    return Code("  ".join(f"{token_id} {token_repr(token)}" for token_id, token in pairs))
