"""The audit as a page: findings, figures and plots in one file of HTML."""
from __future__ import annotations

from collections.abc import Iterable
from html import escape

from ..auditing import AuditReport
from ..characters import COMMON, show
from ..characters import escape as visible
from ..kinds import KINDS
from ..usage import Usage
from . import plots
from .markup import document
from .words import described

__all__ = ["audit_page"]

#: Bars of the plot by script.
SCRIPTS = 14


def audit_page(report: AuditReport, name: str) -> str:
    """The page of an audit: safe against what tokens hold, without a script and without a network.

    Args:
        report: What the audit found.
        name: What the tokenizer is called.
    """
    faults = len(report.faults)
    verdict = f'<span class="fault">{faults} faults</span>' if faults else '<span class="fine">no faults</span>'
    settings = [(key.replace("_", " "), described(value)) for key, value in report.settings.items()]
    scripts = list(report.scripts.items())[:SCRIPTS]
    kinds = ([f"{len(ids):,}", escape(kind), escape(KINDS[kind])] for kind, ids in report.kinds.items())
    sections = [
        f'<header><div class="head"><h1>{escape(visible(name))}</h1> {verdict}</div></header>',
        '<main class="report">',
        "<h2>What it is</h2>",
        _table(None, [[key, _code(value)] for key, value in settings]),
        "<h2>What was found</h2>",
        _findings(report),
        "<h2>Its tokens</h2>",
        '<div class="plots">',
        "<div>",
        _figure(plots.columns(report.lengths, x="bytes", y="tokens"), "Tokens by length in bytes"),
        _table(["tokens", "script"], ([f"{count:,}", escape(one)] for one, count in scripts), numbers=1),
        "</div>",
        _table(["tokens", "kind", ""], kinds, numbers=1),
        "</div>",
        _table(["id", "bytes", "the longest tokens"],
               [[str(one), str(len(report.tokens[one])), _code(show(report.tokens[one]))] for one in report.longest],
               numbers=2),
        *(_usage(report, report.usage) if report.usage is not None else ()),
        "</main>",
    ]  # fmt: skip
    return document(f"Audit of {name}", "\n".join(sections))


def _code(text: str) -> str:
    return f"<code>{escape(visible(text))}</code>"


def _table(head: list[str] | None, rows: Iterable[list[str]], numbers: int = 0) -> str:
    """A table of cells that are HTML already, but for the head; so many columns at the left are numbers."""

    def cells(tag: str, row: list[str]) -> str:
        return "".join(
            f'<{tag} class="num">{cell}</{tag}>' if at < numbers else f"<{tag}>{cell}</{tag}>"
            for at, cell in enumerate(row)
        )

    top = "" if head is None else f"<thead><tr>{cells('th', [escape(one) for one in head])}</tr></thead>"
    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    kind = ' class="facts"' if head is None else ""
    return f'<div class="scroll"><table{kind}>{top}<tbody>{body}</tbody></table></div>'


def _figure(drawing: str, caption: str) -> str:
    return f"<figure>{drawing}<figcaption>{escape(caption)}</figcaption></figure>" if drawing else ""


def _findings(report: AuditReport) -> str:
    if not report.findings:
        return "<p>Nothing.</p>"
    rows = []
    for finding in report.findings:
        mark = f'<span class="{"fault" if finding.severity == "fault" else "fine"}">{finding.severity}</span>'
        examples = "<br>".join(_code(described(example)) for example in finding.examples[:8])
        more = f"<br>and {finding.count - 8:,} more" if finding.count > 8 else ""
        rows.append([f"{finding.count:,}", mark, f"{escape(finding.message)}<br><small>{examples}{more}</small>"])
    return _table(["count", "", "finding"], rows, numbers=1)


def _usage(report: AuditReport, usage: Usage) -> Iterable[str]:
    total = usage.total
    yield "<h2>What it makes of the texts</h2>"
    yield _table(None, [
        ["documents", f"{usage.documents:,}"],
        ["tokens", f"{total.tokens:,}"],
        ["bytes a token", f"{total.bytes_per_token:.3f}"],
        ["tokens a character", f"{total.tokens_per_character:.3f}"],
        ["tokens a word", f"{total.tokens_per_word:.3f}"],
        ["words that are one token", f"{100 * total.whole_word_share:.1f} %"],
        ["Renyi efficiency (order 2.5)", f"{usage.renyi_efficiency:.4f}"],
        ["tokens never used", f"{len(usage.never_used):,} of {int(usage.ordinary.sum()):,}"],
    ])  # fmt: skip
    scripts = sorted(usage.scripts.items(), key=lambda item: -item[1].bytes)[:SCRIPTS]
    yield '<div class="plots">'
    named = [(script, use) for script, use in scripts if script != COMMON]
    yield _figure(
        plots.bars([(script, use.bytes_per_token) for script, use in named], x="bytes a token"),
        "Compression by script, most text first",
    )
    yield _figure(
        plots.bars([(script, use.tokens_per_character) for script, use in named], x="tokens a character"),
        "Tokens a character by script",
    )
    yield _figure(plots.zipf(usage.counts.tolist()), "How often tokens occur, by rank (Zipf)")
    words = dict(enumerate(usage.word_tokens, 1))
    yield _figure(plots.columns(words, x="tokens a word", y="words", most=10), "Words by number of tokens")
    yield "</div>"
    yield _table(
        ["bytes", "tokens", "bytes a token", "tokens a character", "tokens a word", "script"],
        [
            [f"{use.bytes:,}", f"{use.tokens:,}", f"{use.bytes_per_token:.2f}", f"{use.tokens_per_character:.2f}",
             f"{use.tokens_per_word:.2f}", escape(script)]
            for script, use in scripts
        ],
        numbers=5,
    )  # fmt: skip
    yield "<h2>The most used tokens</h2>"
    yield _table(
        ["count", "id", "token"],
        [[f"{count:,}", str(one), _code(show(report.tokens[one]))] for one, count in usage.most_used(20)],
        numbers=2,
    )
    yield "<h2>Words that cost most</h2>"
    yield _table(
        ["count", "tokens each", "word"],
        [[f"{count:,}", str(tokens), escape(visible(word))] for word, count, tokens in usage.costly_words[:20]],
        numbers=2,
    )
