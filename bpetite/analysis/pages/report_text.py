"""Reports as text, for people at a terminal. What comes out of tokens is escaped: a terminal interprets none of it."""
from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from ..auditing import AuditReport
from ..characters import escape, show
from ..comparing import DiffReport, Place
from ..provenance import Provenance, counted
from ..token_classes import TOKEN_CLASSES
from ..usage import Usage
from .headlines import audit_headline

__all__ = ["audit_text", "describe", "diff_text"]

#: Characters shown of a stretch of text that is cut differently.
LONGEST_TEXT = 200


def describe(value: Any) -> str:
    """A value of a report in one line.

    >>> describe({"id": 5, "token": "'a'"}), describe(None), describe(["a", "b"]), describe({})
    ("id 5, token 'a'", 'none', 'a, b', 'none')
    """
    if isinstance(value, dict):
        return ", ".join(f"{key} {describe(one)}" for key, one in value.items()) or "none"
    if isinstance(value, list | tuple):
        return ", ".join(describe(one) for one in value) or "none"
    return "none" if value is None else str(value)


def audit_text(report: AuditReport) -> str:
    """An audit as text."""
    return "\n".join(map(escape, _audit_lines(report)))


def _provenance_lines(provenance: Provenance) -> Iterator[str]:
    if provenance.files:
        yield f"  texts: {provenance.read_from()}"
    yield f"  {provenance.made}"


def _audit_lines(report: AuditReport) -> Iterator[str]:
    settings = report.settings
    yield f"{report.name}: {counted(len(report.faults), 'fault')}"
    for figure, name in audit_headline(report):
        yield f"  {figure:>14}  {name}"
    yield from _provenance_lines(report.provenance)
    yield ""
    yield f"{settings['kind']}, fingerprint {settings['fingerprint'][:8]}"
    for key in ("merges", "ignore_merges", "pattern", "scanner", "unicode", "normalization", "special_tokens"):
        of_regex = " (that of regex)" if key == "unicode" and settings["unicode_of"] == "regex" else ""
        yield f"  {key.replace('_', ' ')}: {describe(settings[key])}{of_regex}"
    yield ""
    yield "findings" if report.findings else "nothing found"
    for finding in report.findings:
        yield f"  {finding.severity}: {finding.count:,} {finding.message}  [{finding.code}]"
        for example in finding.examples[:5]:
            yield f"      {describe(example)}"
        if finding.count > 5:
            yield f"      and {finding.count - 5:,} more (--json lists up to 20)"
    yield ""
    yield "tokens by kind"
    for token_class, ids in report.classes.items():
        yield f"  {len(ids):>9,}  {token_class:<16} {TOKEN_CLASSES[token_class]}"
    yield ""
    yield "tokens by script"
    scripts = list(report.scripts.items())
    for script, count in scripts[:12]:
        yield f"  {count:>9,}  {script}"
    if len(scripts) > 12:
        yield f"  {sum(count for _, count in scripts[12:]):>9,}  in {len(scripts) - 12} others"
    yield ""
    yield "longest tokens"
    for token_id in report.longest[:8]:
        token = report.tokens[token_id]
        yield f"  {len(token):>5} bytes  {token_id:>8}  {_short(token, 72)}"
    if report.usage is not None:
        yield ""
        yield from _usage_lines(report, report.usage)


def _usage_lines(report: AuditReport, usage: Usage) -> Iterator[str]:
    total = usage.total
    yield f"texts: {usage.documents:,} documents, {total.bytes:,} bytes, {total.tokens:,} tokens"
    yield f"  {total.bytes_per_token:9.3f}  bytes per token"
    yield f"  {total.tokens_per_character:9.3f}  tokens per character"
    whole = f"{100 * total.whole_word_share:.1f} % of words are one token"
    yield f"  {total.tokens_per_word:9.3f}  tokens per word; {whole}"
    if total.words:
        shares = [f"{at}: {100 * words / total.words:.1f} %" for at, words in enumerate(usage.word_tokens, 1)]
        yield f"             words by tokens  {'  '.join(shares)} (10 or more)"
    yield f"  {usage.renyi_efficiency:9.4f}  Renyi efficiency (order 2.5)"
    ordinary = int(usage.ordinary.sum())
    unused = usage.never_used
    yield f"  {len(unused):>9,}  tokens never used, of {ordinary:,} ({100 * len(unused) / max(ordinary, 1):.1f} %)"
    yield ""
    yield "by script           bytes      tokens  bytes/token  tokens/char  tokens/word"
    for script, use in usage.by_size[:12]:
        yield (
            f"  {script:<12} {use.bytes:>10,}  {use.tokens:>10,}  {use.bytes_per_token:>11.2f}"
            f"  {use.tokens_per_character:>11.2f}  {use.tokens_per_word:>11.2f}"
        )
    yield ""
    yield "most used tokens"
    for token_id, count in usage.most_used(10):
        yield f"  {count:>9,}  {token_id:>8}  {_short(report.tokens[token_id], 60)}"
    if usage.costly_words:
        yield ""
        yield "words that take most tokens"
        for word, count, tokens in usage.costly_words[:10]:
            yield f"  {count:>9,} x {tokens:>2} tokens  {word}"


def diff_text(report: DiffReport) -> str:
    """A comparison as text; empty when nothing differs."""
    return "" if report.same else "\n".join(map(escape, _diff_lines(report)))


def _diff_lines(report: DiffReport) -> Iterator[str]:
    for side, name in zip("AB", report.names, strict=True):
        yield f"{side}: {name}"
    yield from _provenance_lines(report.provenance)
    for name, (ours, theirs) in report.settings.items():
        yield f"{name.replace('_', ' ')}:"
        yield f"  A {describe(ours)}"
        yield f"  B {describe(theirs)}"
    if report.specials:
        yield "special tokens:"
        for literal, (ours, theirs) in report.specials.items():
            yield f"  {literal!r}: A {describe(ours)}, B {describe(theirs)}"
    if report.only_a or report.only_b or report.moved:
        yield (
            f"vocabulary: {report.shared:,} tokens the same, {len(report.moved):,} under other ids, "
            f"{len(report.only_a):,} only in A, {len(report.only_b):,} only in B"
        )
        for side, only in (("A", report.only_a), ("B", report.only_b)):
            if only:
                yield f"  only in {side}: " + _first(f"{one} {_short(token, 30)}" for token, one in only.items())
        if report.moved:
            moved = (f"{_short(token, 30)} {ours} -> {theirs}" for token, (ours, theirs) in report.moved.items())
            yield f"  other ids: {_first(moved)}"
    if report.first_merge is not None:
        ours, theirs = (
            "none" if pair is None else " + ".join(_short(part, 30) for part in pair)
            for pair in report.merges_at_first
        )
        yield (
            f"merges: the first {report.first_merge:,} are the same; then A has {ours}, B {theirs}; "
            f"{report.merges_only_a:,} only in A, {report.merges_only_b:,} only in B, "
            f"{report.merges_reordered:,} in another order"
        )
    if report.documents is not None:
        yield from _texts_lines(report)


def _texts_lines(report: DiffReport) -> Iterator[str]:
    if not report.documents_differing:
        yield f"texts: the same ids in all {report.documents:,} documents, {report.tokens_a:,} tokens"
        return
    yield (
        f"texts: {report.documents_differing:,} of {report.documents:,} documents get other ids; "
        f"A {report.tokens_a:,} tokens, B {report.tokens_b:,}; cut differently in {report.cut_places:,} places, "
        f"{report.other_ids:,} tokens have other ids"
    )
    for place in report.places:
        yield from _place_lines(place)


def _place_lines(place: Place) -> Iterator[str]:
    what = "" if place.cut else " (same tokens, other ids)"
    text = place.text if len(place.text) <= LONGEST_TEXT else f"{place.text[:LONGEST_TEXT]}..."
    context = f"{place.before!r} [{text!r}] {place.after!r}"
    yield f"  document {place.document}, character {place.offset}{what}: {context}"
    for side, tokens in (("A", place.a), ("B", place.b)):
        shown = "  ".join(f"{token_id} {_short(token, 40)}" for token_id, token in tokens[:8])
        yield f"    {side}  {shown}{'  ...' if len(tokens) > 8 else ''}"


def _first(items: Iterable[str]) -> str:
    """The first five of some items."""
    first = list(islice(items, 6))
    return ", ".join(first[:5]) + (" ..." if len(first) > 5 else "")


def _short(token: bytes, length: int) -> str:
    text = show(token)
    return text if len(text) <= length else f"{text[: length - 3]}..."
