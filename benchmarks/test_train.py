"""Training: counting on one and two threads, merging, and how both grow. Merges are checked before anything is timed.

    pytest benchmarks/test_train.py --benchmark-only --benchmark-columns=min,median,rounds
"""
from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import pytest

from bpetite import Tokenizer, count_pretokens, patterns, reference

from . import texts

SIZE = 4_000_000


@pytest.fixture(scope="module", params=["english", "multilingual"])
def name(request: pytest.FixtureRequest) -> str:
    """The merges of a small text are those of the trainer that recounts."""
    name: str = request.param
    sample = texts.text(name)[:40_000]
    tokens, merges = reference.train([sample], 300, pattern=patterns.GPT2)
    tok = Tokenizer.train(sample, 300, special_tokens=[])
    assert (list(tok.vocab.values()), tok.merges) == (list(tokens.values()), merges)
    return name


@cache
def counts_of(name: str) -> Mapping[str, int]:
    return count_pretokens(texts.text(name, SIZE), special_tokens=[texts.END])


def measure(benchmark: Any, function: Callable[[], Any]) -> Any:
    """Few rounds: one takes a fraction of a second."""
    return benchmark.pedantic(function, rounds=3, warmup_rounds=1)


@pytest.mark.benchmark(group="train documents, one thread")
def test_train(benchmark: Any, name: str) -> None:
    given = texts.documents(name, SIZE)
    benchmark.extra_info["MB"] = SIZE / 1e6
    tok = measure(benchmark, lambda: Tokenizer.train(given, 8_000, num_threads=1))
    assert len(tok.merges) == 8_000 - 256


@pytest.mark.benchmark(group="count")
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("shape", ["documents", "one text"])
def test_count(benchmark: Any, shape: str, threads: int) -> None:
    given = (texts.documents if shape == "documents" else texts.text)("english", SIZE)
    counts = measure(benchmark, lambda: count_pretokens(given, num_threads=threads))
    assert counts == count_pretokens(given, num_threads=1)


@pytest.mark.benchmark(group="count within a limit of memory")
@pytest.mark.parametrize("memory", [None, "16MB"])
def test_count_on_disk(benchmark: Any, memory: str | None) -> None:
    given = texts.documents("english", SIZE)
    assert dict(count_pretokens(given, memory="16MB")) == dict(count_pretokens(given))
    measure(benchmark, lambda: count_pretokens(given, memory=memory))


@pytest.mark.benchmark(group="merge by vocabulary size")
@pytest.mark.parametrize("size", [1_000, 8_000, 32_000])
def test_merge(benchmark: Any, name: str, size: int) -> None:
    tok = measure(benchmark, lambda: Tokenizer.train_from_counts(counts_of(name), size))
    assert len(tok.merges) == size - 256


@pytest.mark.benchmark(group="change a vocabulary")
@pytest.mark.parametrize("kind", ["merges", "ranks"])
@pytest.mark.parametrize("change", ["extend", "prune"])
def test_change(benchmark: Any, change: str, kind: str) -> None:
    """Within the time of a training from the same counts to as many tokens, which is in `test_merge`."""
    counts = counts_of("english")
    tok = Tokenizer.train_from_counts(counts, 15_000)
    tok = tok if kind == "merges" else tok.to_ranks()
    if change == "extend":
        longer = measure(benchmark, lambda: tok.extend(counts, 1_000))
        assert longer.to_merges().merges == Tokenizer.train_from_counts(counts, 16_000).merges
    else:
        small, ids = measure(benchmark, lambda: tok.prune(counts, vocab_size=8_000))
        assert len(small) == len(ids) == 8_001


@pytest.mark.benchmark(group="train by text size")
@pytest.mark.parametrize("megabytes", [4, 16])
def test_growth_with_text(benchmark: Any, megabytes: int) -> None:
    """The same words again and again: time grows no faster than the text."""
    text = texts.text("english", SIZE) * (megabytes // 4)
    measure(benchmark, lambda: Tokenizer.train(text, 1_000, num_threads=1))


@pytest.mark.benchmark(group="one pre-token")
@pytest.mark.parametrize("length", [25_000, 100_000])
@pytest.mark.parametrize("unit", ["a", "ab", "the cat sat on the mat "])
def test_growth_of_one_pre_token(benchmark: Any, unit: str, length: int) -> None:
    """Without a split pattern the text is one pre-token."""
    text = (unit * length)[:length]
    measure(benchmark, lambda: Tokenizer.train(text, 1_000, pattern=None))
