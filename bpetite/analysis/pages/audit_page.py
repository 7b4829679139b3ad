"""The audit of a tokenizer, drawn: headline figures, findings, tables and plots."""
from __future__ import annotations

from collections.abc import Iterator

from ...errors import counted
from ..audit import TOKEN_CLASSES
from ..characters import COMMON, token_repr
from ..results import AuditReport, Finding, Form, Usage
from .plots import bars
from .render import Block, Code, Contents, Fault, Fine, Raw, Section, Table, describe, draw, plots

__all__ = ["audit_page"]

#: Scripts that tables and plots show, and examples of a finding.
SCRIPTS, EXAMPLES = 14, 8

#: Lengths of tokens that have a bar of their own.
LENGTHS = 12


def audit_page(report: AuditReport, form: Form) -> str:
    """Draw an audit. The page has no script and needs no network."""
    verdict = counted(len(report.faults), "fault")
    mark = Fault(verdict) if report.faults else Fine(verdict)
    return draw(Contents(f"Audit of {report.name}", mark, _headline(report), report.files, _sections(report)), form)


AuditReport._drawn = audit_page


def _headline(report: AuditReport) -> list[tuple[str, str]]:
    figures = [
        (f"{len(report.tokens):,}", "tokens"),
        (f"{len(report.unreachable):,}", "tokens that no text can produce"),
    ]
    usage = report.usage
    if usage is None:
        return figures
    total = usage.total
    return [
        (f"{total.bytes_per_token:.3f}", "bytes per token"),
        (f"{total.tokens_per_word:.3f}", "tokens per word"),
        (f"{100 * total.whole_word_share:.1f} %", "of words are one token"),
        *figures,
        (f"{100 * (1 - usage.vocabulary_used):.1f} %", "of tokens never used"),
        (f"{usage.renyi_efficiency:.3f}", "Renyi efficiency"),
        (f"{usage.documents:,}", "document" if usage.documents == 1 else "documents"),
        (f"{total.bytes:,}", "bytes of text"),
        (f"{total.tokens:,}", "tokens of text"),
    ]


def _sections(report: AuditReport) -> Iterator[Section]:
    rows = [_finding(one) for one in report.findings]
    findings: Block = Table("Findings", ["count", "severity", "finding"], rows, numbers=1, few=len(rows))
    yield "Findings", [findings if rows else Raw("<p>Nothing.</p>", "Findings: nothing")]
    if report.usage is not None:
        yield from _usage_sections(report, report.usage)
    yield "Tokens", _tokens(report)
    settings = [[key.replace("_", " "), describe(value)] for key, value in report.settings.items()]
    settings = [[key, Code(value)] for key, value in settings]
    yield "Settings", [Table("Settings", [], settings, named=True, few=len(settings))]


def _finding(finding: Finding) -> list[str | list[str]]:
    lines = [f"{finding.message} [{finding.code}]"]
    lines += [Code(describe(example)) for example in finding.examples[:EXAMPLES]]
    if finding.count > EXAMPLES:
        lines.append(f"and {finding.count - EXAMPLES:,} more")
    mark = Fault(finding.severity) if finding.severity == "fault" else Fine(finding.severity)
    return [f"{finding.count:,}", mark, lines]


def _tokens(report: AuditReport) -> list[Block]:
    scripts = [[f"{count:,}", _script(script)] for script, count in list(report.scripts.items())[:SCRIPTS]]
    classes = [[f"{len(ids):,}", name, TOKEN_CLASSES[name]] for name, ids in report.classes.items()]
    longest = [
        [str(one), str(len(token)), Code(token_repr(token))] for one, token in report.longest.items()
    ]
    lengths = [(str(length), [report.lengths.get(length, 0)]) for length in range(1, LENGTHS + 1)]
    more = sum(count for length, count in report.lengths.items() if length > LENGTHS)
    drawn = bars([*lengths, (f"{LENGTHS + 1}+", [more])], x="tokens", digits=0)
    return [
        Raw('<div class="plots"><div>'),
        plots([(drawn, "Tokens by length in bytes")]),
        Table("Tokens by script", ["tokens", "script"], scripts, numbers=1),
        Raw("</div>"),
        Table("Tokens by kind", ["tokens", "kind", "members"], classes, numbers=1),
        Raw("</div>"),
        Table("The longest tokens", ["id", "bytes", "the longest tokens"], longest, numbers=2, few=8),
    ]


def _script(name: str) -> str:
    return name.replace("_", " ")


def _usage_sections(report: AuditReport, usage: Usage) -> Iterator[Section]:
    scripts = list(usage.scripts.items())[:SCRIPTS]
    named = [(_script(script), use) for script, use in scripts if script != COMMON]
    ordered = sorted(usage.counts.tolist(), reverse=True)
    first = [10**power for power in range(1, 6) if 10**power < len(ordered)]
    shares = [(f"{most:,}", [100 * sum(ordered[:most]) / max(sum(ordered), 1)]) for most in first]
    numbers = [*map(str, range(1, 10)), "10+"]
    words = [(number, [count]) for number, count in zip(numbers, usage.word_tokens, strict=True)]
    drawn = [
        (bars([(script, [use.bytes_per_token]) for script, use in named], x="bytes per token"),
         "Compression by script, most text first"),
        (bars([(script, [use.tokens_per_character]) for script, use in named], x="tokens per character"),
         "Tokens per character by script"),
        (bars(shares, x="% of the tokens of text", digits=1), "Text that the most used tokens make up"),
        (bars(words, x="words", digits=0), "Words by number of tokens"),
    ]  # fmt: skip
    by_script = [
        [_script(script), f"{use.bytes:,}", f"{use.tokens:,}", f"{use.bytes_per_token:.2f}",
         f"{use.tokens_per_character:.2f}", f"{use.tokens_per_word:.2f}"]
        for script, use in scripts
    ]  # fmt: skip
    heads = ["script", "bytes", "tokens", "bytes per token", "tokens per character", "tokens per word"]
    yield "Texts", [plots(drawn), Table("Figures by script", heads, by_script, numbers=5, named=True)]
    most_used = [[f"{count:,}", str(one), Code(token_repr(report.tokens[one]))] for one, count in usage.most_used(20)]
    yield "The most used tokens", [Table("The most used tokens", ["count", "id", "token"], most_used, 2, few=10)]
    costly = [[f"{count:,}", str(tokens), word] for word, count, tokens in usage.costly_words[:20]]
    heads = ["count", "tokens each", "word"]
    yield "Words that take most tokens", [Table("Words that take most tokens", heads, costly, 2, few=10)]
