"""Encoding with BPE-dropout, on GPT-2's vocabulary, on one thread.

    pytest benchmarks/test_dropout.py --benchmark-only
    taskset -c 1 python -m benchmarks.test_dropout      # beside tokenizers, round by round

Before anything is timed, the share of each encoding of a word is compared with the probabilities of the definition.
"""
from __future__ import annotations

import json
import os
from collections import Counter
from functools import cache
from typing import Any

os.environ["TOKENIZERS_PARALLELISM"] = "false"

import oracles
import pytest

from . import texts
from .rounds import interleaved, median_ratio, timed, wall

PROBABILITIES = [0.1, 0.5]
SIZE = 500_000


@cache
def check(dropout: float) -> None:
    tok = texts.tokenizer()
    ranks = {pair: rank for rank, pair in enumerate(tok.merges)}
    for word in (" the", " token", "banana"):
        lists = tok.encode_batch([word] * 100_000, dropout=dropout, seed=1)
        drawn = Counter(tuple(map(tok.token_bytes, ids)) for ids in lists)
        expected = oracles.dropout_distribution(word.encode(), ranks, dropout)
        if any(abs(drawn[split] / 100_000 - chance) > 0.008 for split, chance in expected.items()):
            raise AssertionError(f"{word!r} is not encoded with the probabilities of the definition")


@cache
def theirs(dropout: float) -> Any:
    tokenizers = pytest.importorskip("tokenizers")
    content = json.loads((texts.vocabulary() / "tokenizer.json").read_text(encoding="utf-8"))
    content["model"]["dropout"] = dropout
    return tokenizers.Tokenizer.from_str(json.dumps(content))


@pytest.mark.parametrize("name", texts.NAMES)
@pytest.mark.parametrize("dropout", PROBABILITIES)
def test_dropout(benchmark: Any, dropout: float, name: str) -> None:
    check(dropout)
    tok, whole = texts.tokenizer(), texts.text(name, SIZE)
    benchmark.extra_info["bytes"] = len(whole.encode())
    benchmark(lambda: tok.encode(whole, dropout=dropout, seed=1))


def main(rounds: int = 7) -> None:
    """Print MB/s of both, and medians of the ratios of wall times."""
    tok = texts.tokenizer()
    for dropout in PROBABILITIES:
        check(dropout)
        for name in texts.NAMES:
            whole = texts.text(name, SIZE)
            size = len(whole.encode()) / 1e6
            peer, p = theirs(dropout), dropout
            calls = {
                "ours": timed(lambda text=whole, p=p: tok.encode(text, dropout=p)),
                "theirs": timed(lambda text=whole, peer=peer: peer.encode(text).ids),
            }
            seconds = {whose: wall(times) for whose, times in interleaved(calls, rounds).items()}
            ratio = median_ratio(seconds["theirs"], seconds["ours"])
            speeds = [size / min(seconds[whose]) for whose in ("ours", "theirs")]
            print(f"{p}  {name:13s} {speeds[0]:6.1f} MB/s, tokenizers {speeds[1]:5.2f}, x{ratio:.1f}", flush=True)


if __name__ == "__main__":
    main()
