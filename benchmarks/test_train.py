"""Training: counting on one and two threads, merging, and how both grow. Merges are checked before anything is timed.

    pytest benchmarks/test_train.py --benchmark-only --benchmark-columns=min,median,rounds
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from bpetite import Tokenizer, count_pretokens, patterns, reference

from . import texts

MEGABYTES = {"english": 32, "code": 16, "multilingual": 16}


@pytest.fixture(scope="module", params=MEGABYTES)
def text(request: pytest.FixtureRequest) -> str:
    text = texts.text(request.param, MEGABYTES[request.param] * 1_000_000)
    check(text[:40_000])
    return text


def check(sample: str) -> None:
    """The merges of a small text are those of the trainer that recounts."""
    tokens, merges = reference.train([sample], 300, pattern=patterns.GPT2)
    tok = Tokenizer.train(sample, 300, special_tokens=[])
    assert (list(tok.vocab.values()), tok.merges) == (list(tokens.values()), merges)


def documents(text: str) -> list[str]:
    return [text[start : start + 4000] for start in range(0, len(text), 4000)]


def measure(benchmark: Any, function: Callable[[], Any], rounds: int = 3) -> Any:
    """Few rounds: one takes a fraction of a second."""
    return benchmark.pedantic(function, rounds=rounds, warmup_rounds=1)


@pytest.mark.benchmark(group="train documents, one thread")
@pytest.mark.parametrize("size", [1_000, 32_000])
def test_train(benchmark: Any, text: str, size: int) -> None:
    given = documents(text)
    benchmark.extra_info["MB"] = len(text.encode()) / 1e6
    tok = measure(benchmark, lambda: Tokenizer.train(given, size, num_threads=1))
    assert len(tok.merges) == size - 256


@pytest.mark.benchmark(group="count")
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("shape", ["documents", "one text"])
def test_count(benchmark: Any, text: str, shape: str, threads: int) -> None:
    given = documents(text) if shape == "documents" else text
    counts = measure(benchmark, lambda: count_pretokens(given, num_threads=threads))
    assert counts == count_pretokens(given, num_threads=1)


@pytest.mark.benchmark(group="merge by vocabulary size")
@pytest.mark.parametrize("size", [1_000, 8_000, 32_000, 100_000])
def test_merge(benchmark: Any, text: str, size: int) -> None:
    counts = count_pretokens(text, special_tokens=[texts.END])
    tok = measure(benchmark, lambda: Tokenizer.train_from_counts(counts, size))
    assert tok == Tokenizer.train(text, size)


@pytest.mark.benchmark(group="extend by 1,000")
@pytest.mark.parametrize("way", ["train", "extend", "extend ranks"])
def test_extend(benchmark: Any, text: str, way: str) -> None:
    """Within the time of a training from the same counts to as many tokens."""
    counts = count_pretokens(text, special_tokens=[texts.END])
    tok = Tokenizer.train_from_counts(counts, 31_000)
    if way == "train":
        measure(benchmark, lambda: Tokenizer.train_from_counts(counts, 32_000))
        return
    tok = tok if way == "extend" else tok.to_ranks()
    longer = measure(benchmark, lambda: tok.extend(counts, 1_000))
    assert longer.to_merges().merges == Tokenizer.train_from_counts(counts, 32_000).merges


@pytest.mark.benchmark(group="prune to the half")
@pytest.mark.parametrize("kind", ["merges", "ranks"])
def test_prune(benchmark: Any, text: str, kind: str) -> None:
    counts = count_pretokens(text, special_tokens=[texts.END])
    tok = Tokenizer.train_from_counts(counts, 32_000)
    tok = tok if kind == "merges" else tok.to_ranks()
    small, ids = measure(benchmark, lambda: tok.prune(counts, vocab_size=16_000))
    assert len(small) == len(ids) == 16_001


@pytest.mark.benchmark(group="train by text size")
@pytest.mark.parametrize("megabytes", [8, 32, 128])
def test_growth_with_text(benchmark: Any, megabytes: int) -> None:
    """The same words again and again: time grows no faster than the text."""
    text = texts.text("english", 8_000_000) * (megabytes // 8)
    measure(benchmark, lambda: Tokenizer.train(text, 1_000, num_threads=1))


@pytest.mark.benchmark(group="one pre-token")
@pytest.mark.parametrize("length", [100_000, 1_000_000])
@pytest.mark.parametrize("unit", ["a", "ab", "the cat sat on the mat "])
def test_growth_of_one_pre_token(benchmark: Any, unit: str, length: int) -> None:
    """Without a split pattern the text is one pre-token."""
    text = (unit * length)[:length]
    measure(benchmark, lambda: Tokenizer.train(text, 1_000, pattern=None))
