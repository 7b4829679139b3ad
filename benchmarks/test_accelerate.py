"""A fast tokenizer of transformers before and after ``bpetite.accelerate``, on GPT-2's vocabulary.

    pytest benchmarks/test_accelerate.py --benchmark-only
    taskset -c 1 python -m benchmarks.test_accelerate      # the ratios, round by round, which hold on a noisy machine

Both run on one thread (TOKENIZERS_PARALLELISM=false, which bpetite reads, too). That both give the same is checked
before anything is timed.
"""
from __future__ import annotations

import os
import statistics
from collections.abc import Callable
from functools import cache
from typing import Any

os.environ["TOKENIZERS_PARALLELISM"] = "false"

import pytest

from bpetite import accelerate

from . import texts
from .rounds import interleaved, median_ratio, timed, wall

transformers = pytest.importorskip("transformers")


@cache
def tokenizer(accelerated: bool) -> Any:
    path = str(texts.vocabulary() / "tokenizer.json")
    made = transformers.PreTrainedTokenizerFast(tokenizer_file=path, pad_token="<|endoftext|>")
    return accelerate(made) if accelerated else made


@cache
def documents(name: str, size: int, count: int) -> list[str]:
    whole = texts.text(name)
    return [whole[start * size : (start + 1) * size] for start in range(count)]


#: What is done -> with a tokenizer and the name of a text; the second is how often in a round.
WORK: dict[str, tuple[Callable[[Any, str], Any], int]] = {
    "one text, 4000 characters": (lambda tok, name: tok(documents(name, 4000, 1)[0])["input_ids"], 20),
    "one text, 20 characters": (lambda tok, name: tok(documents(name, 20, 1)[0])["input_ids"], 500),
    "batch of 1000, 1000 characters": (lambda tok, name: tok(documents(name, 1000, 1000))["input_ids"], 1),
    "batch of 1000, 200 characters": (lambda tok, name: tok(documents(name, 200, 1000))["input_ids"], 1),
    "batch of 1000, cut and padded": (
        lambda tok, name: tok(documents(name, 1000, 1000), truncation=True, max_length=128, padding=True)["input_ids"],
        1,
    ),
    "1000 pairs, 200 characters": (
        lambda tok, name: tok(documents(name, 200, 1000), documents(name, 200, 1000))["input_ids"],
        1,
    ),
    "decode, 4000 characters": (lambda tok, name: tok.decode(ids(name, 4000, 1)[0]), 20),
    "batch_decode, 1000 of 1000 characters": (lambda tok, name: tok.batch_decode(ids(name, 1000, 1000)), 1),
}


@cache
def ids(name: str, size: int, count: int) -> list[list[int]]:
    found: list[list[int]] = tokenizer(False)(documents(name, size, count))["input_ids"]
    return found


def work(what: str, name: str, accelerated: bool) -> Callable[[], None]:
    """Does it, after a comparison with the original."""
    do, often = WORK[what]
    if do(tokenizer(True), name) != do(tokenizer(False), name):
        raise AssertionError(f"{what}: not what it was before")
    own = tokenizer(accelerated)

    def run() -> None:
        for _ in range(often):
            do(own, name)

    return run


@pytest.mark.parametrize("name", texts.NAMES)
@pytest.mark.parametrize("what", WORK)
@pytest.mark.parametrize("way", ["transformers", "accelerated"])
def test_accelerate(benchmark: Any, way: str, what: str, name: str) -> None:
    benchmark.group = f"transformers, {name}: {what}"
    benchmark.pedantic(work(what, name, way == "accelerated"), rounds=5, warmup_rounds=1)


def main(rounds: int = 7) -> None:
    """Print how many times as fast it is as before: medians of the ratios of wall times."""
    for what in WORK:
        for name in texts.NAMES:
            calls = {way: timed(work(what, name, way == "accelerated")) for way in ("transformers", "accelerated")}
            seconds = {way: wall(times) for way, times in interleaved(calls, rounds).items()}
            ratio = median_ratio(seconds["transformers"], seconds["accelerated"])
            each = statistics.median(seconds["accelerated"]) / WORK[what][1]
            print(f"{what:38s} {name:13s} {each * 1e6:11.1f} us   x{ratio:6.1f}", flush=True)


if __name__ == "__main__":
    main()
