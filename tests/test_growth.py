"""Hostile texts, files and literals end soon: their time grows by n log n, or an error names the limit.

Each size is one for which quadratic work takes minutes; the alarm is no timing.
"""
from collections.abc import Callable
from typing import Any

import pytest

from bpetite import Tokenizer, Vocab, analysis
from tests.support.alarms import alarm

BYTES = {byte: bytes([byte]) for byte in range(256)}
MARKS = "a" + "\u0301\u0323" * 8000


def late(*_: object) -> None:
    raise TimeoutError


def made(**settings: Any) -> Tokenizer:
    special = settings.pop("special", {})
    tokens = BYTES | {token_id: literal.encode() for literal, token_id in special.items()}
    return Tokenizer.from_vocab(Vocab(tokens, (), special, **settings))


def chain(length: int) -> Tokenizer:
    tokens, merges = dict(BYTES), []
    for number in range(length):
        left = tokens[255 + number] if number else b"a"
        tokens[256 + number] = left + b"b"
        merges.append((left, b"b"))
    return Tokenizer(tokens, merges)


NESTED = made(special={"a" * k + "b": 300 + k for k in range(1, 201)})
SPACES = made(special={"  ": 300, "<s>": 301}, token_flags={"  ": ("lstrip",), "<s>": ("lstrip", "rstrip")})
NONE, SLOW = made(pattern=None), made(pattern=r"(?:(?=\S)\X)+|\s+")

CALLS: dict[str, Callable[[], object]] = {
    "truncate, NFC": lambda: made(normalization="NFC").truncate(MARKS, 100),
    "truncate, NFKD, left": lambda: made(normalization="NFKD").truncate(MARKS, 100, truncation_side="left"),
    "chunks, NFC": lambda: list(made(normalization="NFC").chunks(MARKS, 100)),
    "chunks, by lines": lambda: list(NESTED.chunks("a\n" * 100_000, 5000, boundaries="line")),
    "nested special tokens": lambda: list(NESTED.encode_iterable(["a" * 200_000])),
    "nested special tokens, by letters": lambda: list(NESTED.encode_iterable("a" * 50_000)),
    "truncate, no pattern": lambda: NONE.truncate("ab " * 30_000, 1000),
    "truncate, no pattern, left": lambda: NONE.truncate("ab " * 30_000, 1000, truncation_side="left"),
    "truncate, regular expression": lambda: SLOW.truncate("ab " * 30_000, 1000),
    "lstrip of white space": lambda: SPACES.encode(" " * 200_001),
    "lstrip, other white space": lambda: SPACES.encode(" \t" * 100_000),
    "audit of a chain": lambda: analysis.audit(chain(2000)),
    "audit of special tokens": lambda: analysis.audit(made(special={f"<|{k}|>": 300 + k for k in range(80_000)})),
    "merges of ranks": lambda: Tokenizer(BYTES | {256 + k: b"a" * (k + 2) for k in range(1000)}, None).to_merges(),
}


@pytest.mark.parametrize("name", CALLS)
def test_it_ends(name: str) -> None:
    with alarm(late, 30):
        CALLS[name]()


@pytest.mark.parametrize("count", [1999, 8000])
def test_ranks_that_take_long_are_refused(count: int) -> None:
    message = rf"ranks of {count + 256} tokens with {count + 1} different lengths.* and 2147483648 is the limit"
    with alarm(late, 30), pytest.raises(ValueError, match=message):
        Tokenizer(BYTES | {256 + k: b"a" * (k + 2) for k in range(count)}, None)
