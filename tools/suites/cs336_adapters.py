"""Adapters of CS336's first assignment (`tests/adapters.py` there) that give bpetite to its tests."""
from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from bpetite import Tokenizer, Vocab, patterns


class Encoder:
    """The interface that the assignment asks for."""

    def __init__(self, tok: Tokenizer) -> None:
        self.tok = tok

    def encode(self, text: str) -> list[int]:
        return self.tok.encode(text, allowed_special="all")

    def encode_iterable(self, texts: Iterable[str]) -> Iterator[int]:
        return self.tok.encode_iterable(texts, allowed_special="all")

    def decode(self, ids: list[int]) -> str:
        return self.tok.decode(ids, errors="replace")


def get_tokenizer(
    vocab: dict[int, bytes], merges: list[tuple[bytes, bytes]], special_tokens: list[str] | None = None
) -> Encoder:
    number = {token: number for number, token in vocab.items()}
    special = {token: number[token.encode()] for token in special_tokens or ()}
    pairs = [(number[left], number[right]) for left, right in merges]
    return Encoder(Tokenizer.from_vocab(Vocab(vocab, pairs, special, pattern=patterns.GPT2)))


def run_train_bpe(
    input_path: str | os.PathLike[str], vocab_size: int, special_tokens: list[str], **kwargs: object
) -> tuple[dict[int, bytes], list[tuple[bytes, bytes]]]:
    with open(input_path, encoding="utf-8") as file:
        text = file.read()
    size = vocab_size - len(special_tokens)
    tok = Tokenizer.train(text, size, special_tokens=special_tokens, tie_break="bytes", special_ids="before")
    special = {number: token.encode() for token, number in tok.special_tokens.items()}
    return {**tok.vocab, **special}, tok.merges or []
