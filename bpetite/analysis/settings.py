"""What a tokenizer is set to, as values that JSON can hold."""
from __future__ import annotations

from typing import Any

from ..tokenizer import Tokenizer

__all__ = ["settings_of"]


def settings_of(tokenizer: Tokenizer) -> dict[str, Any]:
    """Size, kind, pattern, normalization, special tokens and the rest; keys in the order people want to read them.

    What JSON has no word for, such as the steps of an imported tokenizer, is given as its ``repr``.
    """
    vocab = tokenizer.to_vocab()
    return {
        "tokens": len(vocab.tokens),
        "vocab_size": tokenizer.vocab_size,
        "kind": vocab.kind,
        "merges": None if vocab.merges is None else len(vocab.merges),
        "ignore_merges": vocab.ignore_merges,
        "pattern": _plain(vocab.pattern),
        "scanner": tokenizer.scanner,
        "normalization": _plain(vocab.normalization),
        "errors": vocab.errors,
        "special_tokens": dict(vocab.special_tokens),
        "token_flags": {literal: list(flags) for literal, flags in vocab.token_flags.items()},
        "template": None if vocab.template is None else repr(vocab.template),
        "fingerprint": vocab.fingerprint(),
    }


def _plain(value: Any) -> Any:
    if isinstance(value, tuple) and all(isinstance(part, str) for part in value):
        return list(value)
    return value if isinstance(value, str | None) else repr(value)
