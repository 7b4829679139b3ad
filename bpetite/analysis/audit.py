"""The audit of a tokenizer: its tokens and settings, and the mistakes in them."""
from __future__ import annotations

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import cycle
from typing import Any, TypeVar

from ..steps.normalizers import normalizer
from ..tokenizer import Tokenizer
from ..vocabulary.pruning import always_kept, closure, needs
from ..vocabulary.vocab import Vocab
from .characters import main_script, scripts_of, token_repr
from .reach import REASONS, Unreachable, reach
from .results import AuditReport, Finding, Severity, default_names
from .settings import settings_of
from .token_classes import token_classes
from .usage import Usage, measure

__all__ = ["audit"]

#: How many examples a finding carries; its count covers all.
EXAMPLES = 20

#: Reasons for which training leaves tokens that no text can produce; another reason is a mistake.
USUAL = ("utf-8", "decode-only")

#: Characters of a text that are checked by a stream, which is slow.
LONGEST = 1 << 16

#: Bytes that no UTF-8 text holds, so that no text needs a token for them.
NEVER_IN_UTF8 = frozenset([0xC0, 0xC1, *range(0xF5, 0x100)])

Example = dict[str, Any]
Case = TypeVar("Case")


def audit(
    tokenizer: Tokenizer, texts: Iterable[str] | None = None, *, name: str | None = None, files: Iterable[str] = ()
) -> AuditReport:
    """Examine a vocabulary, and measure it on texts if there are any.

    Each special token is checked to give its id, and its id to give its literal. Each text is checked, up to 65,536
    characters, to come back from its ids, and to give the same ids in pieces as in one.

    Args:
        tokenizer: The tokenizer to examine.
        texts: Documents, read as ordinary text, one after the other; see :mod:`bpetite.analysis.usage`.
        name: The name of the tokenizer in the report.
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
    broken: dict[str, list[Example]] = {"round-trip": [], "streaming": []}
    usage = None if texts is None else measure(tokenizer, _checked(tokenizer, texts, broken))
    findings = [
        *_broken_texts(broken),
        *_broken_specials(tokenizer, vocab),
        *_missing_bytes(vocab),
        *_forgeable(vocab, found.forgeable),
        *_merged_specials(vocab),
        *_merge_order(vocab),
        *_unreachable(found.unreachable),
        *_same_after_normalization(texts_of),
        *_overlapping_specials(vocab),
        *_gaps(vocab),
        *_unused(vocab, usage),
    ]
    return AuditReport(
        name=default_names(tokenizer)[0] if name is None else name,
        settings=settings_of(tokenizer),
        tokens=dict(vocab.tokens),
        classes=token_classes(vocab.tokens, specials),
        scripts=dict(Counter(main_script(text, script_of) for text in texts_of.values()).most_common()),
        lengths=dict(sorted(Counter(map(len, ordinary.values())).items())),
        longest=sorted(ordinary, key=lambda token_id: (-len(ordinary[token_id]), token_id))[:EXAMPLES],
        unreachable=found.unreachable,
        findings=sorted(findings, key=lambda finding: finding.severity != "fault"),
        usage=usage,
        files=tuple(files),
    )


def _texts(tokens: dict[int, bytes]) -> Iterator[tuple[int, str]]:
    """The tokens that are whole characters."""
    for token_id, token in tokens.items():
        try:
            yield token_id, token.decode("utf-8")
        except UnicodeDecodeError:
            continue


# Each function yields the findings for which there are cases.


def _finding(
    code: str, severity: Severity, message: str, cases: Sequence[Case], example: Callable[[Case], Example]
) -> Iterator[Finding]:
    if cases:
        yield Finding(code, severity, message, len(cases), tuple(example(case) for case in cases[:EXAMPLES]))


def _token_example(vocab: Vocab, token_id: int, **more: Any) -> Example:
    return {"id": token_id, "token": token_repr(vocab.tokens[token_id]), **more}


def _checked(tokenizer: Tokenizer, texts: Iterable[str], broken: dict[str, list[Example]]) -> Iterator[str]:
    """Texts as they come, each checked on its way. OUT: the texts that fail, by check."""
    vocab = tokenizer.to_vocab()
    normalize = normalizer(vocab.normalization, vocab.unicode) or str
    for number, text in enumerate(texts):
        head = text[:LONGEST]
        expected, back = normalize(head), tokenizer.decode(tokenizer.encode_ordinary(head))
        if back != expected:
            broken["round-trip"].append({"text": number, "why": _first_difference(back, expected)})
        if list(tokenizer.encode_iterable(_in_pieces(head))) != tokenizer.encode(head):
            broken["streaming"].append({"text": number, "begins": ascii(text[:40])})
        yield text


def _first_difference(found: str, expected: str) -> str:
    length = min(len(found), len(expected))
    at = next((at for at in range(length) if found[at] != expected[at]), length)
    return f"{found[at : at + 20]!r} instead of {expected[at : at + 20]!r} at character {at}"


def _in_pieces(text: str) -> Iterator[str]:
    at, sizes = 0, cycle((1, 7, 1000))
    while at < len(text):
        size = next(sizes)
        yield text[at : at + size]
        at += size


def _broken_texts(broken: dict[str, list[Example]]) -> Iterator[Finding]:
    message = "texts that decoding does not give back, in the tokenizer's normal form"
    yield from _finding("round-trip", "fault", message, broken["round-trip"], dict)
    message = "texts that give other ids in pieces than in one"
    yield from _finding("streaming", "fault", message, broken["streaming"], dict)


def _broken_specials(tokenizer: Tokenizer, vocab: Vocab) -> Iterator[Finding]:
    wrong = [
        (literal, token_id)
        for literal, token_id in vocab.special_tokens.items()
        if tokenizer.encode(literal).count(token_id) != 1
        or (tokenizer.decode([token_id]) != literal and literal not in vocab.aliases)
    ]
    message = "special tokens whose literal does not give their id, or whose id does not give their literal"
    return _finding("special-tokens", "fault", message, wrong, lambda case: {"special": case[0], "id": case[1]})


def _missing_bytes(vocab: Vocab) -> Iterator[Finding]:
    known = {token for token_id, token in vocab.tokens.items() if token_id not in vocab.not_looked_up}
    missing = [byte for byte in range(256) if bytes([byte]) not in known]
    needed = [byte for byte in missing if byte not in NEVER_IN_UTF8]
    message = "bytes without a token: text that holds them is refused"
    return _finding("missing-bytes", "fault", message, needed, lambda byte: {"byte": f"0x{byte:02X}"})


def _forgeable(vocab: Vocab, forgeable: dict[int, str]) -> Iterator[Finding]:
    return _finding(
        "forgeable-specials",
        "fault",
        "special tokens that ordinary text can form, so that encode_ordinary does not keep them out",
        list(forgeable.items()),
        lambda case: _token_example(vocab, case[0], text=case[1]),
    )


def _merged_specials(vocab: Vocab) -> Iterator[Finding]:
    merged = sorted(vocab.skipped.intersection(vocab.merge_results))
    message = "special tokens that merges make: no such merge is applied, by other libraries it is"
    return _finding("merged-specials", "note", message, merged, lambda token_id: _token_example(vocab, token_id))


def _merge_order(vocab: Vocab) -> Iterator[Finding]:
    made = {vocab.find(bytes([byte])) for byte in range(256)} - {None}
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
        severity: Severity = "note" if reason in USUAL else "fault"
        message = f"tokens that no text can produce: {meaning}"
        yield from _finding(f"unreachable-{reason}", severity, message, found, _unreachable_example)


def _unreachable_example(one: Unreachable) -> Example:
    example = {"id": one.id, "token": token_repr(one.token)}
    return example | {"instead": [token_repr(part) for part in one.instead[:8]]} if one.instead else example


def _same_after_normalization(texts: dict[int, str]) -> Iterator[Finding]:
    for form in ("NFC", "NFKC"):
        groups: defaultdict[str, list[int]] = defaultdict(list)
        for token_id, text in texts.items():
            groups[unicodedata.normalize(form, text)].append(token_id)
        yield from _finding(
            f"same-after-{form}",
            "note",
            f"groups of tokens that are the same text after {form}: texts that look alike get different ids",
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
