"""Encoding with BPE-dropout, on GPT-2's vocabulary, on one thread, beside tokenizers where it is installed.

    pytest benchmarks/test_dropout.py --benchmark-only

Before anything is timed, the share of each encoding of a word is compared with the probabilities of the definition.
"""
from __future__ import annotations

import json
import os
from collections import Counter
from functools import cache

os.environ["TOKENIZERS_PARALLELISM"] = "false"

import oracles
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from . import texts

pytestmark = pytest.mark.benchmark(max_time=0.3, min_rounds=3)

SIZE = 500_000
DRAWN = 50_000


@cache
def check(dropout: float) -> None:
    tok = texts.tokenizer()
    ranks = {pair: rank for rank, pair in enumerate(tok.merges)}
    for word in (" the", " token", "banana"):
        lists = tok.encode_batch([word] * DRAWN, dropout=dropout, seed=1)
        drawn = Counter(tuple(map(tok.token_bytes, ids)) for ids in lists)
        expected = oracles.dropout_distribution(word.encode(), ranks, dropout)
        if any(abs(drawn[split] / DRAWN - chance) > 0.01 for split, chance in expected.items()):
            raise AssertionError(f"{word!r} is not encoded with the probabilities of the definition")


@pytest.mark.parametrize("name", texts.NAMES)
@pytest.mark.parametrize("dropout", [0.1, 0.5])
def test_dropout(benchmark: BenchmarkFixture, dropout: float, name: str) -> None:
    check(dropout)
    tok, whole = texts.tokenizer(), texts.text(name, SIZE)
    benchmark.extra_info["bytes"] = len(whole.encode())
    benchmark(lambda: tok.encode(whole, dropout=dropout, seed=1))


def test_dropout_of_tokenizers(benchmark: BenchmarkFixture) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    content = json.loads((texts.vocabulary() / "tokenizer.json").read_text(encoding="utf-8"))
    content["model"]["dropout"] = 0.1
    peer, whole = tokenizers.Tokenizer.from_str(json.dumps(content)), texts.text("english", SIZE)
    benchmark.extra_info["bytes"] = len(whole.encode())
    benchmark.pedantic(lambda: peer.encode(whole).ids, rounds=1)
