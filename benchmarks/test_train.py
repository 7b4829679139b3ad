"""Training: counting on one and two threads, merging, and how both grow. Merges are checked before anything is timed.

    python -m pytest benchmarks/test_train.py --benchmark-only --benchmark-columns=min,median,rounds

Times depend on the machine; `../shared/bench/ratios.py --group train` compares with other libraries run in turn.
"""
from pathlib import Path

import pytest

from bpetite import patterns, reference
from bpetite.training import train as training
from bpetite.training.counting import count_pretokens
from bpetite.training.options import TrainingOptions

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data" / "text"
TEXTS = {"english": 32, "code": 16, "multilingual": 16}
SIZES = [1_000, 8_000, 32_000, 100_000]


def train(corpus, vocab_size, *, num_threads=None, **options):
    return training.train(corpus, TrainingOptions(vocab_size, **options), num_threads=num_threads)


def train_from_counts(counts, vocab_size):
    return training.train_from_counts(counts, TrainingOptions(vocab_size))


def read(name, megabytes):
    path = SHARED / f"{name}.txt"
    if not path.exists():
        pytest.skip(f"../shared/data/text/{name}.txt is absent")
    text = path.read_bytes()[: int(megabytes * 1e6)].decode("utf-8", "ignore")
    return text * max(1, int(megabytes * 1e6 / len(text.encode())))


@pytest.fixture(scope="module", params=TEXTS)
def text(request):
    text = read(request.param, TEXTS[request.param])
    check(text[:40_000])
    return text


def check(sample):
    """The merges of a small piece are those of the trainer that recounts."""
    tokens, merges = reference.train([sample], 300, pattern=patterns.GPT2)
    vocab = train(sample, 300, special_tokens=[])
    assert list(vocab.tokens.values()) == list(tokens.values())
    assert [(vocab.tokens[left], vocab.tokens[right]) for left, right in vocab.merges] == merges


def measure(benchmark, function, rounds=5):
    """Few rounds: one takes a fraction of a second."""
    return benchmark.pedantic(function, rounds=rounds, warmup_rounds=1)


@pytest.mark.benchmark(group="train documents, one thread")
@pytest.mark.parametrize("size", [1_000, 32_000])
def test_train(benchmark, text, size):
    documents = [text[at : at + 4000] for at in range(0, len(text), 4000)]
    benchmark.extra_info["MB"] = len(text.encode()) / 1e6
    vocab = measure(benchmark, lambda: train(documents, size, num_threads=1))
    assert len(vocab.merges) == size - 256


@pytest.mark.benchmark(group="count")
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("shape", ["documents", "one text"])
def test_count(benchmark, text, shape, threads):
    given = [text[at : at + 4000] for at in range(0, len(text), 4000)] if shape == "documents" else text
    counts = measure(benchmark, lambda: count_pretokens(given, num_threads=threads))
    assert counts == count_pretokens(given, num_threads=1)


@pytest.mark.benchmark(group="merge by vocabulary size")
@pytest.mark.parametrize("size", SIZES)
def test_merge(benchmark, text, size):
    counts = count_pretokens(text, special_tokens=["<|endoftext|>"])
    vocab = measure(benchmark, lambda: train_from_counts(counts, size), rounds=3)
    assert vocab.merges == train(text, size).merges


@pytest.mark.benchmark(group="train by text size")
@pytest.mark.parametrize("megabytes", [8, 16, 32, 64, 128])
def test_growth_with_text(benchmark, megabytes):
    """The same words again and again: time is to grow no faster than the text."""
    text = read("english", 8) * (megabytes // 8)
    measure(benchmark, lambda: train(text, 1_000, num_threads=1), rounds=3)


@pytest.mark.benchmark(group="one pre-token")
@pytest.mark.parametrize("length", [100_000, 1_000_000])
@pytest.mark.parametrize("unit", ["a", "ab", "the cat sat on the mat "])
def test_growth_of_one_pre_token(benchmark, unit, length):
    """No split pattern: the text is one pre-token."""
    text = (unit * length)[:length]
    measure(benchmark, lambda: train(text, 1_000, pattern=None), rounds=3)
