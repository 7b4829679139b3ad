"""The trainer against the reference, which recounts after every merge."""
from __future__ import annotations

import warnings

from bpetite import Tokenizer, patterns, reference

__all__ = ["one", "seeds"]

PATTERNS = (patterns.GPT2, None, patterns.CL100K, r"\w+|\s")


def one(data: bytes) -> None:
    """Four bytes of settings, then the text."""
    head, data = data[:4].ljust(4, b"\0"), data[4:300]
    text = data.decode("utf-8", "ignore")
    middle = len(text) // 2
    texts = [text[:middle], text[middle:]]
    settings = {
        "pattern": PATTERNS[head[0] % 4],
        "special_tokens": ["<s>", "ab"][: head[1] % 3],
        "min_frequency": 1 + head[2] % 3,
        "tie_break": ("ids", "bytes", "tokenizers")[head[2] // 3 % 3],
        "max_token_bytes": (None, 2, 5)[head[3] % 3],
    }
    vocab_size = 256 + head[3] // 3 % 40
    tokens, merges = reference.train(texts, vocab_size, **settings)  # type: ignore[arg-type]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # TrainingWarning: no pair is left
        tok = Tokenizer.train(texts, vocab_size, num_threads=2, **settings)  # type: ignore[arg-type]
    if tok.merges != merges:
        raise AssertionError(f"merges {tok.merges}, expected {merges}")
    if {token_id: tok.vocab[token_id] for token_id in tokens} != tokens:
        raise AssertionError("the tokens differ")


def seeds() -> list[bytes]:
    texts = ("ab ab ab abab<s>ab", "aaaaaaaaaaaaaaaabaaa", "the cat sat on the mat; don't 20 的的的 é", "abcabcab" * 20)
    return [
        bytes([pattern, special, order, size]) + text.encode()
        for pattern in range(4)
        for special, order, size in ((0, 0, 60), (1, 3, 31), (2, 1, 90))
        for text in texts
    ]
