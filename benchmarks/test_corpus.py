"""Encoding a corpus: every layout, and the readers beside well-kept libraries.

    pytest benchmarks/test_corpus.py --benchmark-only
    python -m benchmarks.corpus              # the command beside the engine alone
"""
from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bpetite.corpus import count_corpus, encode_corpus

from . import corpus

SIZE = 8_000_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus")
    corpus.check(folder, SIZE)
    return folder


@pytest.mark.parametrize(
    ("format", "jobs"),
    [("npy", 1), *((name, 2) for name in ("npy", "nanogpt", "llmc", "megatron", "datatrove", "dolma", "parquet"))],
)
def test_formats(benchmark: Any, folder: Path, format: str, jobs: int) -> None:
    source, tok = corpus.text_file(folder, SIZE), corpus.tokenizer()
    benchmark.group = f"english to {format}"
    benchmark.extra_info["bytes"] = source.stat().st_size
    benchmark.pedantic(
        lambda: encode_corpus(source, folder / format, tok, format=format, jobs=jobs, overwrite=True), rounds=2
    )


@pytest.mark.parametrize("packed", [False, True], ids=["jsonl", "jsonl.gz"])
@pytest.mark.parametrize("reader", ["corpus", "library"])
def test_readers(benchmark: Any, folder: Path, packed: bool, reader: str) -> None:
    source = corpus.json_file(folder, SIZE, packed=packed)
    calls: dict[str, Callable[[], int]] = {
        "library": lambda: corpus.by_library(source),
        "corpus": lambda: count_corpus(source, corpus.tokenizer())["tokens"],
    }
    assert calls["corpus"]() == calls["library"]()
    benchmark.group = f"reading {source.name}"
    benchmark.pedantic(calls[reader], rounds=3)
