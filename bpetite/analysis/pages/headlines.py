"""The figures that a report begins with, the same on its page and in its text."""
from __future__ import annotations

from ..auditing import AuditReport
from ..comparing import DiffReport

__all__ = ["audit_headline", "diff_headline"]


def audit_headline(report: AuditReport) -> list[tuple[str, str]]:
    """(figure, what it counts) of an audit."""
    figures = [
        (f"{len(report.tokens):,}", "tokens"),
        (f"{len(report.unreachable):,}", "tokens that no text can produce"),
    ]
    usage = report.usage
    if usage is None:
        return figures
    total, ordinary, unused = usage.total, int(usage.ordinary.sum()), len(usage.never_used)
    return [
        (f"{total.bytes_per_token:.3f}", "bytes per token"),
        (f"{total.tokens_per_word:.3f}", "tokens per word"),
        (f"{100 * total.whole_word_share:.1f} %", "of words are one token"),
        *figures,
        (f"{100 * unused / max(ordinary, 1):.1f} %", "of tokens never used"),
        (f"{usage.documents:,}", "document" if usage.documents == 1 else "documents"),
        (f"{total.bytes:,}", "bytes of text"),
    ]


def diff_headline(report: DiffReport) -> list[tuple[str, str]]:
    """(figure, what it counts) of a comparison."""
    size_a, size_b = report.sizes
    figures = [
        (f"{size_a:,}", "tokens in A"),
        (f"{size_b:,}", "tokens in B"),
        (f"{report.shared:,}", "the same in both"),
        (f"{len(report.moved):,}", "under other ids"),
        (f"{len(report.only_a):,}", "only in A"),
        (f"{len(report.only_b):,}", "only in B"),
    ]
    if report.documents is None:
        return figures
    change = 100 * (report.tokens_b / max(report.tokens_a, 1) - 1)
    return [
        (f"{report.documents_differing:,} of {report.documents:,}", "documents get other ids"),
        (f"{change:+.2f} %", "tokens of the texts in B, against A"),
        *figures,
    ]
