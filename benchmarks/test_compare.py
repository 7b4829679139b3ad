"""Measuring tokenizers side by side: what it takes beside encoding alone.

    pytest benchmarks/test_compare.py --benchmark-only
"""
from __future__ import annotations

from typing import Any

import pytest

from bpetite.analysis.usage import Meter

from . import texts

pytestmark = pytest.mark.benchmark(max_time=0.3, min_rounds=3)


@pytest.mark.parametrize("name", ["english", "multilingual"])
@pytest.mark.parametrize("what", ["measure", "encode"])
def test_measure(benchmark: Any, what: str, name: str) -> None:
    texts.check(name)
    tok, documents = texts.tokenizer(), texts.documents(name)
    meter = Meter(tok)
    meter.add(meter.read(documents))
    benchmark.extra_info["bytes"] = len(texts.text(name).encode())
    benchmark.group = name
    if what == "measure":
        benchmark(lambda: meter.add(meter.read(documents)))
    else:
        benchmark(lambda: tok.encode_batch_to_numpy(documents, allowed_special=()))
