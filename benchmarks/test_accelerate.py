"""A fast tokenizer of transformers before and after ``bpetite.accelerate``, on GPT-2's vocabulary.

    pytest benchmarks/test_accelerate.py --benchmark-only

Both run on one thread (TOKENIZERS_PARALLELISM=false, which bpetite reads, too). That both give the same is checked
before anything is timed.
"""
from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from typing import Any

os.environ["TOKENIZERS_PARALLELISM"] = "false"

import pytest

from bpetite import accelerate

from . import texts

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
    "one text, 4000 characters": (lambda tok, name: tok(documents(name, 4000, 1)[0])["input_ids"], 5),
    "one text, 20 characters": (lambda tok, name: tok(documents(name, 20, 1)[0])["input_ids"], 50),
    "batch of 500, 1000 characters": (lambda tok, name: tok(documents(name, 1000, 500))["input_ids"], 1),
    "batch of 500, 200 characters": (lambda tok, name: tok(documents(name, 200, 500))["input_ids"], 1),
    "batch of 500, cut and padded": (
        lambda tok, name: tok(documents(name, 1000, 500), truncation=True, max_length=128, padding=True)["input_ids"],
        1,
    ),
    "500 pairs, 200 characters": (
        lambda tok, name: tok(documents(name, 200, 500), documents(name, 200, 500))["input_ids"],
        1,
    ),
    "tokenize, 25 characters": (lambda tok, name: tok.tokenize(documents(name, 25, 1)[0]), 50),
    "tokens, 4000 characters": (lambda tok, name: tok(documents(name, 4000, 1)[0]).tokens(), 5),
    "tokens, 25 characters": (lambda tok, name: tok(documents(name, 25, 1)[0]).tokens(), 50),
    "char_to_token, 25 characters": (lambda tok, name: tok(documents(name, 25, 1)[0]).char_to_token(9), 50),
    "word_ids, 25 characters": (lambda tok, name: tok(documents(name, 25, 1)[0]).word_ids(), 50),
    "offsets, 4000 characters": (
        lambda tok, name: tok(documents(name, 4000, 1)[0], return_offsets_mapping=True)["offset_mapping"], 5
    ),
    "split words, 4000 characters": (
        lambda tok, name: tok(documents(name, 4000, 1)[0].split(), is_split_into_words=True)["input_ids"], 5
    ),
    "overflow, 4000 characters": (
        lambda tok, name: tok(
            documents(name, 4000, 1)[0], truncation=True, max_length=128, stride=16, return_overflowing_tokens=True
        )["input_ids"],
        5,
    ),
    "decode, 4000 characters": (lambda tok, name: tok.decode(ids(name, 4000, 1)[0]), 5),
    "batch_decode, 500 of 1000 characters": (lambda tok, name: tok.batch_decode(ids(name, 1000, 500)), 1),
}


@cache
def ids(name: str, size: int, count: int) -> list[list[int]]:
    found: list[list[int]] = tokenizer(False)(documents(name, size, count))["input_ids"]
    return found


@cache
def check(what: str, name: str) -> None:
    do = WORK[what][0]
    if do(tokenizer(True), name) != do(tokenizer(False), name):
        raise AssertionError(f"{what}: not what it was before")


@pytest.mark.parametrize("name", ["english", "multilingual"])
@pytest.mark.parametrize("what", WORK)
@pytest.mark.parametrize("way", ["transformers", "accelerated"])
def test_accelerate(benchmark: Any, way: str, what: str, name: str) -> None:
    check(what, name)
    do, often = WORK[what]
    own = tokenizer(way == "accelerated")
    benchmark.group = f"transformers, {name}: {what}"
    benchmark.pedantic(do, (own, name), rounds=3, iterations=often)

