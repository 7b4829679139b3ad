"""The classes of minbpe (`minbpe/__init__.py` there), made of bpetite, for minbpe's own tests."""
from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import bpetite
from bpetite import Tokenizer, patterns


class BasicTokenizer:
    pattern: str | None = None

    def __init__(self) -> None:
        self.tok = Tokenizer.train([], 256, pattern=self.pattern, special_tokens=())

    def train(self, text: str, vocab_size: int) -> None:
        self.tok = Tokenizer.train(text, vocab_size, pattern=self.pattern, special_tokens=())

    def register_special_tokens(self, special_tokens: dict[str, int]) -> None:
        vocab = self.tok.to_vocab()
        tokens = dict(vocab.tokens.items()) | {number: token.encode() for token, number in special_tokens.items()}
        self.tok = Tokenizer.from_vocab(replace(vocab, tokens=tokens, special_tokens=special_tokens))

    def encode(self, text: str, allowed_special: Any = "none_raise") -> list[int]:
        allowed = {"all": "all"}.get(allowed_special, set())
        return self.tok.encode(text, allowed_special=allowed)

    def decode(self, ids: list[int]) -> str:
        return self.tok.decode(ids)

    def save(self, prefix: str) -> None:
        self.tok.save(f"{prefix}.json")
        Path(f"{prefix}.json").rename(f"{prefix}.model")
        Path(f"{prefix}.vocab").touch()

    def load(self, path: str) -> None:
        self.tok = Tokenizer.load(path, format="native")


class RegexTokenizer(BasicTokenizer):
    pattern = patterns.CL100K


class GPT4Tokenizer(RegexTokenizer):
    def __init__(self) -> None:
        self.tok = bpetite.get_encoding("cl100k_base")
