"""The audit of a tokenizer: what is in it, and what is wrong with it."""
from __future__ import annotations

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar

from ..tokenizer import Tokenizer
from ..vocabulary.pruning import always_kept, closure, needs
from ..vocabulary.vocab import Vocab
from .characters import main_script, scripts_of, show
from .provenance import Provenance, counted, default_names
from .reach import REASONS, Unreachable, reach
from .settings import settings_of
from .token_classes import token_classes
from .usage import Usage, measure

__all__ = ["AuditReport", "Finding", "audit"]

#: How many examples a finding carries; its count covers all.
EXAMPLES = 20

#: Bytes that no UTF-8 text holds, so that no text needs a token for them.
NEVER_IN_UTF8 = frozenset([0xC0, 0xC1, *range(0xF5, 0x100)])

Severity = Literal["fault", "note"]
Example = dict[str, Any]
Case = TypeVar("Case")


@dataclass(frozen=True)
class Finding:
    """One thing that an audit found.

    Attributes:
        code: A stable name for programs, such as "missing-bytes".
        severity: "fault": text is refused, changed or encoded otherwise than intended, or a mistake in the vocabulary
            wastes ids. "note": good to know, and common in tokenizers that work well.
        message: One sentence for people.
        count: How many tokens, merges or bytes it concerns.
        examples: The first of them: dicts with what there is to say, such as "id", "token" and "why".
    """

    code: str
    severity: Severity
    message: str
    count: int
    examples: tuple[Example, ...] = field(default=(), repr=False)


@dataclass(repr=False)
class AuditReport:
    """What :func:`audit` found. A notebook shows it; :meth:`save` writes a page.

    Attributes:
        settings: Size, kind, pattern, normalization, special tokens, fingerprint.
        tokens: id -> bytes.
        classes: class of tokens -> ids, see :data:`bpetite.analysis.TOKEN_CLASSES`.
        scripts: script -> number of tokens whose first character that has a script has this one.
        lengths: length in bytes -> number of tokens; those that are special or only decode are not counted.
        longest: The ids of the longest tokens, longest first.
        unreachable: Tokens that no text can produce.
        findings: Faults first, then notes.
        usage: What was measured on the texts; None without texts.
        provenance: What the tokenizer is called, the files that were read, date and versions.
    """

    settings: dict[str, Any]
    tokens: dict[int, bytes]
    classes: dict[str, list[int]]
    scripts: dict[str, int]
    lengths: dict[int, int]
    longest: list[int]
    unreachable: list[Unreachable]
    findings: list[Finding]
    usage: Usage | None = None
    provenance: Provenance = field(default_factory=Provenance)

    @property
    def name(self) -> str:
        """What the tokenizer is called."""
        return self.provenance.names[0] if self.provenance.names else "tokenizer"

    @property
    def faults(self) -> list[Finding]:
        """The findings that make ``bpetite audit --strict`` fail."""
        return [finding for finding in self.findings if finding.severity == "fault"]

    def to_dict(self) -> dict[str, Any]:
        """Everything, for JSON; tokens as ``{"id": ..., "token": ...}`` with the token as :func:`repr` shows it."""
        return {
            "name": self.name,
            "provenance": self.provenance.to_dict(),
            "settings": self.settings,
            "kinds": {name: len(ids) for name, ids in self.classes.items()},
            "scripts": self.scripts,
            "lengths": {str(length): count for length, count in self.lengths.items()},
            "longest": [{"id": token_id, "token": show(self.tokens[token_id])} for token_id in self.longest],
            "unreachable": [
                {"id": one.id, "token": show(one.token), "reason": one.reason} for one in self.unreachable
            ],
            "faults": len(self.faults),
            "findings": [vars(finding) | {"examples": list(finding.examples)} for finding in self.findings],
            "usage": None if self.usage is None else self.usage.to_dict(),
        }

    def page(self) -> str:
        """The page: one file of HTML without a script, which needs no network."""
        from .pages.audit_page import audit_page

        return audit_page(self)

    def save(self, path: str | Path) -> None:
        """Write the page.

        Raises:
            OSError: The file cannot be written.
        """
        Path(path).write_text(self.page(), encoding="utf-8", newline="")

    def to_html(self) -> str:
        """The report as one element with its own styles, to put into a page of yours; a notebook shows this."""
        from .pages.audit_page import audit_element

        return audit_element(self)

    _repr_html_ = to_html

    def __repr__(self) -> str:
        texts = "" if self.usage is None else f", {self.usage.total.bytes_per_token:.3f} bytes per token"
        return (
            f"<AuditReport of {self.name}: {len(self.tokens):,} tokens, {counted(len(self.faults), 'fault')}, "
            f"{len(self.unreachable):,} unreachable{texts}>"
        )


def audit(
    tokenizer: Tokenizer, texts: Iterable[str] | None = None, *, name: str | None = None, files: Iterable[str] = ()
) -> AuditReport:
    """Examine a vocabulary, and measure it on texts if there are any.

    Args:
        tokenizer: The tokenizer to examine.
        texts: Documents, read as ordinary text, one after the other; see :mod:`bpetite.analysis.usage`.
        name: What the report calls the tokenizer.
        files: The files that the texts come from, for the report to name; they are not read.

    Raises:
        ValueError: A text has a byte that has no token.

    >>> tok = Tokenizer.train("ab ab ab", 258)
    >>> [finding.code for finding in audit(tok).findings]
    ['unreachable-bytes']
    >>> audit(tok, ["ab ab"], name="small")
    <AuditReport of small: 259 tokens, no faults, 13 unreachable, 2.500 bytes per token>
    """
    vocab = tokenizer.to_vocab()
    specials = set(vocab.special_tokens.values())
    others = vocab.unreachable.union(specials)
    ordinary = {token_id: token for token_id, token in vocab.tokens.items() if token_id not in others}
    texts_of = dict(_texts(ordinary))
    script_of = scripts_of("".join(texts_of.values()))
    found = reach(tokenizer)
    usage = None if texts is None else measure(tokenizer, texts)
    findings = [
        *_missing_bytes(vocab),
        *_forgeable(vocab, found.forgeable),
        *_merge_order(vocab),
        *_unreachable(found.unreachable),
        *_same_after_normalization(texts_of),
        *_overlapping_specials(vocab),
        *_second_ways(vocab),
        *_gaps(vocab),
        *_unused(vocab, usage),
    ]
    return AuditReport(
        settings=settings_of(tokenizer),
        tokens=vocab.tokens,
        classes=token_classes(vocab.tokens, specials),
        scripts=dict(Counter(main_script(text, script_of) for text in texts_of.values()).most_common()),
        lengths=dict(sorted(Counter(map(len, ordinary.values())).items())),
        longest=sorted(ordinary, key=lambda token_id: (-len(ordinary[token_id]), token_id))[:EXAMPLES],
        unreachable=found.unreachable,
        findings=sorted(findings, key=lambda finding: finding.severity != "fault"),
        usage=usage,
        provenance=Provenance(default_names(tokenizer) if name is None else (name,), tuple(files)),
    )


def _texts(tokens: dict[int, bytes]) -> Iterator[tuple[int, str]]:
    """The tokens that are whole characters."""
    for token_id, token in tokens.items():
        try:
            yield token_id, token.decode("utf-8")
        except UnicodeDecodeError:
            continue


# What can be wrong. Each function yields the findings for which there are cases.


def _finding(
    code: str, severity: Severity, message: str, cases: Sequence[Case], example: Callable[[Case], Example]
) -> Iterator[Finding]:
    if cases:
        yield Finding(code, severity, message, len(cases), tuple(example(case) for case in cases[:EXAMPLES]))


def _token_example(vocab: Vocab, token_id: int, **more: Any) -> Example:
    return {"id": token_id, "token": show(vocab.tokens[token_id]), **more}


def _byte_example(byte: int) -> Example:
    return {"byte": f"0x{byte:02X}"}


def _missing_bytes(vocab: Vocab) -> Iterator[Finding]:
    known = {token for token_id, token in vocab.tokens.items() if token_id not in vocab.not_looked_up}
    missing = [byte for byte in range(256) if bytes([byte]) not in known]
    needed = [byte for byte in missing if byte not in NEVER_IN_UTF8]
    invalid = [byte for byte in missing if byte in NEVER_IN_UTF8]
    message = "bytes without a token: text that holds them is refused"
    yield from _finding("missing-bytes", "fault", message, needed, _byte_example)
    message = "bytes without a token that no UTF-8 text holds"
    yield from _finding("missing-invalid-bytes", "note", message, invalid, _byte_example)


def _forgeable(vocab: Vocab, forgeable: dict[int, str]) -> Iterator[Finding]:
    return _finding(
        "forgeable-specials",
        "fault",
        "special tokens that ordinary text can form, so that encode_ordinary does not keep them out",
        list(forgeable.items()),
        lambda case: _token_example(vocab, case[0], text=case[1]),
    )


def _merge_order(vocab: Vocab) -> Iterator[Finding]:
    made = {vocab.id_of[bytes([byte])] for byte in range(256) if bytes([byte]) in vocab.id_of}
    first_rank: dict[int, int] = {}
    for rank, result in enumerate(vocab.merge_results):
        first_rank.setdefault(result, rank)
    early: list[tuple[int, int]] = []
    for rank, (pair, result) in enumerate(zip(vocab.merges or (), vocab.merge_results, strict=True)):
        early += [(rank, part) for part in pair if part not in made]
        made.add(result)

    def example(case: tuple[int, int]) -> Example:
        rank, part = case
        source = f"merge {first_rank[part]} makes it" if part in first_rank else "no merge makes it"
        return _token_example(vocab, part, merge=rank, why=f"merge {rank} needs it and {source}")

    return _finding(
        "merge-order",
        "fault",
        "merges whose parts are made by later merges or by none: encoders that apply the list once, in order, give "
        "different ids from those that look for the lowest rank",
        early,
        example,
    )


def _unreachable(unreachable: list[Unreachable]) -> Iterator[Finding]:
    by_reason: defaultdict[str, list[Unreachable]] = defaultdict(list)
    for one in unreachable:
        by_reason["bytes" if one.reason == "utf-8" and len(one.token) == 1 else one.reason].append(one)
    yield from _finding(
        "unreachable-bytes",
        "note",
        "byte tokens that no text can produce, because no UTF-8 text holds them; every byte-level vocabulary with all "
        "256 bytes has them",
        by_reason["bytes"],
        _unreachable_example,
    )
    for reason, meaning in REASONS.items():
        found = by_reason[reason]
        severity: Severity = "note" if all(map(_is_usual, found)) else "fault"
        message = f"tokens that no text can produce: {meaning}"
        yield from _finding(f"unreachable-{reason}", severity, message, found, _unreachable_example)


def _unreachable_example(one: Unreachable) -> Example:
    example = {"id": one.id, "token": show(one.token)}
    return example | {"instead": [show(part) for part in one.instead[:8]]} if one.instead else example


def _is_usual(one: Unreachable) -> bool:
    """Whether training leaves such tokens: parts of characters that later merges absorb, or that the pattern separates
    from the rest of their character; or they only decode. A token that its own merges do not make is a mistake."""
    if one.reason in ("utf-8", "neighbours", "decode-only"):
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
        yield from _finding(
            f"same-after-{form}",
            "note",
            f"groups of tokens that are the same text after {form}: what looks alike gets different ids",
            sorted(sorted(ids) for ids in groups.values() if len(ids) > 1),
            lambda ids: {"ids": ids[:8], "tokens": [ascii(texts[token_id]) for token_id in ids[:8]]},
        )


def _overlapping_specials(vocab: Vocab) -> Iterator[Finding]:
    literals = sorted(vocab.special_tokens)
    return _finding(
        "overlapping-specials",
        "note",
        "special tokens that are part of another one: of those that match at a position, the longest is taken",
        [(one, other) for one in literals for other in literals if one != other and one in other],
        lambda case: {"special": case[0], "inside": case[1]},
    )


def _second_ways(vocab: Vocab) -> Iterator[Finding]:
    again = sorted(result for result, times in Counter(vocab.merge_results).items() if times > 1)
    message = "tokens that several merges make"
    return _finding("second-ways", "note", message, again, lambda token_id: _token_example(vocab, token_id))


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


def _unused(vocab: Vocab, usage: Usage | None) -> Iterator[Finding]:
    if usage is None:
        return
    used = usage.ids[usage.counts > 0].tolist()
    unused = sorted(vocab.tokens.keys() - closure(always_kept(vocab).union(used), needs(vocab)))
    message = "tokens that neither the texts use, nor any token that they use needs: Tokenizer.prune leaves them out"
    yield from _finding("unused", "note", message, unused, lambda token_id: _token_example(vocab, token_id))
