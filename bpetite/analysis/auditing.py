"""The audit of a tokenizer: what is in it, and what is wrong with it."""
from __future__ import annotations

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from ..tokenizer import Tokenizer
from ..vocabulary.vocab import Vocab
from .characters import main_script, scripts_of, show
from .kinds import kinds_of
from .reach import REASONS, Unreachable, reach
from .settings import settings_of
from .usage import Usage, measure

__all__ = ["AuditReport", "Finding", "audit"]

#: How many examples a finding carries; its count is always whole.
EXAMPLES = 20

#: Bytes that no UTF-8 text holds: no text misses a token for them.
NEVER_IN_UTF8 = frozenset([0xC0, 0xC1, *range(0xF5, 0x100)])

Severity = Literal["fault", "note"]


@dataclass(frozen=True)
class Finding:
    """One thing that an audit found.

    Attributes:
        code: A stable name for programs, such as "missing-bytes".
        severity: "fault": text is refused, changed or encoded otherwise than meant, or ids are wasted by a mistake in
            the vocabulary. "note": good to know, and usual in tokenizers that work well.
        message: One sentence for people.
        count: How many tokens, merges or bytes it is about.
        examples: The first of them; dicts with what there is to say, such as "id", "token" and "why".
    """

    code: str
    severity: Severity
    message: str
    count: int
    examples: tuple[dict[str, Any], ...] = ()


@dataclass
class AuditReport:
    """What :func:`audit` found out.

    Attributes:
        settings: Size, kind, pattern, normalization, special tokens, fingerprint.
        kinds: kind of token -> ids, see :data:`bpetite.analysis.KINDS`.
        scripts: script -> number of tokens whose first character of any script is of this one.
        lengths: bytes -> number of tokens that long; special tokens are not counted.
        longest: The longest tokens, longest first: ids.
        unreachable: Tokens that no text can produce.
        findings: Faults first, then notes.
        usage: What came of the texts; None without texts.
    """

    settings: dict[str, Any]
    tokens: dict[int, bytes] = field(repr=False)
    kinds: dict[str, list[int]] = field(repr=False)
    scripts: dict[str, int]
    lengths: dict[int, int] = field(repr=False)
    longest: list[int] = field(repr=False)
    unreachable: list[Unreachable] = field(repr=False)
    findings: list[Finding]
    usage: Usage | None = None

    @property
    def faults(self) -> list[Finding]:
        """The findings that make ``bpetite audit --strict`` fail."""
        return [finding for finding in self.findings if finding.severity == "fault"]

    def to_dict(self) -> dict[str, Any]:
        """Everything, for JSON; tokens as ``{"id": ..., "token": ...}`` with the token as :func:`repr` shows it."""
        return {
            "settings": self.settings,
            "kinds": {kind: len(ids) for kind, ids in self.kinds.items()},
            "scripts": self.scripts,
            "lengths": {str(length): count for length, count in self.lengths.items()},
            "longest": [{"id": one, "token": show(self.tokens[one])} for one in self.longest],
            "unreachable": [
                {"id": one.id, "token": show(one.token), "reason": one.reason} for one in self.unreachable
            ],
            "faults": len(self.faults),
            "findings": [
                {
                    "code": finding.code,
                    "severity": finding.severity,
                    "message": finding.message,
                    "count": finding.count,
                    "examples": list(finding.examples),
                }
                for finding in self.findings
            ],
            "usage": None if self.usage is None else self.usage.to_dict(),
        }


def audit(tokenizer: Tokenizer, texts: Iterable[str] | None = None) -> AuditReport:
    """Look through a vocabulary, and measure it on texts if there are any.

    Args:
        tokenizer: What to look at.
        texts: Documents, read as ordinary text, one after the other; see :mod:`bpetite.analysis.usage`.

    Raises:
        ValueError: A text has a byte that has no token.

    >>> tok = Tokenizer.train("ab ab ab", 258)
    >>> [finding.code for finding in audit(tok).findings]
    ['unreachable-bytes']
    """
    vocab = tokenizer.to_vocab()
    specials = set(vocab.special_tokens.values())
    ordinary = {token_id: token for token_id, token in vocab.tokens.items() if token_id not in specials}
    texts_of = dict(_texts(ordinary))
    script_of = scripts_of("".join(texts_of.values()))
    found = reach(tokenizer)
    findings = [
        *_missing_bytes(vocab),
        *_forgeable(vocab, found.forgeable),
        *_merge_order(vocab),
        *_unreachable(found.unreachable),
        *_same_after_normalization(texts_of),
        *_overlapping_specials(vocab),
        *_second_ways(vocab),
        *_gaps(vocab),
    ]
    return AuditReport(
        settings=settings_of(tokenizer),
        tokens=vocab.tokens,
        kinds=kinds_of(vocab.tokens, specials),
        scripts=dict(Counter(main_script(text, script_of) for text in texts_of.values()).most_common()),
        lengths=dict(sorted(Counter(map(len, ordinary.values())).items())),
        longest=sorted(ordinary, key=lambda one: (-len(ordinary[one]), one))[:EXAMPLES],
        unreachable=found.unreachable,
        findings=sorted(findings, key=lambda finding: finding.severity != "fault"),
        usage=None if texts is None else measure(tokenizer, texts),
    )


def _texts(tokens: dict[int, bytes]) -> Iterator[tuple[int, str]]:
    for token_id, token in tokens.items():
        try:
            yield token_id, token.decode("utf-8")
        except UnicodeDecodeError:
            continue


def _example(vocab: Vocab, token_id: int, **more: Any) -> dict[str, Any]:
    return {"id": token_id, "token": show(vocab.tokens[token_id]), **more}


# What can be wrong


def _missing_bytes(vocab: Vocab) -> Iterator[Finding]:
    missing = [byte for byte in range(256) if bytes([byte]) not in vocab.id_of]
    needed = [byte for byte in missing if byte not in NEVER_IN_UTF8]
    if needed:
        yield Finding(
            "missing-bytes",
            "fault",
            "bytes without a token: text that holds them is refused",
            len(needed),
            tuple({"byte": f"0x{byte:02X}"} for byte in needed[:EXAMPLES]),
        )
    if len(missing) > len(needed):
        yield Finding(
            "missing-invalid-bytes",
            "note",
            "bytes without a token that no UTF-8 text holds",
            len(missing) - len(needed),
            tuple({"byte": f"0x{byte:02X}"} for byte in missing if byte in NEVER_IN_UTF8),
        )


def _forgeable(vocab: Vocab, forgeable: dict[int, str]) -> Iterator[Finding]:
    if forgeable:
        yield Finding(
            "forgeable-specials",
            "fault",
            "special tokens that ordinary text can form, so that encode_ordinary does not keep them out",
            len(forgeable),
            tuple(_example(vocab, token_id, text=text) for token_id, text in list(forgeable.items())[:EXAMPLES]),
        )


def _merge_order(vocab: Vocab) -> Iterator[Finding]:
    made: set[int] = {vocab.id_of[bytes([byte])] for byte in range(256) if bytes([byte]) in vocab.id_of}
    first_made: dict[int, int] = {}
    for rank, result in enumerate(vocab.merge_results):
        first_made.setdefault(result, rank)
    early: list[dict[str, Any]] = []
    for rank, (pair, result) in enumerate(zip(vocab.merges or (), vocab.merge_results, strict=True)):
        for part in pair:
            if part not in made:
                later = first_made.get(part)
                why = "no merge makes it" if later is None else f"merge {later} makes it"
                early.append(_example(vocab, part, merge=rank, why=f"merge {rank} needs it and {why}"))
        made.add(result)
    if early:
        yield Finding(
            "merge-order",
            "fault",
            "merges whose parts are made by later merges or by none: encoders that apply the list once, in order, give "
            "other ids than those that look for the lowest rank",
            len(early),
            tuple(early[:EXAMPLES]),
        )


def _unreachable(unreachable: list[Unreachable]) -> Iterator[Finding]:
    by_reason: defaultdict[str, list[Unreachable]] = defaultdict(list)
    bytes_alone = [one for one in unreachable if one.reason == "utf-8" and len(one.token) == 1]
    for one in unreachable:
        if not (one.reason == "utf-8" and len(one.token) == 1):
            by_reason[one.reason].append(one)
    if bytes_alone:
        yield Finding(
            "unreachable-bytes",
            "note",
            "byte tokens that no text can produce, because no UTF-8 text holds them; every byte-level vocabulary with "
            "all 256 bytes has them",
            len(bytes_alone),
            tuple({"id": one.id, "token": show(one.token)} for one in bytes_alone[:EXAMPLES]),
        )
    for reason, meaning in REASONS.items():
        if found := by_reason[reason]:
            yield Finding(
                f"unreachable-{reason}",
                "note" if all(_is_usual(one) for one in found) else "fault",
                f"tokens that no text can produce: {meaning}",
                len(found),
                tuple(
                    {"id": one.id, "token": show(one.token)}
                    | ({"instead": [show(part) for part in one.instead[:8]]} if one.instead else {})
                    for one in found[:EXAMPLES]
                ),
            )


def _is_usual(one: Unreachable) -> bool:
    """Training leaves parts of characters behind that other merges grew over, or whose other parts the pattern keeps
    away; that is nobody's mistake. A token that its own merges do not make is one."""
    if one.reason in ("utf-8", "neighbours"):
        return True
    try:
        one.token.decode("utf-8")
    except UnicodeDecodeError:
        return one.reason == "pattern"
    return False


def _same_after_normalization(texts: dict[int, str]) -> Iterator[Finding]:
    for form in ("NFC", "NFKC"):
        groups: defaultdict[str, list[int]] = defaultdict(list)
        for token_id, text in texts.items():
            groups[unicodedata.normalize(form, text)].append(token_id)
        same = [sorted(ids) for ids in groups.values() if len(ids) > 1]
        if same:
            yield Finding(
                f"same-after-{form}",
                "note",
                f"groups of tokens that are the same text after {form}: what looks alike gets different ids",
                len(same),
                tuple(
                    {"ids": ids[:8], "tokens": [ascii(texts[one]) for one in ids[:8]]}
                    for ids in sorted(same)[:EXAMPLES]
                ),
            )


def _overlapping_specials(vocab: Vocab) -> Iterator[Finding]:
    literals = sorted(vocab.special_tokens)
    inside = [(one, other) for one in literals for other in literals if one != other and one in other]
    if inside:
        yield Finding(
            "overlapping-specials",
            "note",
            "special tokens that are part of another one: the longest wins at one place",
            len(inside),
            tuple({"special": one, "inside": other} for one, other in inside[:EXAMPLES]),
        )


def _second_ways(vocab: Vocab) -> Iterator[Finding]:
    again = [result for result, times in Counter(vocab.merge_results).items() if times > 1]
    if again:
        yield Finding(
            "second-ways",
            "note",
            "tokens that several merges make",
            len(again),
            tuple(_example(vocab, token_id) for token_id in sorted(again)[:EXAMPLES]),
        )


def _gaps(vocab: Vocab) -> Iterator[Finding]:
    ids = sorted(vocab.tokens)
    if ids and ids[-1] + 1 != len(ids):
        gaps = [(low + 1, high - 1) for low, high in zip([-1, *ids], ids, strict=False) if high > low + 1]
        yield Finding(
            "id-gaps",
            "note",
            "ids without a token below the highest one: rows of an embedding table that nothing uses",
            ids[-1] + 1 - len(ids),
            tuple({"first": first, "last": last} for first, last in gaps[:EXAMPLES]),
        )
