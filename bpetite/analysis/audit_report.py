"""The result of an audit, and how it is shown."""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from ..errors import counted
from .escapes import token_repr
from .reach import Unreachable
from .report import Block, Code, Contents, Report, Section, Table, describe
from .usage import Usage

Severity = Literal["fault", "note"]

#: Scripts that tables show, examples of a finding, and lengths of tokens with a row of their own.
SCRIPTS, SHOWN, LENGTHS = 14, 8, 12

#: class -> its members, for people. A token belongs to the first class that fits.
TOKEN_CLASSES = {
    "special": "special tokens",
    "byte": "one byte",
    "partial": "not whole characters, more than one byte",
    "whitespace": "white space only",
    "space + word": "letters and marks after a space",
    "word": "letters and marks",
    "space + digits": "digits after a space",
    "digits": "digits",
    "space + symbols": "punctuation and symbols after a space",
    "symbols": "punctuation and symbols",
    "mixed": "anything else, such as letters with digits, or two words",
}


@dataclass(frozen=True)
class Finding:
    """One result of an audit.

    Attributes:
        code: A stable name for programs, such as "missing-bytes".
        severity: "fault": text is refused, changed or encoded otherwise than intended, or a mistake in the vocabulary
            wastes ids. "note": good to know, and common in tokenizers that work well.
        message: One sentence for people.
        count: The number of tokens, merges, bytes or texts that it concerns.
        examples: The first of them: dicts such as ``{"id": 5, "token": "' a'"}``.
    """

    code: str
    severity: Severity
    message: str
    count: int
    examples: tuple[dict[str, Any], ...] = field(default=(), repr=False)


@dataclass(repr=False)
class AuditReport(Report):
    """The result of :func:`audit`. A notebook shows it; :meth:`save` writes a page.

    Attributes:
        name: The name of the tokenizer.
        settings: Size, kind, pattern, normalization, special tokens, fingerprint.
        tokens: id -> bytes.
        classes: class of tokens -> ids.
        scripts: script -> number of tokens whose first character that has a script has this one.
        lengths: length in bytes -> number of tokens, without those that are special or only decode.
        longest: id -> bytes of the longest tokens, longest first.
        unreachable: Tokens that no text produces, as :func:`reach` finds them.
        findings: Faults first, then notes.
        usage: The measures of the texts; None without texts.
        files: The files that the texts came from.
    """

    name: str
    settings: dict[str, Any]
    tokens: dict[int, bytes]
    classes: dict[str, list[int]]
    scripts: dict[str, int]
    lengths: dict[int, int]
    longest: dict[int, bytes]
    unreachable: list[Unreachable]
    findings: list[Finding]
    usage: Usage | None = None
    files: tuple[str, ...] = ()

    @property
    def faults(self) -> list[Finding]:
        """The findings that make ``bpetite audit --strict`` fail."""
        return [finding for finding in self.findings if finding.severity == "fault"]

    def to_dict(self) -> dict[str, Any]:
        """Return the report, for JSON: of the classes the numbers of tokens, and no vocabulary. A token is written as
        :func:`repr` has it."""
        made = Report.to_dict(replace(self, tokens={}, usage=None))
        made["classes"] = {name: len(ids) for name, ids in self.classes.items()}
        made |= {"fault_count": len(self.faults), "usage": None if self.usage is None else self.usage.to_dict()}
        del made["tokens"]
        return made

    def _contents(self) -> Contents:
        verdict = counted(len(self.faults), "fault")
        title = f"Audit of {self.name}"
        return Contents(title, verdict, _headline(self), _sections(self), bool(self.faults), self.files)


def _headline(report: AuditReport) -> Iterator[tuple[str, str]]:
    usage = report.usage
    if usage is not None:
        yield f"{usage.total.bytes_per_token:.3f}", "bytes per token"
        yield f"{usage.total.tokens_per_word:.3f}", "tokens per word"
        yield f"{100 * usage.total.whole_word_share:.1f} %", "of words are one token"
    yield f"{len(report.tokens):,}", "tokens"
    yield f"{len(report.unreachable):,}", "unreachable tokens"
    if usage is not None:
        yield f"{100 * (1 - usage.vocabulary_used):.1f} %", "of tokens never used"
        yield f"{usage.documents:,}", "document" if usage.documents == 1 else "documents"
        yield f"{usage.total.bytes:,}", "bytes of text"
        yield f"{usage.total.tokens:,}", "tokens of text"


def _sections(report: AuditReport) -> Iterator[Section]:
    rows = [_finding(one) for one in report.findings]
    findings = Table("Findings", ["count", "severity", "finding"], rows, numbers=1, few=None)
    yield "Findings", [findings if rows else "Findings: nothing"]
    if report.usage is not None:
        yield from _usage_sections(report, report.usage)
    yield "Tokens", list(_tokens(report))
    settings = [[_spaced(key), Code(describe(value))] for key, value in report.settings.items()]
    yield "Settings", [Table("Settings", [], settings, named=True, few=None)]


def _finding(finding: Finding) -> list[Any]:
    lines = [f"{finding.message} [{finding.code}]"]
    lines += [Code(describe(example)) for example in finding.examples[:SHOWN]]
    if finding.count > SHOWN:
        lines.append(f"and {finding.count - SHOWN:,} more")
    return [finding.count, finding.severity, lines]


def _tokens(report: AuditReport) -> Iterator[Block]:
    scripts = [[count, _spaced(script)] for script, count in list(report.scripts.items())[:SCRIPTS]]
    yield Table("Tokens by script", ["tokens", "script"], scripts, numbers=1, bars=[[0]])
    classes = [[len(ids), name, TOKEN_CLASSES[name]] for name, ids in report.classes.items()]
    yield Table("Tokens by class", ["tokens", "class", "members"], classes, numbers=1, bars=[[0]])
    counts = [report.lengths.get(length, 0) for length in range(1, LENGTHS + 1)]
    lengths = [[count, str(length)] for length, count in enumerate(counts, 1)]
    lengths.append([sum(report.lengths.values()) - sum(counts), f"{LENGTHS + 1}+"])
    yield Table("Tokens by length", ["tokens", "bytes"], lengths, numbers=1, few=None, bars=[[0]])
    longest = [[str(one), len(token), Code(token_repr(token))] for one, token in report.longest.items()]
    yield Table("The longest tokens", ["id", "bytes", "the longest tokens"], longest, numbers=2, few=8)


def _spaced(name: str) -> str:
    return name.replace("_", " ")


def _usage_sections(report: AuditReport, usage: Usage) -> Iterator[Section]:
    by_script = [
        [_spaced(script), use.bytes, use.tokens, use.bytes_per_token, use.tokens_per_character, use.tokens_per_word]
        for script, use in list(usage.scripts.items())[:SCRIPTS]
    ]
    heads = ["script", "bytes", "tokens", "bytes per token", "tokens per character", "tokens per word"]
    scripts = Table("Figures by script", heads, by_script, numbers=5, named=True, bars=[[3], [4], [5]])
    words = [[count, str(at) if at < 10 else "10+"] for at, count in enumerate(usage.word_tokens, 1)]
    yield "Texts", [scripts, Table("Words by tokens", ["words", "tokens each"], words, numbers=1, bars=[[0]])]
    most_used = [[count, str(one), Code(token_repr(report.tokens[one]))] for one, count in usage.most_used(20)]
    title = "The most used tokens"
    yield title, [Table(title, ["count", "id", "token"], most_used, numbers=2, few=10)]
