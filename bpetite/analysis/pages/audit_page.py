"""The page of an audit: findings, figures and plots in one file of HTML."""
from __future__ import annotations

from collections.abc import Iterable
from html import escape

from ..auditing import AuditReport
from ..characters import COMMON, show
from ..characters import escape as visible
from ..token_classes import TOKEN_CLASSES
from ..usage import Usage
from . import plots
from .markup import document
from .report_text import describe

__all__ = ["audit_page"]

#: Bars of the plot by script.
SCRIPTS = 14


def audit_page(report: AuditReport, name: str) -> str:
    """The page of an audit. What tokens hold is escaped; the page has no script and needs no network.

    Args:
        report: The audit.
        name: What the tokenizer is called.
    """
    faults = len(report.faults)
    verdict = f'<span class="fault">{faults} faults</span>' if faults else '<span class="fine">no faults</span>'
    settings = ([key.replace("_", " "), _code(describe(value))] for key, value in report.settings.items())
    scripts = ([f"{count:,}", escape(script)] for script, count in list(report.scripts.items())[:SCRIPTS])
    classes = ([f"{len(ids):,}", escape(name), escape(TOKEN_CLASSES[name])] for name, ids in report.classes.items())
    longest = ([str(one), str(len(report.tokens[one])), _code(show(report.tokens[one]))] for one in report.longest)
    sections = [
        f'<header><div class="head"><h1>{escape(visible(name))}</h1> {verdict}</div></header>',
        '<main class="report">',
        "<h2>What it is</h2>",
        _table(None, settings),
        "<h2>What was found</h2>",
        _findings(report),
        "<h2>Its tokens</h2>",
        '<div class="plots">',
        "<div>",
        _figure(plots.columns(report.lengths, x="bytes", y="tokens"), "Tokens by length in bytes"),
        _table(["tokens", "script"], scripts, numbers=1),
        "</div>",
        _table(["tokens", "kind", ""], classes, numbers=1),
        "</div>",
        _table(["id", "bytes", "the longest tokens"], longest, numbers=2),
        *(_usage(report, report.usage) if report.usage is not None else ()),
        "</main>",
    ]
    return document(f"Audit of {name}", "\n".join(sections))


def _code(text: str) -> str:
    return f"<code>{escape(visible(text))}</code>"


def _table(head: list[str] | None, rows: Iterable[list[str]], numbers: int = 0) -> str:
    """A table. Its cells are HTML, its head is not; the first ``numbers`` columns are numbers."""

    def cells(tag: str, row: list[str]) -> str:
        return "".join(
            f'<{tag} class="num">{cell}</{tag}>' if at < numbers else f"<{tag}>{cell}</{tag}>"
            for at, cell in enumerate(row)
        )

    top = "" if head is None else f"<thead><tr>{cells('th', [escape(one) for one in head])}</tr></thead>"
    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    css = ' class="facts"' if head is None else ""
    return f'<div class="scroll"><table{css}>{top}<tbody>{body}</tbody></table></div>'


def _figure(drawing: str, caption: str) -> str:
    return f"<figure>{drawing}<figcaption>{escape(caption)}</figcaption></figure>" if drawing else ""


def _findings(report: AuditReport) -> str:
    if not report.findings:
        return "<p>Nothing.</p>"
    rows = []
    for finding in report.findings:
        mark = f'<span class="{"fault" if finding.severity == "fault" else "fine"}">{finding.severity}</span>'
        examples = "<br>".join(_code(describe(example)) for example in finding.examples[:8])
        more = f"<br>and {finding.count - 8:,} more" if finding.count > 8 else ""
        rows.append([f"{finding.count:,}", mark, f"{escape(finding.message)}<br><small>{examples}{more}</small>"])
    return _table(["count", "", "finding"], rows, numbers=1)


def _usage(report: AuditReport, usage: Usage) -> Iterable[str]:
    total = usage.total
    yield "<h2>What it makes of the texts</h2>"
    yield _table(None, [
        ["documents", f"{usage.documents:,}"],
        ["tokens", f"{total.tokens:,}"],
        ["bytes per token", f"{total.bytes_per_token:.3f}"],
        ["tokens per character", f"{total.tokens_per_character:.3f}"],
        ["tokens per word", f"{total.tokens_per_word:.3f}"],
        ["words that are one token", f"{100 * total.whole_word_share:.1f} %"],
        ["Renyi efficiency (order 2.5)", f"{usage.renyi_efficiency:.4f}"],
        ["tokens never used", f"{len(usage.never_used):,} of {int(usage.ordinary.sum()):,}"],
    ])  # fmt: skip
    scripts = usage.by_size[:SCRIPTS]
    named = [(script, use) for script, use in scripts if script != COMMON]
    yield '<div class="plots">'
    yield _figure(
        plots.bars([(script, use.bytes_per_token) for script, use in named], x="bytes per token"),
        "Compression by script, most text first",
    )
    yield _figure(
        plots.bars([(script, use.tokens_per_character) for script, use in named], x="tokens per character"),
        "Tokens per character by script",
    )
    yield _figure(plots.zipf(usage.counts.tolist()), "How often tokens occur, by rank (Zipf)")
    words = dict(enumerate(usage.word_tokens, 1))
    yield _figure(plots.columns(words, x="tokens per word", y="words", most=10), "Words by number of tokens")
    yield "</div>"
    yield _table(
        ["bytes", "tokens", "bytes per token", "tokens per character", "tokens per word", "script"],
        [
            [f"{use.bytes:,}", f"{use.tokens:,}", f"{use.bytes_per_token:.2f}", f"{use.tokens_per_character:.2f}",
             f"{use.tokens_per_word:.2f}", escape(script)]
            for script, use in scripts
        ],
        numbers=5,
    )  # fmt: skip
    yield "<h2>The most used tokens</h2>"
    most_used = ([f"{count:,}", str(one), _code(show(report.tokens[one]))] for one, count in usage.most_used(20))
    yield _table(["count", "id", "token"], most_used, numbers=2)
    yield "<h2>Words that take most tokens</h2>"
    costly = ([f"{count:,}", str(tokens), escape(visible(word))] for word, count, tokens in usage.costly_words[:20])
    yield _table(["count", "tokens each", "word"], costly, numbers=2)
