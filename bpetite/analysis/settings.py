"""The settings of a tokenizer, as values that JSON can hold, and its name in a report."""
from __future__ import annotations

from typing import Any

from ..splitting.pattern.unicode_version import unicode_version
from ..tokenizer import Tokenizer

__all__ = ["default_names", "settings_of"]


def default_names(*tokenizers: Tokenizer) -> tuple[str, ...]:
    """Names for one or two tokenizers that nobody named, such as "A (32,001 tokens, 99886462)"."""
    letters = "AB" if len(tokenizers) == 2 else ["tokenizer"]
    return tuple(
        f"{letter} ({len(one):,} tokens, {one.fingerprint()[:8]})"
        for letter, one in zip(letters, tokenizers, strict=True)
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
        "unicode": vocab.unicode or unicode_version(),
        "unicode_of": "regex" if vocab.unicode is None else "tokenizer",
        "normalization": _plain(tokenizer.normalization),
        "errors": tokenizer.errors,
        "special_tokens": tokenizer.special_tokens,
        "token_flags": {literal: list(flags) for literal, flags in vocab.token_flags.items()},
        "aliases": vocab.aliases,
        "unreachable": sorted(vocab.unreachable),
        "template": None if tokenizer.template is None else repr(tokenizer.template),
        "fingerprint": tokenizer.fingerprint(),
    }


def _plain(value: Any) -> Any:
    if isinstance(value, tuple) and all(isinstance(part, str) for part in value):
        return list(value)
    return value if isinstance(value, str | None) else repr(value)
