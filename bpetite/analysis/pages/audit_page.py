"""An audit as HTML: headline figures, findings, tables and plots."""
from __future__ import annotations

from collections.abc import Iterator

from ..auditing import AuditReport
from ..characters import COMMON, show
from ..provenance import counted
from ..token_classes import TOKEN_CLASSES
from ..usage import Usage
from . import plots
from .blocks import Section, cell, code, figure, head, report_element, report_page, table
from .headlines import audit_headline
from .report_text import describe

__all__ = ["audit_element", "audit_page"]

#: Bars of the plot by script.
SCRIPTS = 14

#: Examples shown of a finding.
EXAMPLES = 8


def audit_page(report: AuditReport) -> str:
    """The page of an audit. What tokens hold is escaped; the page has no script and needs no network."""
    return report_page(f"Audit of {report.name}", _head(report), _sections(report))


def audit_element(report: AuditReport) -> str:
    """The same as one element with its own styles, for a notebook."""
    return report_element(_head(report), _sections(report))


def _head(report: AuditReport) -> str:
    verdict = counted(len(report.faults), "fault")
    return head(f"Audit of {report.name}", verdict, not report.faults, audit_headline(report), report.provenance)


def _sections(report: AuditReport) -> Iterator[Section]:
    yield "What was found", _findings(report)
    if report.usage is not None:
        yield from _usage_sections(report, report.usage)
    yield "Its tokens", _tokens(report)
    settings = ([cell(key.replace("_", " ")), code(describe(value))] for key, value in report.settings.items())
    yield "What it is", table("Settings", [], settings, named=True)


def _findings(report: AuditReport) -> str:
    rows = []
    for finding in report.findings:
        mark = f'<span class="{"fault" if finding.severity == "fault" else "fine"}">{finding.severity}</span>'
        examples = "<br>".join(code(describe(example)) for example in finding.examples[:EXAMPLES])
        more = f"<br>and {finding.count - EXAMPLES:,} more" if finding.count > EXAMPLES else ""
        rows.append([f"{finding.count:,}", mark, f"{cell(finding.message)}<br><small>{examples}{more}</small>"])
    return table("Findings", ["count", "severity", "finding"], rows, numbers=1) or "<p>Nothing.</p>"


def _tokens(report: AuditReport) -> str:
    scripts = ([f"{count:,}", _script(script)] for script, count in list(report.scripts.items())[:SCRIPTS])
    classes = ([f"{len(ids):,}", cell(name), cell(TOKEN_CLASSES[name])] for name, ids in report.classes.items())
    longest = ([str(one), str(len(report.tokens[one])), code(show(report.tokens[one]))] for one in report.longest)
    return "\n".join([
        '<div class="plots"><div>',
        figure(plots.columns(report.lengths, x="bytes", y="tokens"), "Tokens by length in bytes"),
        table("Tokens by script", ["tokens", "script"], scripts, numbers=1),
        "</div>",
        table("Tokens by kind", ["tokens", "kind", "what belongs to it"], classes, numbers=1),
        "</div>",
        table("The longest tokens", ["id", "bytes", "the longest tokens"], longest, numbers=2),
    ])  # fmt: skip


def _script(name: str) -> str:
    return cell(name.replace("_", " "))


def _usage_sections(report: AuditReport, usage: Usage) -> Iterator[Section]:
    total = usage.total
    figures = [
        ["documents", f"{usage.documents:,}"],
        ["bytes", f"{total.bytes:,}"],
        ["tokens", f"{total.tokens:,}"],
        ["bytes per token", f"{total.bytes_per_token:.3f}"],
        ["tokens per character", f"{total.tokens_per_character:.3f}"],
        ["tokens per word", f"{total.tokens_per_word:.3f}"],
        ["words that are one token", f"{100 * total.whole_word_share:.1f} %"],
        ["Renyi efficiency (order 2.5)", f"{usage.renyi_efficiency:.4f}"],
        ["tokens never used", f"{len(usage.never_used):,} of {int(usage.ordinary.sum()):,}"],
    ]
    scripts = usage.by_size[:SCRIPTS]
    named = [(script.replace("_", " "), use) for script, use in scripts if script != COMMON]
    drawn = [
        (plots.bars([(script, use.bytes_per_token) for script, use in named], x="bytes per token"),
         "Compression by script, most text first"),
        (plots.bars([(script, use.tokens_per_character) for script, use in named], x="tokens per character"),
         "Tokens per character by script"),
        (plots.zipf(usage.counts.tolist()), "How often tokens occur, by rank (Zipf)"),
        (plots.columns(dict(enumerate(usage.word_tokens, 1)), x="tokens per word", y="words", most=10),
         "Words by number of tokens"),
    ]  # fmt: skip
    by_script = (
        [f"{use.bytes:,}", f"{use.tokens:,}", f"{use.bytes_per_token:.2f}", f"{use.tokens_per_character:.2f}",
         f"{use.tokens_per_word:.2f}", _script(script)]
        for script, use in scripts
    )  # fmt: skip
    heads = ["bytes", "tokens", "bytes per token", "tokens per character", "tokens per word", "script"]
    yield "What it makes of the texts", "\n".join([
        table("Figures of the texts", [], figures, named=True),
        f'<div class="plots">{"".join(figure(*one) for one in drawn)}</div>',
        table("Figures by script", heads, by_script, numbers=5),
    ])  # fmt: skip
    most_used = ([f"{count:,}", str(one), code(show(report.tokens[one]))] for one, count in usage.most_used(20))
    yield "The most used tokens", table("The most used tokens", ["count", "id", "token"], most_used, numbers=2)
    costly = ([f"{count:,}", str(tokens), cell(word)] for word, count, tokens in usage.costly_words[:20])
    heads = ["count", "tokens each", "word"]
    yield "Words that take most tokens", table("Words that take most tokens", heads, costly, numbers=2)
