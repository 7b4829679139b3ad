"""The audit of a tokenizer: its tokens and settings, and the mistakes in them."""
from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

import regex

from ..splitting.pattern.unicode_data import UNICODE
from ..steps.normalizers import normal_form, normalizer
from ..tokenizer import Tokenizer
from ..vocabulary.pruning import always_kept, closure, needs
from ..vocabulary.vocab import Vocab
from .audit_report import TOKEN_CLASSES, AuditReport, Finding, Severity
from .escapes import token_repr
from .reach import REASONS, Reach, reach
from .scripts import main_script, scripts_of
from .usage import checked_text, measure, several

#: The most examples that a finding carries; its count covers all.
EXAMPLES = 20

#: Characters of a text whose way back from its ids is checked.
LONGEST = 1 << 16

#: Bytes that no UTF-8 text holds, so that no text needs a token for them.
NEVER_IN_UTF8 = frozenset([0xC0, 0xC1, *range(0xF5, 0x100)])

#: code -> severity and message of a finding. Training itself leaves tokens that no text can produce, for some
#: reasons: those are notes.
FINDINGS: dict[str, tuple[Severity, str]] = {
    "round-trip": ("fault", "texts that decoding does not give back, in the tokenizer's normal form"),
    "special-tokens": (
        "fault", "special tokens whose literal does not give their id, or whose id does not give their literal",
    ),
    "missing-bytes": ("fault", "bytes without a token: text that holds them is refused"),
    "forgeable-specials": (
        "fault", "special tokens that ordinary text can form, so that encode_ordinary does not keep them out",
    ),
    "merge-order": (
        "fault",
        "merges whose parts are made by later merges or by none: encoders that apply the list once, in order, give "
        "different ids from those that look for the lowest rank",
    ),
    **{f"unreachable-{reason}": ("fault", f"tokens that no text can produce: {REASONS[reason]}")
       for reason in ("normalization", "merges")},
    "merged-specials": (
        "note",
        "special tokens that a merge also produces: bpetite never applies such a merge, other libraries do",
    ),
    "unreachable-bytes": (
        "note",
        "byte tokens that no text can produce, because no UTF-8 text holds them or the normalizer takes them away; "
        "every vocabulary with all 256 bytes has some",
    ),
    **{f"unreachable-{reason}": ("note", f"tokens that no text can produce: {REASONS[reason]}")
       for reason in ("utf-8", "decode-only")},
    "unreachable-pattern": ("note", f"tokens that no tried text produced: {REASONS['pattern']}"),
    **{f"same-after-{form}": (
        "note",
        f"groups of tokens that are the same text after {form}: texts that look alike get different ids",
    ) for form in ("NFC", "NFKC")},
    "overlapping-specials": (
        "note", "special tokens that are part of another one: at each position the longest match is taken",
    ),
    "id-gaps": ("note", "ranges of ids without a token: rows of an embedding table that nothing uses"),
    "unused": (
        "note",
        "tokens that the texts do not use, and that no used token is built from; Tokenizer.prune removes them",
    ),
}  # fmt: skip

_SHAPE = regex.compile(
    r"(?P<whitespace>\s+)| ?(?:(?P<word>[\p{L}\p{M}]+)|(?P<digits>\p{N}+)|(?P<symbols>[^\s\p{L}\p{M}\p{N}]+))"
)

Example = dict[str, Any]


def audit(
    tokenizer: Tokenizer, texts: Iterable[str] | None = None, *, name: str | None = None, files: Iterable[str] = ()
) -> AuditReport:
    """Examine a vocabulary, and measure it on texts if there are any.

    Each special token is checked to give its id, and its id to give its literal. Each text is checked, up to 65,536
    characters, to come back from its ids.

    Args:
        tokenizer: The tokenizer to examine.
        texts: Documents, read as ordinary text, one after the other; see :mod:`bpetite.analysis.usage`.
        name: The name of the tokenizer in the report.
        files: The files that the texts come from, for the report to name; they are not read.

    Raises:
        TypeError: One text in place of several; a text is no str.
        ValueError: A text has a byte that has no token.

    >>> tok = Tokenizer.train("ab ab ab", 258)
    >>> [finding.code for finding in audit(tok).findings]
    ['unreachable-bytes']
    >>> audit(tok, ["ab ab"], name="small")
    <Audit of small: no faults, 2.500 bytes per token, 1.000 tokens per word, 100.0 % of words are one token>
    """
    vocab = tokenizer.to_vocab()
    specials = set(vocab.special_tokens.values())
    others = vocab.unreachable.union(specials)
    ordinary = {token_id: token for token_id, token in vocab.tokens.items() if token_id not in others}
    texts_of = dict(_texts(ordinary))
    script_of = scripts_of("".join(texts_of.values()))
    reached = reach(tokenizer)
    cases: defaultdict[str, list[Example]] = defaultdict(list)
    # SentencePiece's lists have every pair that gives a token, in the order of the tokens
    notes = {"merge-order"} if vocab.alphabet is not None and vocab.alphabet.units == "characters" else set()
    usage = None if texts is None else measure(tokenizer, _checked(tokenizer, several("texts", texts), cases))
    used = None if usage is None else usage.ids[usage.counts > 0].tolist()
    for code, example in _examples(tokenizer, vocab, reached, texts_of, used):
        cases[code].append(example)
    classes: dict[str, list[int]] = {name: [] for name in TOKEN_CLASSES}
    for token_id, token in sorted(vocab.tokens.items()):
        classes[token_class(token, token_id in specials)].append(token_id)
    longest = sorted(ordinary, key=lambda token_id: (-len(ordinary[token_id]), token_id))[:EXAMPLES]
    return AuditReport(
        name=name or f"tokenizer ({len(tokenizer):,} tokens, {tokenizer.fingerprint()[:8]})",
        settings=settings_of(tokenizer),
        tokens=dict(vocab.tokens),
        classes={name: ids for name, ids in classes.items() if ids},
        scripts=dict(Counter(main_script(text, script_of) for text in texts_of.values()).most_common()),
        lengths=dict(sorted(Counter(map(len, ordinary.values())).items())),
        longest={token_id: ordinary[token_id] for token_id in longest},
        unreachable=reached.unreachable,
        findings=[
            Finding(code, "note" if code in notes else severity, message, len(found), tuple(found[:EXAMPLES]))
            for code, (severity, message) in FINDINGS.items()
            if (found := cases[code])
        ],
        usage=usage,
        files=tuple(files),
    )


def settings_of(tokenizer: Tokenizer) -> dict[str, Any]:
    """Size, kind, pattern, normalization, special tokens and the other settings, in the order of a report.

    A value that JSON cannot express, such as the steps of an imported tokenizer, is given as its ``repr``.
    """
    vocab = tokenizer.to_vocab()
    return {
        "tokens": len(tokenizer),
        "vocab_size": tokenizer.vocab_size,
        "kind": tokenizer.kind,
        "merges": None if vocab.merges is None else len(vocab.merges),
        "ignore_merges": vocab.ignore_merges,
        "pattern": _plain(tokenizer.pattern),
        "scanner": tokenizer.scanner,
        "unicode": UNICODE,
        "normalization": _plain(tokenizer.normalization),
        "errors": tokenizer.errors,
        "special_tokens": tokenizer.special_tokens,
        "token_flags": {literal: list(flags) for literal, flags in vocab.token_flags.items()},
        "aliases": vocab.aliases,
        "decode_only": sorted(vocab.unreachable),
        "template": None if tokenizer.template is None else repr(tokenizer.template),
        "fingerprint": tokenizer.fingerprint(),
    }


def _plain(value: Any) -> Any:
    if isinstance(value, tuple) and all(isinstance(part, str) for part in value):
        return list(value)
    return value if isinstance(value, str | None) else repr(value)


def token_class(token: bytes, special: bool = False) -> str:
    """The class of a token, a key of TOKEN_CLASSES.

    >>> [token_class(token) for token in (b" the", b"42", b"\\xe4\\xbd", b"x", b"a1")]
    ['space + word', 'digits', 'partial', 'byte', 'mixed']
    """
    if special:
        return "special"
    if len(token) == 1:
        return "byte"
    try:
        text = token.decode("utf-8")
    except UnicodeDecodeError:
        return "partial"
    match = _SHAPE.fullmatch(text)
    if match is None or match.lastgroup is None:
        return "mixed"
    return f"space + {match.lastgroup}" if match.start(match.lastgroup) else match.lastgroup


def _texts(tokens: dict[int, bytes]) -> Iterator[tuple[int, str]]:
    """The tokens that are whole characters."""
    for token_id, token in tokens.items():
        try:
            yield token_id, token.decode("utf-8")
        except UnicodeDecodeError:
            continue


def _checked(tokenizer: Tokenizer, texts: Iterable[str], cases: dict[str, list[Example]]) -> Iterator[str]:
    """Pass texts on, and check that each comes back from its ids. OUT: cases: the texts that do not."""
    vocab = tokenizer.to_vocab()
    normalize = normalizer(tokenizer.normalization) or str
    space = "" if vocab.alphabet is None else vocab.alphabet.space
    # steps beyond a pattern and a normal form may put a space before a text, and decoding then leaves one out
    edges = " " if vocab.alphabet is not None or tokenizer.scanner == "pipeline" else ""
    for number, text in enumerate(map(checked_text, texts)):
        head = text[:LONGEST]
        expected, back = normalize(head), tokenizer.decode(tokenizer.encode_to_numpy(head, allowed_special=()))
        expected = (expected.replace(space, " ") if space else expected).lstrip(edges)
        if back.lstrip(edges) != expected:
            cases["round-trip"].append({"text": number, "why": _first_difference(back.lstrip(edges), expected)})
        yield text


def _first_difference(decoded: str, expected: str) -> str:
    length = min(len(decoded), len(expected))
    at = next((at for at in range(length) if decoded[at] != expected[at]), length)
    return f"{decoded[at : at + 20]!r} instead of {expected[at : at + 20]!r} at character {at}"


def _examples(
    tokenizer: Tokenizer, vocab: Vocab, reached: Reach, texts_of: dict[int, str], used: list[int] | None
) -> Iterator[tuple[str, Example]]:
    """Yield (code of a finding, one of its cases) for all cases in the vocabulary."""
    for literal, token_id in vocab.special_tokens.items():
        back = literal in vocab.aliases or tokenizer.decode([token_id]) == literal
        if tokenizer.encode(literal).count(token_id) != 1 or not back:
            yield "special-tokens", {"special": literal, "id": token_id}
    lengths = sorted({len(literal) for literal in vocab.special_tokens})
    for other in vocab.special_tokens:
        parts = {other[at : at + length] for length in lengths for at in range(len(other) - length + 1)}
        for literal in sorted(part for part in parts if part != other and part in vocab.special_tokens):
            yield "overlapping-specials", {"special": literal, "inside": other}
    known = {token for token_id, token in vocab.tokens.items() if token_id not in vocab.not_looked_up}
    for byte in range(256):
        if vocab.alphabet is None and byte not in NEVER_IN_UTF8 and bytes([byte]) not in known:
            yield "missing-bytes", {"byte": f"0x{byte:02X}"}
    for token_id, text in reached.forgeable.items():
        yield "forgeable-specials", _token(vocab, token_id) | {"text": text}
    for token_id in sorted(vocab.skipped.intersection(vocab.merge_results)):
        yield "merged-specials", _token(vocab, token_id)
    for example in _out_of_order(vocab):
        yield "merge-order", example
    for one in reached.unreachable:
        reason = "bytes" if one.reason in ("utf-8", "normalization") and len(one.token) == 1 else one.reason
        instead = [token_repr(part) for part in one.instead[:8]]
        yield f"unreachable-{reason}", _token(vocab, one.id) | ({"instead": instead} if instead else {})
    for form in ("NFC", "NFKC"):
        for ids in _same_after(form, texts_of):
            tokens = [ascii(texts_of[token_id]) for token_id in ids[:8]]
            yield f"same-after-{form}", {"ids": ids[:8], "tokens": tokens}
    ids = sorted(vocab.tokens)
    for low, high in zip([-1, *ids], ids, strict=False):
        if high > low + 1:
            yield "id-gaps", {"first": low + 1, "last": high - 1}
    if used is not None:
        kept = closure(always_kept(vocab).union(used), needs(vocab))
        for token_id in sorted(vocab.tokens.keys() - kept):
            yield "unused", _token(vocab, token_id)


def _token(vocab: Vocab, token_id: int) -> Example:
    return {"id": token_id, "token": token_repr(vocab.tokens[token_id])}


def _out_of_order(vocab: Vocab) -> Iterator[Example]:
    """Yield the parts of merges that no earlier merge makes."""
    made = {vocab.find(bytes([byte])) for byte in range(256)} - {None}
    if vocab.alphabet is not None:
        made = {token_id for token_id, token in vocab.tokens.items() if len(token.decode("utf-8", "replace")) == 1}
    first_rank: dict[int, int] = {}
    for rank, (pair, result) in enumerate(zip(vocab.merges or (), vocab.merge_results, strict=True)):
        for part in dict.fromkeys(pair):
            if part not in made:
                first_rank = first_rank or {one: at for at, one in reversed([*enumerate(vocab.merge_results)])}
                source = f"merge {first_rank[part]} makes it" if part in first_rank else "no merge makes it"
                yield _token(vocab, part) | {"merge": rank, "why": f"merge {rank} needs it and {source}"}
        made.add(result)


def _same_after(form: Any, texts: dict[int, str]) -> list[list[int]]:
    """Groups of tokens that a normal form makes the same text."""
    groups: defaultdict[str, list[int]] = defaultdict(list)
    for token_id, text in texts.items():
        groups[text if text.isascii() else normal_form(form)(text)].append(token_id)
    return sorted(sorted(ids) for ids in groups.values() if len(ids) > 1)
